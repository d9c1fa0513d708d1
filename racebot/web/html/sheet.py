"""Render a commentator's sheet: up to eight players against each other, with a picker."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any
from urllib.parse import urlencode

from racebot.queries.history import PlayedRace, fastest, last_results
from racebot.queries.odds import odds
from racebot.queries.player import PlayerStanding
from racebot.text.parse import fold_name
from racebot.web.html import templating
from racebot.web.site.ledger_view import Board, Content, PageRequest

MOST = 8
FORM = 10  # last results of each player
FOUND = 8  # most players to offer for a name


def sheet(request: PageRequest) -> Content:
    """Render the sheet of the players that the address names, and offer more. Bad ids are left out."""
    view, query = request.view, request.query
    ids = list(dict.fromkeys(filter(None, query.get("players", "").split(","))))[:MOST]
    ids = [view.merged.get(each, each) for each in ids]
    board = _board(request, ids)
    if board is None:
        return None
    standings = [found for each in ids if (found := view.standing(board, each)) is not None]
    chosen = [each.id for each in standings]
    text = query.get("add", "").strip()[:100]
    named = [view.rated_players[text]] if text in view.rated_players else view.players_meant(text)
    offered = [each for each in named if each.id not in chosen and view.standing(board, each.id)][:FOUND]
    exact = [e for e in offered if text == e.id or fold_name(e.name) == fold_name(text)] or offered
    if len(exact) == 1 and len(chosen) < MOST:
        standings.append(view.standing(board, exact[0].id))  # type: ignore[arg-type]
        chosen, offered, text = [*chosen, exact[0].id], [], ""

    def address(players: Sequence[str]) -> str:
        return f"?{urlencode({'players': ','.join(players), 'on': board.address.stem})}"

    return templating.board_page(
        request,
        "sheet.html",
        board,
        rows=_rows(request, board, standings),
        chosen=chosen,
        names={each.id: each.name for each in standings},
        without={each: address([other for other in chosen if other != each]) for each in chosen},
        offered=[(each, address([*chosen, each.id])) for each in offered] if len(chosen) < MOST else [],
        boards=view.boards,
        text=text,
        added="add" in query,
        best=None if chosen else address([each.id for each in view.report(board).players[:MOST]]),
        full=len(chosen) == MOST,
    )


def _board(request: PageRequest, ids: Sequence[str]) -> Board | None:
    view = request.view
    if (board := view.board(request.query.get("on", ""))) is not None:
        return board
    raced = next((found[0][0] for each in ids if (found := view.standings(each))), None)
    return raced or next(iter(sorted(view.boards, key=lambda each: -view.totals(each).races)), None)


def _rows(request: PageRequest, board: Board, standings: Sequence[PlayerStanding]) -> list[dict[str, Any]]:
    """Return what the sheet shows of each player: `versus` has the record against each other one, by id."""
    view = request.view
    if len(standings) < 2:
        return []
    ids = [each.id for each in standings]
    form = last_results(view.ledger, board.key, ids, FORM)
    histories = {each: view.history(board, each) for each in ids}
    rows = [
        {
            "standing": standing,
            "odds": chance,
            "best": fastest(histories[standing.id]),
            "form": form.get(standing.id, ()),
            "versus": {each: _versus(histories[standing.id], histories[each]) for each in ids},
        }
        for standing, chance in zip(standings, odds(view.ledger, board.stored, ids), strict=True)
    ]
    return sorted(rows, key=lambda row: -row["odds"].forecast.win_chance)


def _versus(mine: Sequence[PlayedRace], theirs: Sequence[PlayedRace]) -> tuple[int, int, float | None]:
    """Return the races ahead and behind, and the median margin in seconds, below zero if ahead."""
    others, last = {race.sequence: race for race in theirs}, float("inf")
    met = [(race, others[race.sequence]) for race in mine if race.sequence in others]
    margins = [
        one.finish_time - other.finish_time
        for one, other in met
        if one.finish_time is not None and other.finish_time is not None
    ]
    ahead = sum((one.place or last) < (other.place or last) for one, other in met)
    behind = sum((one.place or last) > (other.place or last) for one, other in met)
    return ahead, behind, median(margins) if margins else None
