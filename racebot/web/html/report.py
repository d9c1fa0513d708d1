"""Render a tournament's report as one page that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from racebot.ledger.rows import Leaderboard
from racebot.queries.report import ReportRow
from racebot.queries.standings import Listing
from racebot.text.format import field_names
from racebot.web.html.templating import render
from racebot.web.site.formats import minute

TITLES = {"standing": "Standings", "race": "Races", "result": "Results", "order": "Orders"}


def report_page(board: Leaderboard, listing: Listing, rows: Sequence[ReportRow], now: datetime) -> bytes:
    """Return the page, with a table for each kind of row, and only the columns that it uses."""
    sections = []
    for kind, title in TITLES.items():
        own = [row for row in rows if row.kind == kind]
        used = [n for n in field_names(ReportRow)[1:] if any(getattr(r, n) not in {None, ""} for r in own)]
        sections.append((title, used, [[_cell(getattr(row, name)) for name in used] for row in own]))
    return render("report.html", "", board=board, rules=listing.scoring, sections=sections, now=now)


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return minute(value)
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)
