"""Map the addresses of the data API to their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlencode

import orjson

from racebot.web import addresses, api, sheets
from racebot.web.addresses import Route
from racebot.web.asked import Asked
from racebot.web.document import CSV, JSON, Content, Document, Streamed
from racebot.web.openapi import ApiAddress, api_index, description
from racebot.web.view import Board, View

_REQUIRED = {"a", "b", "name", "players"}
"""Query parameters without which an address has no answer."""


def _api(asked: Asked) -> Content:
    examples = _examples(asked.view) if asked.served else {}
    return asked.page(
        "api.html", index=api_index(served=asked.served), example=partial(_with_examples, examples)
    )


def _examples(view: View) -> dict[str, str]:
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


def _api_data(asked: Asked) -> Content:
    return _json(asked, api_index(served=asked.served))


def _openapi(asked: Asked) -> Content:
    return _json(asked, description(asked.view.publication.url, served=asked.served))


def _leaderboards(asked: Asked) -> Content:
    return _json(asked, api.all_leaderboards(asked.view))


def _leaderboard(asked: Asked, board: Board) -> Content:
    return _json(asked, api.leaderboard(asked.view, board, asked.query, served=asked.served))


def _races(asked: Asked, board: Board) -> Content:
    return _json(asked, api.races_of(asked.view, board, asked.query, served=asked.served))


def _changes(asked: Asked, board: Board) -> Content:
    return _json(asked, api.changes(asked.view, board, asked.query)) if asked.served else None


def _player_on_board(asked: Asked, board: Board, player: str) -> Content:
    return _json(asked, api.player_on_board(asked.view, board, player, asked.query))


def _player(asked: Asked, player: str) -> Content:
    return _json(asked, api.player_on_boards(asked.view, player))


def _odds(asked: Asked, board: Board) -> Content:
    return _json(asked, api.odds_of(asked.view, board, asked.query)) if asked.served else None


def _head_to_head(asked: Asked, board: Board) -> Content:
    return _json(asked, api.head_to_head(asked.view, board, asked.query)) if asked.served else None


def _find_players(asked: Asked) -> Content:
    return _json(asked, api.find_players(asked.view, asked.query)) if asked.served else None


def _race(asked: Asked, race: str) -> Content:
    return _json(asked, api.rated_race(asked.view, race))


def _sheet(asked: Asked, board: Board) -> Content:
    return Document(b"".join(sheets.leaderboard_sheet(asked.view, board)), CSV)


def _changes_sheet(asked: Asked, board: Board) -> Content:
    tag = sheets.changes_tag(asked.view, board)
    return Streamed(lambda: sheets.changes_sheet(asked.view, board), CSV, tag)


def _json(asked: Asked, value: object) -> Document | None:
    """Format an answer. The ledger masks the names of hidden players, but queries need their ids."""
    if value is None:
        return None
    body = orjson.dumps(value)
    if asked.view.hidden:
        ids = b"|".join(re.escape(orjson.dumps(player)) for player in asked.view.hidden)
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
"""Every data address with its function, called with an `Asked` and the fields. The first match wins."""
