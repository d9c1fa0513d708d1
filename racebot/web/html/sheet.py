"""Render a commentator's sheet: up to eight players against each other, with a picker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from urllib.parse import urlencode

from racebot.queries.history import PlayedRace, ShortResult, fastest, last_results
from racebot.queries.odds import PlayerOdds, odds
from racebot.queries.player import PlayerStanding
from racebot.text.parse import fold_name
from racebot.web.html import templating
from racebot.web.site.ledger_view import Board, Content, PageRequest

MOST = 8
FORM = 10  # last results of each player
FOUND = 8  # most players to offer for a name


@dataclass(frozen=True, slots=True)
class Versus:
    """A record against another player, and the median margin in seconds, below zero if ahead."""

    ahead: int
    behind: int
    margin: float | None


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A player on the sheet. `versus` has the record against each other player, by id."""

    standing: PlayerStanding
    odds: PlayerOdds
    best: PlayedRace | None
    form: Sequence[ShortResult]
    versus: Mapping[str, Versus]


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


def _rows(request: PageRequest, board: Board, standings: Sequence[PlayerStanding]) -> list[SheetRow]:
    view = request.view
    if len(standings) < 2:
        return []
    ids = [each.id for each in standings]
    forecast = odds(view.ledger, board.stored, ids)
    form = last_results(view.ledger, board.key, ids, FORM)
    histories = {each: view.history(board, each) for each in ids}
    races = {player: {race.sequence: race for race in history} for player, history in histories.items()}
    rows = []
    for standing, chance in zip(standings, forecast, strict=True):
        own = histories[standing.id]
        versus = {each: _versus(races[standing.id], races[each]) for each in ids if each != standing.id}
        rows.append(SheetRow(standing, chance, fastest(own), form.get(standing.id, ()), versus))
    return sorted(rows, key=lambda row: -row.odds.forecast.win_chance)


def _versus(mine: Mapping[int, PlayedRace], theirs: Mapping[int, PlayedRace]) -> Versus:
    met = [(mine[number], theirs[number]) for number in mine.keys() & theirs.keys()]
    last = float("inf")
    margins = [
        one.finish_time - other.finish_time
        for one, other in met
        if one.finish_time is not None and other.finish_time is not None
    ]
    return Versus(
        ahead=sum((one.place or last) < (other.place or last) for one, other in met),
        behind=sum((one.place or last) > (other.place or last) for one, other in met),
        margin=median(margins) if margins else None,
    )
