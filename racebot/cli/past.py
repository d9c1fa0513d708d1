"""Commands that rate past races, from the site or from a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from racebot.bot.heartbeat import utc_now
from racebot.cli import tables
from racebot.cli.commands import app
from racebot.cli.common import console, load_settings, utc
from racebot.cli.options import Database
from racebot.cli.progress import progress_bars
from racebot.cli.refit import offer_fits
from racebot.errors import SettingsError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import MOVERS_WINDOW, biggest_movers, leaderboard_report, listed_count
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings import backfill as past
from racebot.standings.carry_over import require_sources, unknown_sources
from racebot.standings.follow_settings import apply_checked_plans, apply_plans
from racebot.standings.settle import MergeReport, Settler
from racebot.text.format import counted


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
        raise SettingsError("RACEBOT_CATEGORY is not set: run `racebot setup`, or pass --category")
    selection = past.Selection(goal or (), utc(since), utc(until))
    with Ledger.open(settings.database) as ledger:
        rate_past_races(settings, ledger, slugs, selection)
        offer_fits(settings, ledger, ledger.leaderboards())


def rate_past_races(
    settings: Settings, ledger: Ledger, slugs: Sequence[str], selection: past.Selection
) -> None:
    """Fetch and rate past races with a progress bar, and show the leaderboards."""
    settler = Settler(ledger, settings.plans())
    if not unknown_sources(settler.plans, ledger.leaderboards()):
        settler.run_prepared(partial(apply_plans, settler))
    for slug in slugs:
        # A later category may bring the leaderboard that another one carries over from.
        check = apply_checked_plans if slug == slugs[-1] else None
        report = asyncio.run(_backfill(settings, slug, settler, selection, check))
        _tell_merge(report)
    for board in ledger.leaderboards():
        show_best(ledger, board, settings)
        tables.print_movers(console, biggest_movers(ledger, board), MOVERS_WINDOW.days)


async def _backfill(
    settings: Settings,
    slug: str,
    settler: Settler,
    selection: past.Selection,
    before_commit: Callable[[Settler], None] | None,
) -> MergeReport:
    async with Site(settings.site, interval=settings.request_interval, attempts=8) as site:
        with progress_bars() as advance:
            advance(slug, 0, None)
            return await past.backfill(
                site,
                slug,
                settler,
                selection,
                clock=utc_now,
                progress=lambda page, pages, races: advance(
                    slug, page, max(pages, page), f"pages, {races} races"
                ),
                before_commit=before_commit,
            )


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

        def rate() -> MergeReport:
            with ledger.transaction():
                apply_plans(settler)
                report = settler.merge(results, "import")
                require_sources(settler.plans, ledger.leaderboards())
            return report

        report = settler.run_prepared(rate)
        _tell_merge(report)
        for board in report.leaderboards:
            show_best(ledger, board, settings)
        offer_fits(settings, ledger, report.leaderboards)


def _tell_merge(report: MergeReport) -> None:
    parts: Iterable[str] = (
        counted(report.new, "new race"),
        f"{report.changed} changed" if report.changed else "",
        f"{report.known} unchanged" if report.known else "",
        f"{report.skipped} not counted (not recorded, or goal not rated)" if report.skipped else "",
    )
    console.print(", ".join(part for part in parts if part))


def show_best(ledger: Ledger, board: Leaderboard, settings: Settings, count: int = 10) -> None:
    """Print the first places of a leaderboard."""
    listing = settings.listing(board)
    best = leaderboard_report(ledger, board, listing, limit=count)
    tables.print_leaderboard(console, best, listed_count(ledger, board, listing))
