"""The command line. Commands are thin; an error that racebot raises on purpose becomes one line."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import stamina.instrumentation
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from racebot import (
    __version__,
    backfill as past,
    doctor as examination,
    reports,
    settings as configuration,
    tables,
)
from racebot.errors import NoSuchEntryError, RacebotError, SettingsError, SiteError
from racebot.ledger.store import Leaderboard, Ledger
from racebot.racetime.api import Site
from racebot.settings import Settings
from racebot.settle import MergeReport, Settler
from racebot.worker import ALIVE_WITHIN, Worker, heartbeat, utc_now

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Rates the races of a racetime.gg category and tells the racers what each race did to their rating.",
)
console = Console()
notices = Console(stderr=True)

Database = Annotated[
    Path | None,
    typer.Option(help="The ledger's SQLite file, in place of RACEBOT_DATABASE.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]


@app.command()
def run(database: Database = None) -> None:
    """Watch the category: settle recorded races and tell the racers, until stopped.

    Example: racebot run
    """
    settings = _settings(database=database)
    settings.required_categories()

    async def work() -> None:
        worker = Worker(settings)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        await worker.run()

    asyncio.run(work())


@app.command()
def backfill(
    goal: Annotated[
        list[str] | None, typer.Option(help="Only this goal; may be given several times.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Only races that ended on this day (UTC) or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Only races that ended before this day (UTC).")
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="In place of RACEBOT_CATEGORY.", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Fetch the category's past races and rate them. May be stopped, resumed and repeated.

    Example: racebot backfill --goal "Map Rando S4" --since 2026-01-01
    """
    settings = _settings(category=category, database=database)
    slugs = [settings.category] if settings.category else [each.slug for each in settings.categories]
    if not slugs:
        raise SettingsError("RACEBOT_CATEGORY is not set: set it, or give --category")
    selection = past.Selection(goal or (), _utc(since), _utc(until))
    with Ledger.open(settings.database) as ledger:
        settler = Settler(ledger, settings.plans())
        settler.apply_plans()
        for slug in slugs:
            report = asyncio.run(_backfill(settings, slug, settler, selection))
            _tell_merge(report)
        for board in ledger.leaderboards():
            tables.leaderboard(
                console, reports.leaderboard(ledger, board, _listing(settings, board)), limit=10
            )
            tables.movers(console, reports.movers(ledger, board), reports.MOVERS_WINDOW.days)


async def _backfill(
    settings: Settings, slug: str, settler: Settler, selection: past.Selection
) -> MergeReport:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages, {task.fields[races]} races"),
        TimeElapsedColumn(),
    )
    async with Site(settings.site, interval=settings.request_interval, attempts=8) as site:
        with Progress(*columns, console=notices) as progress:
            task = progress.add_task(slug, total=None, races=0)

            def advance(page: int, pages: int, races: int) -> None:
                progress.update(task, completed=page, total=max(pages, page), races=races)

            return await past.backfill(site, slug, settler, selection, clock=utc_now, progress=advance)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="An archive of races, or JSON saved from the site.")],
    goal: Annotated[
        str | None,
        typer.Option(
            help="The goal of an archive's races (default: the file's name); of site JSON, the one wanted."
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="In place of RACEBOT_CATEGORY.", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Rate the races of a file. May be repeated.

    Example: racebot import season-1.json --goal "Season 1"
    """
    settings = _settings(category=category, database=database)
    results = past.read_races(file, category=settings.category or "", goal=goal)
    with Ledger.open(settings.database) as ledger:
        settler = Settler(ledger, settings.plans())
        settler.apply_plans()
        report = settler.merge(results, "import")
        _tell_merge(report)
        for board in report.leaderboards:
            tables.leaderboard(
                console, reports.leaderboard(ledger, board, _listing(settings, board)), limit=10
            )


@app.command()
def leaderboard(
    name: Annotated[str | None, typer.Argument(help="One leaderboard; all of them if left out.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many players to show.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboards.

    Example: racebot leaderboard "Map Rando S4" --limit 20
    """
    settings = _settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        found = [
            reports.leaderboard(ledger, board, _listing(settings, board)) for board in _boards(ledger, name)
        ]
    if as_json:
        for report in found:
            report["players"] = report["players"][:limit]
        _print_json(found)
        return
    for report in found:
        tables.leaderboard(console, report, limit)


@app.command()
def player(
    name: Annotated[str, typer.Argument(help="A player's name, in any case, or id.")],
    limit: Annotated[int, typer.Option(min=1, help="How many races to show.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a player's standing and last races.

    Example: racebot player Alice
    """
    settings = _settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        listings = {board.key: _listing(settings, board) for board in ledger.leaderboards()}
        report = reports.player(ledger, name, listings, limit)
    if as_json:
        _print_json(report)
    else:
        tables.player(console, report)


@app.command()
def race(
    name: Annotated[str, typer.Argument(help="A race's name, with or without its category.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show what a race did to each rating, and why.

    Example: racebot race smr/curious-midfast-0534
    """
    settings = _settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        report = reports.race(ledger, name)
    if as_json:
        _print_json(report)
    else:
        tables.race(console, report)


@app.command()
def verify(database: Database = None) -> None:
    """Replay the stored results and compare with the stored ratings, to the last bit.

    Example: racebot verify
    """
    settings = _settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        settler = Settler(ledger, settings.plans())
        problems = ledger.check()
        for board in ledger.leaderboards():
            found = settler.verify(board)
            problems += [f"{board.name}: {problem}" for problem in found]
            console.print(
                f"{board.name}: {ledger.rated_count(board)} races, {len(ledger.standings(board))} players"
            )
    for problem in problems[:20]:
        notices.print(problem, markup=False, highlight=False)
    if problems:
        notices.print(f"{len(problems)} problems; `racebot rebuild` rates the stored results anew")
        raise typer.Exit(1)
    console.print("everything agrees")


@app.command()
def rebuild(
    name: Annotated[str | None, typer.Argument(help="One leaderboard; all of them if left out.")] = None,
    database: Database = None,
) -> None:
    """Rate the stored results anew, with the model that is set now.

    Example: racebot rebuild
    """
    settings = _settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        settler = Settler(ledger, settings.plans())
        settler.apply_plans()
        for board in _boards(ledger, name):
            console.print(f"{board.name}: {settler.rebuild(board)} races rated anew", markup=False)


@app.command()
def doctor() -> None:
    """Try settings, credentials, category, goals and database, and say what is wrong.

    Example: racebot doctor
    """
    settings = _settings()

    async def examine() -> bool:
        good = True
        async for finding in examination.examine(settings):
            good = good and finding.good
            mark = "[green]ok[/green]   " if finding.good else "[red]wrong[/red]"
            console.print(mark, end=" ")
            console.print(finding.text, markup=False, highlight=False, soft_wrap=True)
        return good

    if not asyncio.run(examine()):
        raise typer.Exit(2)


@app.command()
def health(database: Database = None) -> None:
    """Succeed if a worker on this database has seen its category within five minutes.

    Example: racebot health
    """
    settings = _settings(database=database)
    beat = heartbeat(settings.database)
    if not beat.exists():
        raise SiteError(f"no worker has been at work on {settings.database}")
    age = utc_now() - datetime.fromtimestamp(beat.stat().st_mtime, UTC)
    if age > ALIVE_WITHIN:
        raise SiteError(f"the worker last saw its category {age.total_seconds() / 60:.0f} minutes ago")
    console.print("well")


@app.command()
def sandbox(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes any free one.")
    ] = 8000,
    races: Annotated[
        Path | None, typer.Option(help="Past races to serve: an archive, or JSON saved from the site.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option(help="The goal of an archive's races (default: the file's name).")
    ] = None,
    category: Annotated[str, typer.Option(help="The category's slug.")] = "sandbox",
) -> None:
    """Serve a local stand-in for racetime.gg, to try the bot against.

    Example: racebot sandbox --port 8000 --races season-1.json
    """
    _need_sandbox()
    from racebot.sandbox import server  # noqa: PLC0415 - an extra of the package

    try:
        server.run(
            port, races, category=category, goal=goal, tell=lambda text: console.print(text, markup=False)
        )
    except OSError as error:
        raise SettingsError(f"port {port}: {error.strerror}: choose another with --port") from None


@app.command()
def demo(
    races: Annotated[int, typer.Option(min=3, help="How many races.")] = 4,
    seed: Annotated[int, typer.Option(help="The same seed gives the same races.")] = 1,
    speed: Annotated[float, typer.Option(min=0.1, max=20, help="Twice as fast with 2.")] = 1.0,
    model: Annotated[str, typer.Option(help="The rating model.")] = configuration.DEFAULT_MODEL,
    database: Annotated[Path, typer.Option(help="Where the demo keeps its ledger; it is begun anew.")] = Path(
        "state/demo.db"
    ),
) -> None:
    """Watch the bot at work: a sandbox, simulated racers, and the real worker, within a minute.

    Example: racebot demo --races 5 --speed 2
    """
    _need_sandbox()
    from racebot import demo as show  # noqa: PLC0415 - needs an extra of the package

    _log_to_stderr("warning")
    for suffix in ("", "-wal", "-shm", ".lock", ".alive"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    asyncio.run(show.demo(database, races=races, seed=seed, speed=speed, console=console, model=model))
    console.print()
    with Ledger.open(database, create=False) as ledger:
        for board in ledger.leaderboards():
            tables.leaderboard(console, reports.leaderboard(ledger, board, reports.Listing()))
    console.print(f"The same again: racebot leaderboard --database {database}", markup=False)


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"racebot {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Entry point of the `racebot` command."""
    stamina.instrumentation.set_on_retry_hooks([])
    try:
        app()
    except RacebotError as error:
        for line in error.problems if isinstance(error, SettingsError) else (str(error),):
            notices.print(f"racebot: {line}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1 if type(error) in {NoSuchEntryError, SiteError} else 2)
    except KeyboardInterrupt:
        sys.exit(130)


def _settings(**overrides: Any) -> Settings:
    settings = configuration.load(**overrides)
    _log_to_stderr(settings.log_level)
    return settings


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr, force=True
    )
    for chatty in ("httpx", "httpcore", "websockets"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # A run that is skipped because the one before still works is no news.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)


def _boards(ledger: Ledger, name: str | None) -> list[Leaderboard]:
    boards = ledger.leaderboards()
    if name is None:
        return boards
    chosen = [board for board in boards if board.name.lower() == name.lower()]
    if not chosen:
        names = ", ".join(board.name for board in boards) or "none yet"
        raise NoSuchEntryError(f"no leaderboard {name!r} in the ledger; there are: {names}")
    return chosen


def _listing(settings: Settings, board: Leaderboard) -> reports.Listing:
    own = next((each for each in settings.leaderboards if each.name == board.name), None)
    finishes = own.minimum_finishes if own and own.minimum_finishes is not None else settings.minimum_finishes
    days = own.inactive_days if own and own.inactive_days is not None else settings.inactive_days
    return reports.Listing(finishes, days)


def _tell_merge(report: MergeReport) -> None:
    parts: Iterable[str] = (
        f"{report.new} new races",
        f"{report.changed} changed" if report.changed else "",
        f"{report.known} known already" if report.known else "",
        f"{report.skipped} not counted (not recorded, or not a goal that is rated)" if report.skipped else "",
    )
    console.print(", ".join(part for part in parts if part))


def _print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _need_sandbox() -> None:
    try:
        import starlette  # noqa: F401, PLC0415 - an extra of the package
        import uvicorn  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        raise SettingsError("the sandbox is not installed: pip install 'racebot[sandbox]'") from None
