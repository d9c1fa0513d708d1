"""Render the recap of a season that ended."""

from __future__ import annotations

from racebot.web.html import templating
from racebot.web.html.movement import SHOWN, places_chart
from racebot.web.site.ledger_view import Board
from racebot.web.site.request import Content, PageRequest


def recap_page(request: PageRequest, board: Board) -> Content:
    """Render the champion, the podium and the facts of a season. Before it is final, there is no page."""
    view = request.view
    found = view.recap(board)
    if found is None:
        return None
    chart, players = None, view.report(board).players[:SHOWN]
    if players and found.span and found.span[0].ended_at < found.span[1].ended_at:
        chart = places_chart(view, board, players, *(race.ended_at for race in found.span))
    return templating.board_page(request, "recap.html", board, view.totals(board), found=found, chart=chart)
