"""Map the addresses of the data API to their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlencode

import orjson

from racebot.web.api import csv_files, endpoints
from racebot.web.api.openapi import ApiAddress, api_index, description
from racebot.web.site import addresses
from racebot.web.site.addresses import Route
from racebot.web.site.document import CSV, JSON, Content, Document, Streamed
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import PageRequest

_REQUIRED = {"a", "b", "name", "players"}
"""Query parameters without which an address has no answer."""


def _api(request: PageRequest) -> Content:
    examples = _examples(request.view) if request.served else {}
    return request.page(
        "api.html", index=api_index(served=request.served), example=partial(_with_examples, examples)
    )


def _examples(view: LedgerView) -> dict[str, str]:
    """Return values for the fields and the required query parameters of addresses; none without races."""
    board = max(view.boards, key=lambda board: view.totals(board).races, default=None)
    races = view.ledger.pages.races(board.key, 1) if board else []
    players = [each for each in view.report(board).players if each.id not in view.hidden] if board else []
    if board is None or not races or len(players) < 2:
        return {}
    category, _, name = board.address.stem.partition("/")
    one, other = players[:2]
    return {
        "category": category,
        "board": name,
        "race": addresses.segment(races[0].race.rpartition("/")[2]),
        "player": addresses.segment(one.id),
        "other": addresses.segment(other.id),
        "players": f"{one.id},{other.id}",
        "a": one.id,
        "b": other.id,
        "name": one.name[:3],
    }


def _with_examples(examples: Mapping[str, str], each: ApiAddress) -> str | None:
    """Return an address of the API that a reader can open, None if there are no examples for it."""
    try:
        query = {name: examples[name] for name in each.query if name in _REQUIRED}
        return each.address.format_map(examples) + (f"?{urlencode(query, safe=',')}" if query else "")
    except KeyError:
        return None


def _api_data(request: PageRequest) -> Content:
    return _json(request, api_index(served=request.served))


def _openapi(request: PageRequest) -> Content:
    return _json(request, description(request.view.publication.url, served=request.served))


def _leaderboards(request: PageRequest) -> Content:
    return _json(request, endpoints.all_leaderboards(request.view))


def _leaderboard(request: PageRequest, board: Board) -> Content:
    return _json(request, endpoints.leaderboard(request.view, board, request.query, served=request.served))


def _races(request: PageRequest, board: Board) -> Content:
    return _json(request, endpoints.races_of(request.view, board, request.query, served=request.served))


def _changes(request: PageRequest, board: Board) -> Content:
    return _json(request, endpoints.changes(request.view, board, request.query)) if request.served else None


def _player_on_board(request: PageRequest, board: Board, player: str) -> Content:
    return _json(request, endpoints.player_on_board(request.view, board, player, request.query))


def _player(request: PageRequest, player: str) -> Content:
    return _json(request, endpoints.player_on_boards(request.view, player))


def _odds(request: PageRequest, board: Board) -> Content:
    return _json(request, endpoints.odds_of(request.view, board, request.query)) if request.served else None


def _head_to_head(request: PageRequest, board: Board) -> Content:
    return (
        _json(request, endpoints.head_to_head(request.view, board, request.query)) if request.served else None
    )


def _find_players(request: PageRequest) -> Content:
    return _json(request, endpoints.find_players(request.view, request.query)) if request.served else None


def _race(request: PageRequest, race: str) -> Content:
    return _json(request, endpoints.rated_race(request.view, race))


def _sheet(request: PageRequest, board: Board) -> Content:
    return Document(b"".join(csv_files.leaderboard_sheet(request.view, board)), CSV)


def _changes_sheet(request: PageRequest, board: Board) -> Content:
    tag = csv_files.changes_tag(request.view, board)
    return Streamed(lambda: csv_files.changes_sheet(request.view, board), CSV, tag)


def _json(request: PageRequest, value: object) -> Document | None:
    """Format an answer. The ledger masks the names of hidden players, but queries need their ids."""
    if value is None:
        return None
    body = orjson.dumps(value)
    if request.view.hidden:
        ids = b"|".join(re.escape(orjson.dumps(player)) for player in request.view.hidden)
        body = re.sub(rb'("(?:id|player)":)(?:' + ids + b")", rb"\1null", body)
    return Document(body, JSON)


DATA: Mapping[Route, Callable[..., Content]] = {
    addresses.API: _api,
    addresses.API_DATA: _api_data,
    addresses.OPENAPI: _openapi,
    addresses.ALL_DATA: _leaderboards,
    addresses.FIND_PLAYERS: _find_players,
    addresses.RACE_DATA: _race,
    addresses.PLAYER_DATA: _player,
    addresses.PLAYER_ON_BOARD_DATA: _player_on_board,
    addresses.RACES_DATA: _races,
    addresses.CHANGES_DATA: _changes,
    addresses.ODDS_DATA: _odds,
    addresses.HEAD_TO_HEAD_DATA: _head_to_head,
    addresses.CHANGES_SHEET: _changes_sheet,
    addresses.SHEET: _sheet,
    addresses.DATA: _leaderboard,
}
"""Every data address with its function, called with an `PageRequest` and the fields. The first match wins."""
