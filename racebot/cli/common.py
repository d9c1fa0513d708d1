"""What commands share: options, settings, printing and progress bars."""

from __future__ import annotations

import asyncio
import errno
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from racebot import errors, logs
from racebot.files.options import Layout, ReadOptions, Twice, options_of
from racebot.ledger import lock
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.rooms import room_named
from racebot.settings import sources
from racebot.settings.model import Settings
from racebot.standings import rebuild
from racebot.standings.counting import planned_boards
from racebot.text.format import counted, minute, to_json
from racebot.text.parse import did_you_mean
from racebot.text.safe import printable

if TYPE_CHECKING:
    from racebot.files.read import RaceFiles
    from racebot.races.result import Entrant, RaceResult
    from racebot.racetime.client import Site
    from racebot.racetime.payload import Race
    from racebot.standings.settle import Settler


T = TypeVar("T")

console = Console(emoji=False, highlight=False)
notices = Console(stderr=True, emoji=False, highlight=False)

Database = Annotated[Path | None, typer.Option(help="The ledger's SQLite file. Overrides RACEBOT_DATABASE.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask cluster. Overrides RACEBOT_CLUSTER.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def day(text: str) -> datetime:
    """Return the beginning of a year, month or day in UTC, for an option."""
    for form in ("%Y", "%Y-%m", "%Y-%m-%d"):
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    raise typer.BadParameter(f"{text!r} is no year, month or day: write it as 2026, 2026-03 or 2026-03-01")


def date_option(text: str, *names: str) -> Any:
    """Return an option that takes a year, a month or a day, and its beginning."""
    return typer.Option(*names, parser=day, metavar="DATE", help=text)


def option(kind: Any, text: str, *names: str, metavar: str | None = None) -> Any:
    """Return the annotation of an option of this type, given its help."""
    return Annotated[kind, typer.Option(*names, metavar=metavar, help=text)]


Since = Annotated[datetime | None, date_option("Only races that ended that day (UTC) or later.")]


def load_settings(**overrides: Any) -> Settings:
    """Load the settings and set up logging to standard error."""
    settings = sources.load(**overrides)
    logs.to_stderr(settings.log_level)
    return settings


@contextmanager
def open_ledger(
    database: Path | None, *, only_reads: bool = False, **overrides: Any
) -> Generator[tuple[Settings, Ledger]]:
    """Load the settings and open their existing ledger, or the one of `--database`.

    A ledger that a command `only_reads` may be on a read-only disk, or locked.
    """
    settings = load_settings(database=database, **overrides)
    try:
        opened = Ledger.open(settings.database, create=False)
    except errors.LedgerUnavailable:
        if not only_reads:
            raise
        opened = Ledger.open_to_read(settings.database)
    with opened as ledger:
        yield settings, ledger


def ask_site(address: str, question: Callable[[Site], Awaitable[T]], **options: Any) -> T:
    """Connect to the site with these options of the client, and return its answer to a question."""
    from racebot.racetime.client import Site  # most commands need no HTTP client

    async def answer() -> T:
        async with Site(address, **options) as site:
            return await question(site)

    return asyncio.run(answer())


def ask_own_site(settings: Settings, question: Callable[[Site], Awaitable[T]]) -> T:
    """Ask the site of the settings. Raise `LedgerError` if the ledger holds the races of another one."""
    if settings.database.exists():
        with Ledger.open_to_read(settings.database) as ledger:
            ledger.belong_to(settings.site, learn=False)
    return ask_site(settings.site, question, interval=settings.request_interval)


def final_results(settings: Settings, ledger: Ledger, rooms: Sequence[str]) -> dict[str, RaceResult | None]:
    """Return the result of each room as the site shows it now, None without a final one."""

    async def read(site: Site) -> list[Race]:
        return [(await site.race(room))[0] for room in rooms]

    results = zip(rooms, (race.result for race in ask_own_site(settings, read)), strict=True)
    ledger.belong_to(settings.site)
    return {room: result if result and result.final else None for room, result in results}


def accounts(settings: Settings, text: str) -> list[Entrant]:
    """Ask the site for accounts. Without an answer, only players whom the ledger knows can be named."""
    try:
        return ask_own_site(settings, lambda site: site.accounts(text))
    except errors.SiteError as error:
        tell(f"the site was not asked about unknown players: {error}", to=notices)
        return []


def race_named(settings: Settings, ledger: Ledger, text: str) -> str:
    """Return the name of a race or event, given the name, the address, the slug alone or an event's title.

    Only a room may be unknown. Its slug alone is enough if the settings have one category.
    """
    events, slug = ledger.events.all(), text.strip().lower()
    found = [event.name for event in events if event.is_named(text)] or ledger.races.called(slug)
    if not found and re.fullmatch("[a-z0-9-]{1,100}", slug):
        found = [f"{category}/{slug}" for category in settings.slugs()]
    if len(found) > 1:
        raise errors.NoSuchEntryError(f"{text!r} could be any of: {', '.join(found)}")
    try:
        return found[0] if found else room_named(text)
    except ValueError:
        near = did_you_mean(text, [event.title for event in events])
        problem = f"no race {text[:100]!r} is known{near}: write category/room or its address"
        raise errors.NoSuchEntryError(problem) from None


def create_ledger(settings: Settings) -> None:
    """Create the database if it is missing, and say so, since its path may be a typing error."""
    path = settings.database
    if not path.exists():
        Ledger.open(path).close()
        tell(f"New database {path}", to=notices)


def chosen_boards(boards: Iterable[Leaderboard], name: str | None) -> list[Leaderboard]:
    """Return the leaderboards with a name, or `category/name`, in any case; all of them for None."""
    full = {f"{board.category}/{board.name}": board for board in boards}
    wanted = name and name.lower()
    chosen = [b for key, b in full.items() if wanted is None or wanted in {key.lower(), b.name.lower()}]
    if name is not None and not chosen:
        raise no_leaderboard(name, [board.name for board in full.values()])
    return chosen


def one_board(boards: Iterable[Leaderboard], name: str | None) -> Leaderboard:
    """Return the leaderboard with a name, or for None, the only one of at least one."""
    chosen = chosen_boards(boards, name)
    if len(chosen) > 1:
        names = ", ".join(f"{board.category}/{board.name}" for board in chosen)
        which = "choose one with --leaderboard" if name is None else f"several are named {name!r}: choose one"
        raise errors.NoSuchEntryError(f"{which}: {names}")
    return chosen[0]


def no_leaderboard(name: str, known: Iterable[str], what: str = "leaderboard") -> errors.NoSuchEntryError:
    """Return an error that says which names there are."""
    names = list(dict.fromkeys(known))
    there = f"There are: {', '.join(names)}" if names else "There is none yet"
    return errors.NoSuchEntryError(f"no {what} {name!r}{did_you_mean(name, names)}. {there}")


def need_web() -> None:
    """Check that the extra `web` is installed."""
    if not all(map(find_spec, ("fontpkg_inter", "jinja2", "orjson", "PIL", "starlette", "uvicorn"))):
        raise errors.MissingExtraError("web", "no pages")


def cannot_listen(port: int, error: OSError) -> errors.SettingsError:
    """Return an error that says why a server cannot use a port."""
    reason = "another program uses it" if error.errno == errno.EADDRINUSE else error.strerror
    return errors.SettingsError(f"port {port}: {reason}: choose another with --port")


def confirmed(settings: Settings, ledger: Ledger, question: str, *, yes: bool) -> bool:
    """Ask for confirmation in a terminal, unless the user gave `--yes`, and then back up the database."""
    if not yes and not sys.stdin.isatty():
        raise errors.OrderError("nothing changed: run this in a terminal, or add --yes")
    if not yes and not typer.confirm(question):
        return False
    tell(f"backup: {back_up(settings, ledger)}")
    return True


def back_up(settings: Settings, ledger: Ledger, folder: Path | None = None) -> Path:
    """Copy the database into a folder, by default beside the database, and return the copy's path."""
    folder = folder or lock.folder_of(settings.database)
    return ledger.back_up(folder, keep=max(settings.backups, 1), now=utc_now())


def tell(text: str, *, to: Console | None = None) -> None:
    """Print a line without interpreting markup, and without terminal control characters."""
    (to or console).print(printable(text), markup=False, soft_wrap=True)


def print_json(document: Any) -> None:
    """Print a value as JSON, with invisible characters escaped."""
    seen = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in to_json(document))
    sys.stdout.write("".join(seen) + "\n")
    sys.stdout.flush()  # an error is reported here, not when Python ends


def give(report: T, show: Callable[[Console, T], None], *, as_json: bool) -> None:
    """Print a report as JSON, or as a table."""
    print_json(report) if as_json else show(console, report)


def write(file: Path, text: str) -> None:
    """Write a file that a command was asked for."""
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise errors.PayloadError(f"{file}: {error.strerror}") from None


@contextmanager
def progress_bars(*, transient: bool = False) -> Generator[Callable[..., None]]:
    """Show progress bars while the block runs, and yield a function that updates a task's bar.

    The first update of a task adds its bar. Transient bars disappear at the end, and need a terminal.
    """
    name, detail = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[detail]}")
    columns = name, BarColumn(), MofNCompleteColumn(), detail, TimeElapsedColumn()
    hidden = transient and not notices.is_terminal
    with Progress(*columns, console=notices, transient=transient, disable=hidden) as progress:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: float, total: float | None, detail: str = "") -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(printable(what), detail=detail)
            progress.update(tasks[what], completed=done, total=total, detail=detail)

        yield advance


def tell_waiting(settings: Settings, ledger: Ledger) -> None:
    """Say how many races of each category count without a record once their results have stood."""
    boards = planned_boards(settings)
    for slug in settings.slugs():
        if found := ledger.cases.standing(slug, boards):
            until = f"{minute(max(found.values()))} UTC"
            wait, need = ("race waits", "it needs") if len(found) == 1 else ("races wait", "they need")
            tell(f"{len(found)} {wait} until {until} ({need} no record)")


def carry_out_rebuilds(ledger: Ledger) -> None:
    """Rate the leaderboards again that wait for it, with the progress. Raise the error of one that fails."""
    if not ledger.rebuilds.all():
        return
    with progress_bars(transient=True) as advance:
        failed = rebuild.carry_out_rebuilds(ledger, lambda each, *done: advance(each.board.name, *done))
    for error in failed.values():
        raise error


_HELP_COLUMNS = "Your names of a file's columns, such as race=Season+Round,place=Pos; time= leaves one out."
READING: dict[str, Any] = {
    "columns": option(list[str] | None, _HELP_COLUMNS, metavar="OURS=YOURS,..."),
    "layout": option(Layout | None, "What a line is: an entrant, a race or a player."),
    "words": option(list[str] | None, "Words for dnf, dns, dq or done.", metavar="DNF=WORD|WORD,..."),
    "where": option(list[str] | None, "Only lines with a text in a column.", metavar="COLUMN=TEXT,..."),
    "twice": option(Twice | None, "Which of a player's two results in a race counts."),
    "sheet": option(str | None, "A workbook's sheet. Default: the first that fits."),
    "exact_names": option(bool, "Tell apart names that differ in case, spaces or accents.", "--exact-names"),
    "day_first": option(bool, "Dates such as 9/8/2019 are in August.", "--day-first"),
    "lowest_wins": option(bool, "The lowest score wins.", "--lowest-wins"),
}
"""The options that say how to read a file."""


def takes(argument: str, options: Mapping[str, Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that gives a command options, which `make` turns into its one argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**given: Any) -> None:
            made = make(**{name: given.pop(name) for name in options})
            command(**given, **{argument: made})

        own = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [each.replace(kind=keyword) for each in own if each.name != argument]
        for name, option in options.items():
            default = False if get_args(option)[0] is bool else None
            parameters.append(inspect.Parameter(name, keyword, default=default, annotation=option))
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


reads_files = takes("reading", READING, options_of)
"""Gives a command the options that say how to read a file, as its argument `reading`."""


def read_files(
    files: Sequence[Path], reading: ReadOptions, *, summary: bool = False, **given: Any
) -> RaceFiles:
    """Read the races of files, and print how they were read and, if wanted, a summary."""
    from racebot.files.read import read_races
    from racebot.study.history import understood

    found = read_races(*files, options=reading, **given)
    for note in found.notes:
        tell(note, to=notices)
    if summary:
        tell(understood(found.results, TeamPolicy.TEAM, found.left_out), to=notices)
    return found


def tell_fitted_odds(settler: Settler, board: Leaderboard) -> Leaderboard:
    """Fit a leaderboard's odds to its races, and say so if they changed."""
    from racebot.standings.improve import with_fitted_odds

    fitted = with_fitted_odds(settler, board, utc_now())
    if fitted.parameters != board.parameters:
        races = counted(fitted.odds_races, "race")
        tell(f"{board.name}: odds and finish forecast fitted to {races}; no rating changed")
    return fitted
