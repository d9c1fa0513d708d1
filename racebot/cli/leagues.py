"""Commands for leagues: events, which count several rooms and sheets as one race, and seasons."""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from racebot.cli import common, tables
from racebot.cli.commands import loaded
from racebot.cli.common import AsJson, Database, console, load_settings, open_ledger, tell
from racebot.errors import PayloadError, SettingsError, reason
from racebot.files.options import DEFAULT, ReadOptions
from racebot.files.rows import FILE_SUFFIXES
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.records import final_from
from racebot.queries.standings import listing_of
from racebot.races.events import Event, SourceKind, by_result
from racebot.races.result import RaceResult
from racebot.races.rooms import RoomRule
from racebot.settings import sources
from racebot.settings.model import Settings
from racebot.settings.sources import small_text
from racebot.settings.write import add_table, edit_leaderboards, set_value
from racebot.standings.counting import planned_boards, rating_rules
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.text.format import counted, field_names, rows_as_csv, timer
from racebot.text.parse import changed_number
from racebot.text.safe import printable

TAGS = ("gamertag", "player", "entrant", "name")
"""Columns of start.gg's export with the entrants, without spaces and in lower case."""
NUMBERED = {"goals", "custom_goals", "info"}  # conditions that often have the season's number in them
NOT_COPIED = {"name", "from", "until", "rooms", "carry_over"}
Step = Literal["create", "add", "close", "reopen", "remove", "show", "list"]


@loaded.command("event")
@common.reads_files
def event_step(
    step: Annotated[Step, typer.Argument(help="What to do.")],
    name: Annotated[str, typer.Argument(help="The event's name. `list` needs none.")] = "",
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="For `add` and `remove`: rooms, and files with the columns player and time."),
    ] = None,
    leaderboard: Annotated[str, typer.Option(help="For `create`: the leaderboard it counts on.")] = "",
    until: Annotated[
        datetime | None, common.date_option("For `create`: its end, as this day begins.")
    ] = None,
    guest: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For `add`: a racer of a file without an account. Repeatable."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="For `add`: take ids of unknown accounts.")] = False,
    yes: common.Yes = False,
    reading: ReadOptions = DEFAULT,
    database: Database = None,
) -> None:
    """Count several rooms and files as one race of all entrants, rated when the event closes.

    A racer's first attempt counts. Until the event closes, its results are sealed: nobody sees them.

    Example: racebot event create "Qualifier 1" --leaderboard "SGL 2026" --until 2026-12-01
    """
    missing = "the event's name" if not name else "a room or a file" if step == "add" and not sources else ""
    if missing and step != "list":
        raise SettingsError(f"racebot event {step}: add {missing}")
    with open_ledger(database, only_reads=step in {"list", "show"}) as (settings, ledger):
        ask, settler = partial(common.accounts, settings), Settler(ledger, rating_rules(settings))
        steps = EventSteps(settler, utc_now(), webhook=settings.webhook_of, ask=ask)
        if step in {"list", "show"}:
            for each in [ledger.events.find(name)] if step == "show" else ledger.events.all():
                _show(ledger, each, in_full=step == "show")
            return
        if step == "create":
            if not leaderboard or until is None:
                raise SettingsError("racebot event create: add --leaderboard NAME and --until DATE")
            known = [*planned_boards(settings), *ledger.leaderboards.all()]
            _show(ledger, steps.create(name, common.one_board(known, leaderboard), until))
            return
        event = ledger.events.find(name)
        files = [Path(each) for each in sources or () if each.lower().endswith(FILE_SUFFIXES)]
        given = [each for each in sources or () if not each.lower().endswith(FILE_SUFFIXES)]
        rooms = [common.race_named(settings, ledger, each) for each in given]
        match step:
            case "add":
                results = common.final_results(settings, ledger, rooms) if rooms else {}
                seen: dict[str, Any] = {"guests": guest or (), "rooms": results.values(), "new": new}
                sheets = [steps.read_sheet(event, each, reading, **seen) for each in files]
                _add(steps, event, results, sheets)
            case "close":
                _close(settings, steps, event)
            case "reopen":
                steps.reopen(event)
            case "remove":
                if sources or common.confirmed(settings, ledger, f"Remove {event.title}?", yes=yes):
                    steps.remove(event, [*rooms, *(each.name for each in files)])
        common.carry_out_rebuilds(ledger)
        if left := ledger.events.get(event.name):
            _show(ledger, left)
        else:
            tell(f"{event.title} is removed")


def _add(steps: EventSteps, event: Event, results: Mapping[str, RaceResult | None], sheets: Any = ()) -> None:
    """Add rooms with their results, and sheets, each with notes: all of them or none."""
    with steps.settler.ledger.transaction():
        for room, result in results.items():
            steps.add_room(event, room, result)
        for sheet, notes in sheets:
            steps.add_sheet(event, sheet)
            for note in notes:
                tell(f"{sheet.name}: {note}", to=common.notices)


def _close(settings: Settings, steps: EventSteps, event: Event) -> None:
    ledger = steps.settler.ledger
    rooms = [each.name for each in ledger.events.sources(event.name) if each.kind is SourceKind.ROOM]
    results = common.final_results(settings, ledger, rooms) if rooms else {}
    with ledger.transaction():  # an added room may have a result, or another one, by now
        _add(steps, event, results)
        steps.close(event)


def _show(ledger: Ledger, event: Event, *, in_full: bool = False) -> None:
    found = ledger.events.attempts(event)
    state = f"closed {event.closed_at:%Y-%m-%d}" if event.closed_at else f"open until {event.until:%Y-%m-%d}"
    finished = sum(each.note is None and each.entrant.finished for each in found)
    tell(f"{event.title} ({event.name}) on {event.leaderboard}: {state}, {finished} finished")
    if not in_full:
        return
    tell("sources: " + (", ".join(source.name for source in ledger.events.sources(event.name)) or "none yet"))
    if event.closed_at is None:
        tell("the results are sealed until the event closes")
        return
    rows = []
    for each in by_result(found):
        entrant = each.entrant
        result = timer(entrant.seconds) if entrant.seconds else entrant.status.value.upper()
        rows.append((entrant.name, result, each.source, each.proof, each.comment, each.note))
    columns = ("Player", ">Result", "Source", "Proof", "Comment", "Does not count")
    tables.print_rows(console, None, columns, rows)


@loaded.command("season")
def season(
    step: Annotated[Literal["start", "end", "list"], typer.Argument(help="What to do.")],
    name: Annotated[str, typer.Argument(help="The season's leaderboard. `list` needs none.")] = "",
    like: Annotated[str, typer.Option(help="For `start`: the season to copy, which ends.")] = "",
    at: Annotated[datetime | None, common.date_option("When (UTC). Default: now.", "--at", "--from")] = None,
    database: Database = None,
) -> None:
    """End a season by writing `until` into its table of racebot.toml, or start the next one like it.

    A new season copies its table, and carries its ratings over. Goals and patterns get the number of the new
    name. Change what else differs in the file.

    Example: racebot season start "SGL 2027" --like "SGL 2026"
    """
    settings = load_settings(database=database)
    boards: list[Leaderboard] = []
    if settings.database.exists():
        with Ledger.open_to_read(settings.database) as ledger:
            boards = ledger.leaderboards.all()
    known = {board.name: board.rule for board in boards} | _rules(settings)
    if step == "list":
        for title, rule in known.items():
            tell(f"{title}: {_end(rule)}")
        return
    before = like if step == "start" else name
    if not (name and before):
        missing = "--like NAME" if name else "the season's name"
        raise SettingsError(f"racebot season {step}: add {missing}")
    if step == "start" and name in known:
        raise SettingsError(f"{settings.config}: there is a leaderboard {name!r} already: use another name")
    moment = at.date() if at else utc_now().replace(microsecond=0)
    shown: list[Any] = []

    def change(tables: Any) -> None:
        old = _table(settings, tables, before)
        if step == "end" or "until" not in old:
            set_value(old, "until", moment)
        shown.append(old)
        if step == "start":
            shown.append(add_table(tables, _successor(old.unwrap(), name, at and moment)))

    edit_leaderboards(settings.config, change, lambda draft: _check(draft, settings, shown))
    if step == "start" and not any(board.name == shown[0]["name"] for board in boards):
        tell(f"{shown[0]['name']} has no race yet, and ends")
    planned = load_settings(database=database)
    for table in shown:
        tell(f"{table['name']}: {_end(_rules(planned)[table['name']])}")
    tell(f"{settings.config} is written. Restart the bot if it is running.")
    limits = rating_rules(planned).goals.values()
    for each in shown[-1].get("goals", []) if step == "start" else ():
        if any(limit and each not in limit for limit in limits):
            tell(f"Add {each!r} to RACEBOT_GOALS, or it is not rated.")


def _check(draft: Path, settings: Settings, shown: Sequence[Any]) -> None:
    """Raise `SettingsError` if a draft of the settings is wrong, or does not show a season's tables."""
    try:
        rules = _rules(sources.load(config=draft))
    except SettingsError as error:
        problems = (problem.replace(str(draft), str(settings.config)) for problem in error.problems)
        raise SettingsError(*problems) from None
    if not all(table["name"] in rules for table in shown) or not rules[shown[0]["name"]].until:
        raise SettingsError("RACEBOT_LEADERBOARDS hides racebot.toml: move its tables there")


def _rules(settings: Settings) -> dict[str, RoomRule]:
    return {each.name: each.rule() for each in settings.leaderboards}


def _end(rule: RoomRule) -> str:
    final = final_from(rule)
    return f"until {rule.until:%Y-%m-%d %H:%M}, final from {final:%Y-%m-%d}" if final else "no end"


def _table(settings: Settings, tables: Any, name: str) -> Any:
    wanted = name.casefold()
    full = [(each, each.get("name", ""), each.get("category", "")) for each in tables]
    found = [table for table, own, slug in full if wanted in {own.casefold(), f"{slug}/{own}".casefold()}]
    if not found:
        raise common.no_leaderboard(name, (own for _, own, _ in full), f"leaderboard of {settings.config}")
    if len(found) > 1:
        several = f"several leaderboards are named {name!r}: write CATEGORY/NAME"
        raise SettingsError(f"{settings.config}: {several}")
    return found[0]


def _successor(old: dict[str, Any], name: str, at: date | None) -> dict[str, Any]:
    """Return the table of a season like another one, which begins then, or when the other one ends."""
    new = {"name": name} | {key: value for key, value in old.items() if key not in NOT_COPIED}
    if "rooms" in old:
        new["rooms"] = []
    if number := changed_number(old["name"], name):
        pattern = re.compile(rf"(?<![0-9]){number[0]}(?![0-9])")
        for key in NUMBERED & new.keys():
            texts = [new[key]] if isinstance(new[key], str) else new[key]
            new[key] = [pattern.sub(number[1], text) for text in texts]
    if at or all(new.get(key) == old.get(key) for key in (*NUMBERED, "rooms")):
        new["from"] = at or old["until"]
    return new | {"carry_over": {"factor": 0.9} | old.get("carry_over", {}) | {"from": old["name"]}}


@loaded.command("report")
def write_report(
    name: Annotated[str, typer.Argument(help="A leaderboard's name.")],
    file: Annotated[Path, typer.Argument(help="File to write: .html, a page that stands alone, or .csv.")],
    database: Database = None,
) -> None:
    """Write a tournament's standings, races with pars, results and orders to one file.

    Example: racebot report "SGL 2026" sgl-2026.html
    """
    from racebot.queries.seeds import ReportRow, tournament_report  # loads scipy
    from racebot.web.api.endpoints import records_csv

    settings = load_settings(database=database)
    with Ledger.open_to_publish(settings.database) as ledger:
        board = common.one_board(ledger.leaderboards.all(), name)
        listing = listing_of(settings, board)
        rows = list(tournament_report(ledger, board, listing))
    if file.suffix.lower() == ".html":
        common.need_web()
        from racebot.web.html.templating import render

        columns, rules = field_names(ReportRow)[1:], listing.scoring
        text = render("report.html", "", board=board, rows=rows, rules=rules, columns=columns, now=utc_now())
        common.write(file, text.decode())
    elif file.suffix.lower() == ".csv":
        common.write(file, records_csv(ReportRow, rows).body.decode())
    else:
        raise SettingsError(f"{file}: name a file that ends in .html or .csv")
    common.tell(f"{file}: {counted(len(rows), 'line')}")


@loaded.command("seeds")
def show_seeds(
    name: Annotated[str, typer.Argument(help="A leaderboard's name.")],
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Seed these: names or ids, one a line.")
    ] = None,
    bracket: Annotated[
        Literal["challonge", "start.gg"] | None,
        typer.Option("--for", help="Print what this site takes. For start.gg, FILE is the phase's export."),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Seed a bracket from a leaderboard, with the reason for each seed.

    Example: racebot seeds "SGL 2026" --entrants bracket.txt
    """
    from racebot.queries.seeds import seed_list  # loads scipy

    if bracket == "start.gg" and entrants is None:
        raise SettingsError("--for start.gg: add --entrants FILE, the phase's seeding that it exports")
    phase = _phase(entrants) if bracket == "start.gg" and entrants else {}
    lines = phase or (None if entrants is None else _lines(entrants))
    with open_ledger(database, only_reads=True) as (settings, ledger):
        board = common.one_board(ledger.leaderboards.all(), name)
        found = seed_list(ledger, board, listing_of(settings, board), lines)
    if as_json:
        common.print_json(found)
        return
    for each in found.missing:
        nearest = f". Nearest: {each.nearest}" if each.nearest else ""
        common.tell(f"no seed for {each.entrant!r}: {each.reason}{nearest}", to=common.notices)
    if bracket == "start.gg":
        # Its example reads columns 1 and 3: https://developer.start.gg/docs/e2e/update-phase-seeding
        seed_of = {seed.entrant: seed.seed for seed in found.seeds}
        tags = sorted(phase, key=lambda tag: seed_of.get(tag, len(phase) + 1))
        rows = ((number, tag, phase[tag]) for number, tag in enumerate(tags, start=1))
        sys.stdout.write(rows_as_csv(("seedNum", "gamerTag", "seedId"), rows).replace("\r\n", "\n"))
        return
    if bracket:  # its Bulk Add takes a name a line; what follows a comma is an account
        sys.stdout.writelines(f"{printable(seed.name).replace(',', ' ')}\n" for seed in found.seeds)
        return
    cells = ((s.seed, s.name, s.twitch, s.points, s.note) for s in found.seeds)
    tables.print_rows(console, found.leaderboard, (">Seed", "Player", "Twitch", ">Points", "Why"), cells)


def _phase(file: Path) -> dict[str, str]:
    """Return the ids of a phase's seeds by the entrant's tag."""
    rows = csv.DictReader(_lines(file))
    named = {"".join(filter(str.isalnum, each)).casefold(): each for each in rows.fieldnames or ()}
    tag, seed = (next((named[n] for n in names if n in named), None) for names in (TAGS, ("seedid", "id")))
    if tag is None or seed is None:
        raise PayloadError(f"{file}: no columns gamerTag and seedId: export the phase in Bracket Setup")
    return {row[tag].rpartition(" | ")[2].strip(): row[seed] for row in rows if row[tag]}


def _lines(file: Path) -> list[str]:
    try:
        return small_text(file).splitlines()
    except (OSError, ValueError) as error:
        raise PayloadError(f"{file}: {reason(error)}: correct the path or the file") from None
