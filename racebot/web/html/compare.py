"""Compare two players: their graphs, record, last races together, and the chance next time."""

from __future__ import annotations

from racebot.web.html import templating
from racebot.web.pictures import charts
from racebot.web.site.formats import shown_name
from racebot.web.site.request import Content, PageRequest

MEETINGS = 50
"""Number of races together to show."""


def compare(request: PageRequest, player: str, other: str, on: str = "") -> Content:
    """Render the comparison of two players on a leaderboard, if any. `on` is as for `LedgerView.pair`."""
    found = request.view.pair(player, other, request.query.get("on", on)) if request.served else None
    if found is None:
        return None
    histories = [request.view.history(found.board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in found.people]
    return templating.board_page(
        request,
        "compare.html",
        found.board,
        people=found.people,
        comparison=found.comparison,
        graph=charts.comparison(
            [[(race.ended_at, race.after) for race in history] for history in histories],
            f"Ratings of {names[0]} and {names[1]}",
        ),
        graph_data=charts.graph_data(request.path, list(zip(names, histories, strict=True))),
        shown=MEETINGS,
    )


def compare_by_query(request: PageRequest) -> Content:
    """Render the comparison at an address of an earlier version. In an export, a script redirects it."""
    if not request.served:
        return templating.page(request, "compare_files.html", boards=request.view.boards)
    return compare(request, request.query.get("a", ""), request.query.get("b", ""))
