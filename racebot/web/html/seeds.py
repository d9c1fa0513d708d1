"""Render the seeds of a leaderboard, for all of its players or for a list of entrants."""

from __future__ import annotations

from urllib.parse import urlencode

from racebot.queries.seeds import SeedList, seed_list
from racebot.web.html import templating
from racebot.web.site.ledger_view import Board
from racebot.web.site.request import Content, PageRequest


def seeds_of(request: PageRequest, board: Board) -> SeedList:
    """Return the seeds of the entrants in the query, or of all listed players."""
    text = request.query.get("entrants", "").strip()
    entrants = text.splitlines() if text else None
    return seed_list(request.view.ledger, board.stored, board.listing, entrants)


def seeds_page(request: PageRequest, board: Board) -> Content:
    entrants = request.query.get("entrants", "").strip()
    return templating.board_page(
        request,
        "seeds.html",
        board,
        totals=request.view.totals(board),
        found=seeds_of(request, board),
        entrants=entrants,
        query=f"?{urlencode({'entrants': entrants})}" if entrants else "",
    )
