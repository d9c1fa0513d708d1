"""Compare two players: their graphs, record, last races together, and the chance next time."""

from __future__ import annotations

from dataclasses import dataclass

from racebot.standings.queries import Comparison, PlayerStanding, compared
from racebot.web.html.formats import shown_name
from racebot.web.html.player_graph import graph_data
from racebot.web.pictures import charts
from racebot.web.site.document import Content
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import PageRequest

MEETINGS = 50
"""Number of races together to show."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two players, with their comparison on a leaderboard."""

    board: Board
    people: tuple[PlayerStanding, PlayerStanding]
    comparison: Comparison


def pair(request: PageRequest, player: str, other: str, on: str = "") -> Pair | None:
    """Compare two players on the leaderboard `on`, or on the one where both raced last. None in an export."""
    if not (request.served and player and other) or player == other:
        return None
    board = _shared_board(request.view, player, other, request.query.get("on", on))
    if board is None:
        return None
    comparison = compared(request.view.ledger, board.stored, player, other)
    one, two = (request.view.standing(board, each) for each in (player, other))
    return Pair(board, (one, two), comparison) if comparison and one and two else None


def compare(request: PageRequest, player: str, other: str, on: str = "") -> Content:
    """Render the comparison of two players, if any. `on` is as for `pair`."""
    found = pair(request, player, other, on)
    if found is None:
        return None
    histories = [request.view.history(found.board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in found.people]
    return request.board_page(
        "compare.html",
        found.board,
        people=found.people,
        comparison=found.comparison,
        graph=charts.comparison(
            [[(race.ended_at, race.after) for race in history] for history in histories],
            f"Ratings of {names[0]} and {names[1]}",
        ),
        graph_data=graph_data(request.path, list(zip(names, histories, strict=True))),
        shown=MEETINGS,
    )


def compare_by_query(request: PageRequest) -> Content:
    """Render the comparison at an address of an earlier version. In an export, a script redirects it."""
    if not request.served:
        return request.page("compare_files.html", boards=request.view.boards)
    return compare(request, request.query.get("a", ""), request.query.get("b", ""))


def _shared_board(view: LedgerView, player: str, other: str, stem: str) -> Board | None:
    theirs = {board.key for board, _ in view.standings(other)}
    shared = [board for board, _ in view.standings(player) if board.key in theirs]
    return next((board for board in shared if board.address.stem == stem), shared[0] if shared else None)
