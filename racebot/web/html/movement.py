"""Render how places of a leaderboard changed over time, and the recap of a season that ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from racebot.addresses import BadQueryError, day_in
from racebot.ledger.rows import Standing
from racebot.queries.leaderboard import LeaderboardReport, ListedPlayer
from racebot.queries.recap import places_over_time
from racebot.text.parse import fold_name
from racebot.web.html import charts, templating
from racebot.web.site.formats import plain_name
from racebot.web.site.ledger_view import Board, Content, LedgerView, PageRequest

SHOWN = 10  # most players of a chart
MOMENTS = 13
WEEKS = timedelta(weeks=12)  # the time that the chart shows unless its address says otherwise


def climber(report: LeaderboardReport) -> ListedPlayer | None:
    """Return the listed player who climbed most places in the last week; None if nobody climbed."""
    players = report.players

    def gained(row: Standing) -> tuple[int, int]:
        return players.places_won(row) or 0, players.points_won(row)

    best = max(players.rows, key=gained, default=None)
    return players.chosen([best])[0] if best is not None and gained(best)[0] > 0 else None


def places_chart(
    view: LedgerView, board: Board, players: Sequence[ListedPlayer], start: datetime, end: datetime
) -> charts.Bump:
    """Draw the places of some listed players between two times."""
    listed = view.report(board).players
    moments = [start + (end - start) * number / (MOMENTS - 1) for number in range(MOMENTS)]
    places = places_over_time(view.ledger, board.stored, listed, [each.id for each in players], moments)
    lines = [(plain_name(each.name, 14), places[each.id]) for each in players if any(places[each.id])]
    return charts.Bump(moments, lines)


def movement(request: PageRequest, board: Board) -> Content:
    """Render the places of the best players, or of those whom the address names, over a range of dates."""
    view = request.view
    report = view.report(board)
    last = report.last_race_at
    asked = {fold_name(name.strip()): name.strip() for name in request.query.get("players", "").split(",")}
    asked.pop("", None)
    players, listed = list(report.players[:SHOWN]), set[str]()
    if asked:
        names = report.players.names()
        rows = [row for row in report.players.rows if fold_name(names[row.player]) in asked]
        listed = {fold_name(names[row.player]) for row in rows}
        players = list(report.players.chosen(rows[:SHOWN])) or players
    chart = None
    if last is not None and players:
        until = day_in(request.query, "to") or last.astimezone(UTC).date()
        end = datetime.combine(until, time.max, UTC)
        since = day_in(request.query, "from")
        start = datetime.combine(since, time(), UTC) if since else end - WEEKS
        if start >= end:
            raise BadQueryError("from: must be an earlier date than to")
        chart = places_chart(view, board, players, start, end)
    return templating.board_page(
        request,
        "movement.html",
        board,
        view.totals(board),
        chart=chart,
        climber=climber(report),
        query=request.query,
        missing=[name for folded, name in asked.items() if folded not in listed],
        newest=last,
    )


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
