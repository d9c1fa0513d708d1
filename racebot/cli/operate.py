"""Commands for the operator: run, backfill, import, verify, rebuild, back up, and check the bot's health."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from racebot.bot import doctor as examination
from racebot.bot.heartbeat import health_timeout, last_seen, utc_now
from racebot.bot.status import status
from racebot.bot.worker import Worker
from racebot.cli import tables
from racebot.cli.common import (
    AsJson,
    Database,
    app,
    chosen_boards,
    console,
    load_settings,
    notices,
    print_json,
    tell,
    utc,
)
from racebot.cli.refit import offer_fits
from racebot.errors import SettingsError, SiteError
from racebot.ledger import backup
from racebot.ledger.rows import RESTORE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings import backfill as past, queries, verify as verification
from racebot.standings.plan import require_sources, unknown_sources
from racebot.standings.replay import sources_first
from racebot.standings.settle import MergeReport, Settler
from racebot.standings.verify import Problem
from racebot.text.safe import printable


@app.command()
def run(database: Database = None) -> None:
    """Watch the category's race rooms and update the ratings, until stopped.

    Example: racebot run
    """
    settings = load_settings(database=database)
    settings.required_categories()

    async def work() -> None:
        worker = Worker(settings)
        _on_stop_signal(worker.stop)
        await worker.run()

    asyncio.run(work())


def _on_stop_signal(stop: Callable[[], object]) -> None:
    """Call a function when the process is asked to stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


@app.command()
def backfill(
    goal: Annotated[
        list[str] | None, typer.Option(help="Rate this goal only. Repeat the option for several goals.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Rate races that ended on this day (UTC) or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Rate races that ended before this day (UTC).")
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="The category's slug. Overrides RACEBOT_CATEGORY.", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Fetch the category's past races and rate them. Safe to stop, resume and repeat.

    Example: racebot backfill --goal "Map Rando S4" --since 2026-01-01
    """
    settings = load_settings(database=database)
    slugs = [category] if category else settings.slugs()
    if not slugs:
        raise SettingsError("RACEBOT_CATEGORY is not set. Set it, or pass --category")
    selection = past.Selection(goal or (), utc(since), utc(until))
    with Ledger.open(settings.database) as ledger:
        settler = Settler(ledger, settings.plans())
        if not unknown_sources(settler.plans, ledger.leaderboards()):
            settler.apply_plans()
        for slug in slugs:
            # A later category may bring the leaderboard that another one carries over from.
            check = _apply_plans if slug == slugs[-1] else None
            report = asyncio.run(_backfill(settings, slug, settler, selection, check))
            _tell_merge(report)
        for board in ledger.leaderboards():
            _show_best(ledger, board, settings)
            tables.print_movers(console, queries.biggest_movers(ledger, board), queries.MOVERS_WINDOW.days)
        offer_fits(settings, ledger, ledger.leaderboards())


async def _backfill(
    settings: Settings,
    slug: str,
    settler: Settler,
    selection: past.Selection,
    before_commit: Callable[[Settler], None] | None,
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

            return await past.backfill(
                site,
                slug,
                settler,
                selection,
                clock=utc_now,
                progress=advance,
                before_commit=before_commit,
            )


def _apply_plans(settler: Settler) -> None:
    """Bring the ledger in line with the settings, unless they name an unknown source of a carry-over."""
    with settler.ledger.transaction():
        settler.apply_plans()
        require_sources(settler.plans, settler.ledger.leaderboards())


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="An archive, JSON saved from the site, or a .csv file.")],
    goal: Annotated[
        str | None,
        typer.Option(
            help="The goal of an archive's races (default: the file's name). For JSON saved from the site, "
            "the one goal to import (default: all)."
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="The category's slug. Overrides RACEBOT_CATEGORY.", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Rate the races of a file. Safe to repeat.

    Example: racebot import season-1.json --goal "Season 1"
    """
    settings = load_settings(database=database)
    if category is None and len(settings.categories) > 1:
        raise SettingsError(
            f"the settings have several categories: pass one of them with --category: "
            f"{', '.join(settings.slugs())}"
        )
    results = past.read_races(file, category=category or "".join(settings.slugs()), goal=goal)
    with Ledger.open(settings.database) as ledger:
        settler = Settler(ledger, settings.plans())
        with ledger.transaction():
            settler.apply_plans()
            report = settler.merge(results, "import")
            require_sources(settler.plans, ledger.leaderboards())
        _tell_merge(report)
        for board in report.leaderboards:
            _show_best(ledger, board, settings)
        offer_fits(settings, ledger, report.leaderboards)


@app.command()
def verify(database: Database = None) -> None:
    """Check the database file, and compare the stored ratings bit for bit with a replay.

    Example: racebot verify
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        problems = [Problem(text, RESTORE) for text in ledger.check()]
        for board in ledger.leaderboards():
            with _progress(board.name, ledger.rated_count(board)) as advance:
                found = verification.verify(ledger, board, advance)
            problems += [replace(problem, text=f"{board.name}: {problem}") for problem in found]
            players = queries.listed_count(ledger, board, queries.Listing())
            tell(f"{board.name}: {ledger.rated_count(board)} races, {players} players")
    for problem in problems[:20]:
        tell(str(problem), to=notices)
    damage = [problem for problem in problems if problem.remedy is not None]
    if damage:
        remedies = ", then ".join(dict.fromkeys(str(problem.remedy) for problem in damage))
        notices.print(f"{len(damage)} problems: {remedies}", highlight=False)
        raise typer.Exit(1)
    console.print("everything agrees")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for races, and yield a function that takes the number of races done."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=notices, transient=True, disable=not notices.is_terminal) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda done: progress.update(task, completed=done)


@app.command()
def rebuild(
    name: Annotated[str | None, typer.Argument(help="One leaderboard. Default: all.")] = None,
    database: Database = None,
) -> None:
    """Rate the stored results again, with the current model and settings.

    Example: racebot rebuild
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        settler = Settler(ledger, settings.plans())
        _apply_plans(settler)
        for board in sources_first(chosen_boards(ledger, name)):
            with _progress(board.name, ledger.rated_count(board)) as advance:
                races = settler.replay.rebuild(board, advance)
            tell(f"{board.name}: {races} races rated again")


@app.command("backup")
def back_up(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the copy. Default: backups/ beside the database.", show_default=False
        ),
    ] = None,
    database: Database = None,
) -> None:
    """Copy the database. Safe while the bot runs.

    Example: racebot backup
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        where = folder or backup.folder_of(settings.database)
        made = backup.back_up(ledger, where, keep=max(settings.backups, 1), now=utc_now())
    tell(str(made))


@app.command()
def doctor() -> None:
    """Check settings, credentials, category, goals and database, and say how to fix any problem.

    Example: racebot doctor
    """
    settings = load_settings()

    async def examine() -> bool:
        good = True
        async for finding in examination.examine(settings):
            good = good and finding.good
            mark = "[green]ok[/green]   " if finding.good else "[red]wrong[/red]"
            console.print(mark, end=" ")
            tell(finding.text)
        return good

    if not asyncio.run(examine()):
        raise typer.Exit(2)


@app.command()
def health(database: Database = None) -> None:
    """Succeed if the bot has seen its category within the last five minutes.

    Example: racebot health
    """
    settings = load_settings(database=database)
    seen = last_seen(settings.database)
    if seen is None:
        raise SiteError(f"the bot has never run on {settings.database}: start it with `racebot run`")
    age = utc_now() - seen
    if age > health_timeout(settings.rooms_every):
        raise SiteError(
            f"the bot last saw its category {age.total_seconds() / 60:.0f} minutes ago: check its log"
        )
    console.print("healthy")


@app.command("status")
def show_status(database: Database = None, as_json: AsJson = False) -> None:
    """Show the state of the running bot: rooms, races waiting to be recorded, messages to deliver.

    Example: racebot status
    """
    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        report = status(
            ledger,
            settings.slugs(),
            rooms_every=settings.rooms_every,
            now=utc_now(),
            plans=settings.plans(),
        )
    if as_json:
        print_json(report)
    else:
        tables.print_status(console, report)


def _tell_merge(report: MergeReport) -> None:
    parts: Iterable[str] = (
        f"{report.new} new races",
        f"{report.changed} changed" if report.changed else "",
        f"{report.known} unchanged" if report.known else "",
        f"{report.skipped} not counted (not recorded, or goal not rated)" if report.skipped else "",
    )
    console.print(", ".join(part for part in parts if part))


def _show_best(ledger: Ledger, board: Leaderboard, settings: Settings, count: int = 10) -> None:
    listing = settings.listing(board)
    best = queries.leaderboard_report(ledger, board, listing, limit=count)
    tables.print_leaderboard(console, best, queries.listed_count(ledger, board, listing))
