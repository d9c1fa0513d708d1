"""Commands for events: several rooms and sheets that count as one race."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from racebot.bot.heartbeat import utc_now
from racebot.cli import common, tables
from racebot.cli.commands import app
from racebot.cli.common import Database, console, open_ledger, tell
from racebot.errors import SettingsError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.events import Event, SourceKind, Timing, by_result
from racebot.races.result import RaceResult
from racebot.races.rooms import room_named
from racebot.races.table_rows import TABLE_SUFFIXES
from racebot.settings.model import Settings
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.text.format import timer

if TYPE_CHECKING:
    from racebot.racetime.client import Site
    from racebot.racetime.payload import Race

Step = Literal["create", "add", "close", "reopen", "remove", "show", "list"]


@app.command("event")
def event_step(
    step: Annotated[Step, typer.Argument(help="What to do.")],
    name: Annotated[str, typer.Argument(help="The event's name. `list` needs none.")] = "",
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="For `add` and `remove`: rooms, and files with the columns player and time."),
    ] = None,
    leaderboard: Annotated[str, typer.Option(help="For `create`: the leaderboard it counts on.")] = "",
    until: Annotated[
        datetime | None, common.date_option("For `create`: the day (UTC) on which it ends.")
    ] = None,
    time: Annotated[Timing, typer.Option(help="For `create`: real or in-game times.")] = Timing.REAL,
    shown: Annotated[bool, typer.Option("--open", help="For `create`: do not seal the results.")] = False,
    late: Annotated[
        bool, typer.Option("--late", help="For `add`: count a file that comes after the end.")
    ] = False,
    early: Annotated[bool, typer.Option("--early", help="For `close`: do not wait for the end.")] = False,
    columns: common.Columns = None,
    database: Database = None,
) -> None:
    """Count several rooms and files as one race of all entrants, rated when the event closes.

    A racer's first attempt counts. Until the event closes, its results are sealed.

    Example: racebot event create "Qualifier 1" --leaderboard "SGL 2026" --until 2026-12-01
    """
    if step != "list" and not name:
        raise SettingsError(f"racebot event {step}: add the event's name")
    with open_ledger(database, only_reads=step in {"list", "show"}) as (settings, ledger):
        steps = _steps(settings, ledger)
        if step == "list":
            for each in ledger.events.all():
                _show(ledger, each)
        elif step == "create":
            if not leaderboard or until is None:
                raise SettingsError("racebot event create: add --leaderboard NAME and --until DATE")
            board = _board(settings, ledger, leaderboard)
            _show(ledger, steps.create(name, board, until, time, shown=shown))
        elif step == "show":
            _show(ledger, ledger.events.find(name), in_full=True)
        else:
            event = ledger.events.find(name)
            files = [Path(each) for each in sources or () if each.lower().endswith(TABLE_SUFFIXES)]
            rooms = _rooms(each for each in sources or () if not each.lower().endswith(TABLE_SUFFIXES))
            if step == "close":  # an added room may have a result, or another one, by now
                rooms = [s.name for s in ledger.events.sources(event.name) if s.kind is SourceKind.ROOM]
            results = _read(settings, rooms) if step in {"add", "close"} and rooms else {}
            with ledger.transaction():  # all sources are added, or none
                for room, result in results.items():
                    steps.add_room(event, room, result)
                for file in files if step == "add" else ():
                    for note in steps.add_sheet(event, file, common.columns_of(columns), late=late):
                        tell(f"{file}: {note}", to=common.notices)
                if step == "close":
                    steps.close(event, early=early)
                elif step == "reopen":
                    steps.reopen(event)
                elif step == "remove":
                    steps.remove(event, [*rooms, *(file.name for file in files)])
            common.carry_out_jobs(ledger)
            tell(f"{name}: {step} done")


@app.command()
def annul(
    event: Annotated[str, typer.Argument(help="The event's name.")],
    player: Annotated[str, typer.Argument(help="The player's id, or name#1234.")],
    reason: Annotated[str, typer.Option(help="Why; the event shows it.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Restore an annulled result.")] = False,
    database: Database = None,
) -> None:
    """Take a player's results out of an event. A closed event is rated again.

    Example: racebot annul "Qualifier 1" "Ann#0007" --reason "no video"
    """
    with open_ledger(database) as (settings, ledger):
        found, subject = ledger.events.find(event), ledger.orders.subject(player)
        _steps(settings, ledger).annul(found, subject, reason, undo=undo)
        common.carry_out_jobs(ledger)
        tell(f"{found.title}: {subject.shown} {'counts again' if undo else 'is annulled'}")


def _steps(settings: Settings, ledger: Ledger) -> EventSteps:
    return EventSteps(Settler(ledger, settings.rules()), utc_now(), webhook=settings.webhook_of)


def _rooms(given: Iterable[str]) -> list[str]:
    try:
        return [room_named(each) for each in given]
    except ValueError as error:
        raise SettingsError(f"{error}, or a file ({', '.join(TABLE_SUFFIXES)})") from None


def _read(settings: Settings, rooms: Sequence[str]) -> dict[str, RaceResult | None]:
    """Return the result of each room as the site shows it now, None without a final one."""

    async def read(site: Site) -> list[Race]:
        return [(await site.race(room))[0] for room in rooms]

    races = common.ask_site(settings.site, read, interval=settings.request_interval)
    results = zip(rooms, (race.result for race in races), strict=True)
    return {room: result if result and result.final else None for room, result in results}


def _board(settings: Settings, ledger: Ledger, name: str) -> Leaderboard:
    """Return the leaderboard with a name, which may be only in the settings."""
    planned = [
        config.leaderboard(category, next(iter(config.goals), ""))
        for category in settings.slugs()
        for config in settings.rules().named_in(category)
    ]
    boards = {board.name.casefold(): board for board in [*planned, *ledger.leaderboards.all()]}
    if (board := boards.get(name.casefold())) is None:
        raise common.no_leaderboard(name, [board.name for board in boards.values()])
    return board


def _show(ledger: Ledger, event: Event, *, in_full: bool = False) -> None:
    found = ledger.events.attempts(event)
    state = f"closed {event.closed_at:%Y-%m-%d}" if event.closed_at else f"open until {event.until:%Y-%m-%d}"
    finished = sum(each.note is None and each.entrant.finished for each in found)
    tell(f"{event.title} ({event.name}) on {event.leaderboard}: {state}, {finished} finished")
    if not in_full:
        return
    tell("sources: " + (", ".join(source.name for source in ledger.events.sources(event.name)) or "none yet"))
    if not (event.closed_at or event.shown):
        tell("the results are sealed until the event closes")
        return
    made = tables.table(None, "Player", ">Result", "Source", "Proof", "Comment", "Does not count")
    for each in by_result(found):
        entrant, length = each.entrant, each.entrant.finish_time
        result = timer(length / 1_000_000) if entrant.finished and length else entrant.status.value.upper()
        cells = (entrant.name, result, each.source, each.proof, each.comment, each.note or "")
        made.add_row(*map(tables.safe, cells))
    console.print(made)
