"""Rate past races, from the site or from a file, and show the leaderboards that they make."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from racebot.bot.heartbeat import utc_now
from racebot.cli import tables
from racebot.cli.common import carry_out_jobs, console, progress_bars, tell
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report, listed_count, races_without_changes
from racebot.races.result import RaceResult
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings import backfill
from racebot.standings.backfill import Selection
from racebot.standings.carry_over import require_sources, unknown_sources
from racebot.standings.follow_settings import apply_checked_plans, apply_plans
from racebot.standings.settle import PastRacesReport, Settler
from racebot.text.format import counted


def rate_from_site(settings: Settings, ledger: Ledger, slugs: Sequence[str], selection: Selection) -> None:
    """Fetch and rate past races with a progress bar, and show the leaderboards."""
    settler = Settler(ledger, settings.plans())
    if not unknown_sources(settler.plans, ledger.leaderboards.all()):
        apply_plans(settler)

    async def fetched(slug: str) -> PastRacesReport:
        site = Site(settings.site, interval=settings.request_interval, attempts=8)
        with progress_bars() as advance:
            advance(slug, 0, None)
            async with site:
                return await backfill.backfill(
                    site,
                    slug,
                    settler,
                    selection,
                    clock=utc_now,
                    progress=lambda page, pages, races: advance(
                        slug, page, max(pages, page), f"pages, {races} races"
                    ),
                    # A later category may bring the leaderboard that another one carries over from.
                    before_commit=apply_checked_plans if slug == slugs[-1] else None,
                )

    for slug in slugs:
        _show_merge(asyncio.run(fetched(slug)))
    carry_out_jobs(ledger)
    for board in ledger.leaderboards.all():
        show_best(ledger, board, settings)


def rate_results(settings: Settings, ledger: Ledger, results: Sequence[RaceResult]) -> Sequence[Leaderboard]:
    """Rate the results of a file, show the leaderboards they count on, and return these."""
    settler = Settler(ledger, settings.plans())
    with ledger.transaction():
        apply_plans(settler)
        report = settler.add_past_races(results, "import")
        require_sources(settler.plans, ledger.leaderboards.all())
    carry_out_jobs(ledger)
    _show_merge(report)
    boards = [settler.current(board) for board in report.leaderboards]
    for board in boards:
        show_best(ledger, board, settings)
    return boards


def _show_merge(report: PastRacesReport) -> None:
    parts = (
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
    unrated = races_without_changes(ledger, board)
    tables.print_leaderboard(console, best, listed_count(ledger, board, listing), sum(unrated.values()))
    for reason, races in unrated.items():
        tell(f"{counted(races, 'race')} of {board.name} changed no rating: {reason}")
