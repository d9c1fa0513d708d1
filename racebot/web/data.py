"""Map the addresses of the data API to their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

from racebot.web import addresses, api, sheets
from racebot.web.addresses import Route
from racebot.web.asked import Asked
from racebot.web.document import CSV, JSON, Content, Document, Streamed
from racebot.web.openapi import api_index, description
from racebot.web.view import Board


def _api(asked: Asked) -> Content:
    return asked.page("api.html", index=api_index(served=asked.served))


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
    return _json(asked, api.player_on_board(asked.view, board, player))


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
    return Streamed(lambda: sheets.changes_sheet(asked.view, board), CSV)


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
