"""Commands that rate past races, and show rooms, leaderboards, seeds, players and races."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from racebot.cli import common, tables
from racebot.cli.commands import loaded
from racebot.cli.common import AsJson, Database, console, load_settings, open_ledger
from racebot.errors import DamagedRaceError, PayloadError, SettingsError, SiteError
from racebot.files.options import DEFAULT, ReadOptions
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import TEAM_RACE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.export_races import counted_results, csv_text, json_text, left_out
from racebot.queries.leaderboard import leaderboard_report, races_without_changes
from racebot.queries.player import player_report
from racebot.queries.race import race_report
from racebot.queries.scores import document, league
from racebot.queries.standings import listing_of
from racebot.races.events import is_event
from racebot.races.rooms import Room
from racebot.settings.model import Settings
from racebot.standings.backfill import backfill as fetch
from racebot.standings.counting import Boards, RatingRules, rating_rules, unknown_sources
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import PastRacesReport, Settler
from racebot.text.format import counted

if TYPE_CHECKING:
    from racebot.racetime.client import Site

Category = Annotated[str | None, typer.Option(help="The category's slug. Overrides RACEBOT_CATEGORY.")]
USUAL_DAYS = 30  # days of past rooms to show, without `--since`


@loaded.command()
def backfill(since: common.Since = None, category: Category = None, database: Database = None) -> None:
    """Fetch the category's past races and rate them. Safe to stop, resume and repeat.

    Example: racebot backfill --since 2026-01-01
    """
    settings = load_settings(database=database)
    slugs = [category] if category else settings.slugs()
    if not slugs:
        raise SettingsError("RACEBOT_CATEGORY is not set: run `racebot setup`, or pass --category")
    common.create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        rate_from_site(settings, ledger, slugs, since)


@loaded.command("import")
@common.reads_files
def import_file(
    files: Annotated[list[Path], typer.Argument(help="Tables (.csv, .xlsx), JSON, or folders of them.")],
    goal: Annotated[
        str | None,
        typer.Option(
            help="The goal of an archive's races (default: the file's name). For JSON saved from the site, "
            "the one goal to import (default: all)."
        ),
    ] = None,
    category: Category = None,
    reading: ReadOptions = DEFAULT,
    database: Database = None,
) -> None:
    """Rate the races of a file. Safe to repeat.

    Example: racebot import season-1.json --goal "Season 1"
    """
    settings = load_settings(database=database)
    if category is None and len(settings.slugs()) > 1:
        raise SettingsError(
            f"the settings have several categories: pass one of them with --category: "
            f"{', '.join(settings.slugs())}"
        )
    category = category or "".join(settings.slugs())
    # The settings choose the leaderboards of rooms, which may be several. An event's file names its own.
    found = common.read_files(files, reading, category=category, goal=goal, summary=True).results
    before = {each.name: each.leaderboard for each in found if each.leaderboard is not None}
    results = (each if is_event(each.name) else replace(each, leaderboard=None) for each in found)
    del found  # which takes much memory, and is not needed once it is stored
    common.create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        settler = Settler(ledger, rating_rules(settings))
        with ledger.transaction():
            apply_settings(settler)
            report = settler.add_past_races(results, "import", counted=before)
            if unknown := unknown_sources(settler.rules, ledger.leaderboards.all()):
                raise SettingsError(*unknown)
        _show_merge(report)
        for lacking in sorted({*before.values()} - {board.name for board in ledger.leaderboards.all()}):
            text = f"no race counts on {lacking!r} here: compare the settings and the names of goals"
            common.tell(text, to=common.notices)
        _finish(settings, settler, report.leaderboards)


@loaded.command("export-races")
def export_races(
    name: Annotated[str, typer.Argument(help="A leaderboard's name.")],
    file: Annotated[Path, typer.Argument(help="File to write: .json in the site's format, or .csv.")],
    database: Database = None,
) -> None:
    """Write all results that count on a leaderboard to a file that `import` and `evaluate` read.

    Example: racebot export-races "SGL 2026" sgl-2026.json
    """
    writers = {".json": json_text, ".csv": csv_text}
    if (write := writers.get(file.suffix.lower())) is None:
        raise SettingsError(f"{file}: name a file that ends in {' or '.join(writers)}")
    with open_ledger(database, only_reads=True) as (_, ledger):
        board = common.one_board(ledger.leaderboards.all(), name)
        results = list(counted_results(ledger, board))
        missing = left_out(ledger, board)
    common.write(file, write(results))
    common.tell(f"{file}: {counted(len(results), 'race')}" + (f"; left out: {missing}" if missing else ""))


@loaded.command("rooms")
def show_rooms(
    name: Annotated[str, typer.Argument(help="A category's slug, or a leaderboard of racebot.toml.")],
    since: common.Since = None,
    database: Database = None,
) -> None:
    """Show open and past rooms of 30 days, and why each counts on a leaderboard or does not.

    Example: racebot rooms "SGL 2026" --since 2026-09-01
    """
    settings = load_settings(database=database)
    rules, slugs = rating_rules(settings), settings.slugs()
    whole = name in slugs
    boards = {config.name for config in rules.named if whole or config.name.casefold() == name.casefold()}
    if not (whole or boards):
        known = [*slugs, *(config.name for config in rules.named)]
        raise common.no_leaderboard(name, known, "category or leaderboard of the settings")
    slugs = [name] if whole else [s for s in slugs if any(c.name in boards for c in rules.named_in(s))]
    if not slugs:
        raise SettingsError(f"no category is set up: add category = ... to the table of {name!r}")
    oldest = since or utc_now() - timedelta(days=USUAL_DAYS)

    async def rooms(site: Site) -> list[Room]:
        return [room for slug in slugs async for room in rooms_of(site, slug, rules, oldest)]

    found = common.ask_own_site(settings, rooms)
    with Ledger.open_to_read(settings.database) if settings.database.exists() else nullcontext() as ledger:
        rules = rules if ledger is None else Boards(ledger, rules).rules
        rows = [row for room in found for row in _rows(room, rules, ledger, None if whole else boards)]
    tables.print_rooms(console, rows)


async def rooms_of(site: Site, slug: str, rules: RatingRules, oldest: datetime) -> AsyncIterator[Room]:
    """Yield a category's open rooms, its past races since `oldest`, and the rooms listed by name.

    A race's own data is read where the lists do not show the room, or what a leaderboard needs to know.
    """
    listed = set(rules.listed_rooms(slug))
    shown: dict[str, Room] = dict((await site.category(slug)).rooms)
    async for _, page in site.past_race_pages(slug, since=oldest):
        shown.update({race.name: race for race in page.races})
    current = [n for n, room in shown.items() if not room.ended_at or room.ended_at >= oldest or n in listed]
    for name in (*sorted(listed - shown.keys()), *current):
        room = shown.get(name)
        try:
            if room is None or rules.lacks_opener(room):
                room, _ = await site.race(name)
        except (PayloadError, SiteError) as error:
            common.tell(f"left out: {name}: {error}", to=common.notices)
            continue
        yield room


def _rows(
    room: Room, rules: RatingRules, ledger: Ledger | None, boards: Collection[str] | None
) -> Iterator[tables.RoomRow]:
    """Yield a row for each leaderboard, or for these alone. Orders in the ledger keep rooms from counting."""
    for config, verdict in rules.verdicts(room):
        if boards is not None and config.name not in boards:
            continue
        why = verdict.reason.value.format(value=verdict.value)
        why += f"; nearest: {verdict.nearest!r}" if verdict.nearest else ""
        why += ", if recorded" if verdict.counts and not config.rule.finished else ""
        board = config.leaderboard(room.category, room.goal)
        order = ledger.races.note(board, room.name) if ledger and verdict.counts else None
        fails = not verdict.counts or order is not None
        yield tables.RoomRow(config.name, fails, order or why, room.name, room.goal)


@loaded.command("leaderboard")
def show_leaderboards(
    name: Annotated[str | None, typer.Argument(help="A leaderboard's name. Default: all.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of players to show.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboards.

    Example: racebot leaderboard "Map Rando S4" --limit 20
    """
    with open_ledger(database, only_reads=True) as (settings, ledger):
        boards = common.chosen_boards(ledger.leaderboards.all(), name)
        if as_json:
            report = partial(leaderboard_report, limit=limit)
            common.print_json([report(ledger, board, listing_of(settings, board)) for board in boards])
            return
        if not boards:
            console.print(tables.NO_BOARDS)
        for board in boards:
            listing = listing_of(settings, board)
            if (rules := listing.ordering) and (scores := document(league(ledger, board, rules))).racers:
                tables.print_scores(console, f"{board.name}, scores", rules, scores, limit)
            tables.print_leaderboard(console, leaderboard_report(ledger, board, listing), limit)
        common.tell_waiting(settings, ledger)


@loaded.command("player")
def show_player(
    name: Annotated[str, typer.Argument(help="A player's name, in any case, or id.")],
    limit: Annotated[int, typer.Option(min=1, help="Number of races to show.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a player's standing and last races.

    Example: racebot player Alice
    """
    with open_ledger(database, only_reads=True) as (settings, ledger):
        report = player_report(ledger, name, partial(listing_of, settings), limit)
    common.give(report, tables.print_player, as_json=as_json)


@loaded.command("race")
def show_race(
    name: Annotated[str, typer.Argument(help="Its name or address, the slug alone, or an event's name.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show how a race changed each rating, and why.

    Example: racebot race smr/curious-midfast-0534
    """
    with open_ledger(database, only_reads=True) as (settings, ledger):
        report = race_report(ledger, common.race_named(settings, ledger, name))
    common.give(report, tables.print_race, as_json=as_json)


def rate_from_site(
    settings: Settings, ledger: Ledger, slugs: Sequence[str], since: datetime | None = None
) -> None:
    """Fetch and rate past races with a progress bar, and show the leaderboards."""
    ledger.belong_to(settings.site, learn=False)
    settler = Settler(ledger, rating_rules(settings))
    if not unknown_sources(settler.rules, ledger.leaderboards.all()):
        with suppress(DamagedRaceError):  # the site's result may replace it; the settings are applied then
            apply_settings(settler)

    def fetched(slug: str, note: Callable[[str], object]) -> PastRacesReport:
        # A later category may bring the leaderboard that another one carries over from.
        last = partial(apply_settings, goals=()) if slug == slugs[-1] else None
        with common.progress_bars() as advance:

            def told(page: int, pages: int, races: int) -> None:
                advance(slug, page, max(pages, page), f"pages, {races} races")

            def question(site: Site) -> Awaitable[PastRacesReport]:
                return fetch(site, slug, settler, utc_now, told, note, last, since=since)

            advance(slug, 0, None)
            return common.ask_site(settings.site, question, interval=settings.request_interval, attempts=8)

    failed: list[SiteError] = []
    for slug in slugs:
        problems: list[str] = []
        try:
            _show_merge(fetched(slug, problems.append))
            ledger.belong_to(settings.site)
        except SiteError as error:
            failed.append(error)
        for problem in problems:
            common.tell(f"left out: {problem}", to=common.notices)
    _finish(settings, settler)
    common.tell_waiting(settings, ledger)
    if failed:
        raise failed[0]


def _show_merge(report: PastRacesReport) -> None:
    counts = {"changed": report.changed, "unchanged": report.known, "waiting": report.waiting}
    counts["not counted (not recorded, or goal not rated)"] = report.skipped
    others = (f"{count} {what}" for what, count in counts.items() if count)
    console.print(", ".join([counted(report.new, "new race"), *others]))


def _finish(settings: Settings, settler: Settler, boards: Iterable[Leaderboard] | None = None) -> None:
    """Rate leaderboards again that wait for it. Fit the odds of these, or of all, and print them."""
    from racebot.study.fit import RATINGS_FROM  # loads joblib

    ledger = settler.ledger
    common.carry_out_rebuilds(ledger)
    boards = ledger.leaderboards.all() if boards is None else map(settler.current, boards)
    for board in [common.tell_fitted_odds(settler, each) for each in boards]:
        report = leaderboard_report(ledger, board, listing_of(settings, board))
        tables.print_leaderboard(console, report, 10)
        if report.races >= RATINGS_FROM:
            common.tell(f'{board.name}: fit the ratings, too: run racebot improve "{board.name}"')
        for reason, races in races_without_changes(ledger, board).items():
            hint = ", left out unless RACEBOT_TEAM_RACES says how to rate it" if reason == TEAM_RACE else ""
            common.tell(f"{counted(races, 'race')} of {board.name} changed no rating: {reason}{hint}")
