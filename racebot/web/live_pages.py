"""The live page and its data. Only a server has them, since their content changes by the second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from racebot.ledger.history import RaceRow
from racebot.web import addresses, api
from racebot.web.addresses import Route
from racebot.web.asked import Asked
from racebot.web.document import JSON, Content, Document
from racebot.web.overlays import OVERLAYS
from racebot.web.view import Board, View

LATEST = 3
"""Most results below the rooms of the live page."""


def _live(asked: Asked) -> Content:
    return _rendered(asked, "live.html")


def _live_part(asked: Asked) -> Content:
    # Links are followed from the live page.
    return _rendered(replace(asked, path=addresses.LIVE.path()), "live_rooms.html")


def _live_data(asked: Asked) -> Content:
    return Document(orjson.dumps(api.live_rooms(asked.view)), JSON) if asked.served else None


def _rendered(asked: Asked, template: str) -> Content:
    if not asked.served:
        return None
    view = asked.view
    live = view.live_rooms()
    slugs = {room.category for room in live.rooms} | {board.category for board in view.boards}
    names = {slug: view.category_face(slug).name for slug in sorted(slugs) if slug}
    return asked.page(template, live=live, latest=_latest(view), categories=names)


def _latest(view: View) -> list[tuple[Board, RaceRow]]:
    """Return the last rated races, the newest first. A race on several leaderboards is returned once."""
    last = {
        race.race: (board, race)
        for board in view.boards
        for race in view.ledger.pages.races(board.key, LATEST)
    }
    return sorted(last.values(), key=lambda found: found[1].ended_at, reverse=True)[:LATEST]


LIVE: Mapping[Route, Callable[..., Content]] = {
    addresses.LIVE: _live,
    addresses.LIVE_PART: _live_part,
    addresses.LIVE_DATA: _live_data,
    **OVERLAYS,
}
"""Every address whose content is read from the live file, with its function."""
STREAMED = frozenset(
    {
        addresses.LIVE_PART,
        addresses.LIVE_DATA,
        addresses.OVERLAY_ROOM_PART,
        addresses.OVERLAY_PLAYER_PART,
        addresses.OVERLAY_PLAYER_ROOM_PART,
    }
)
"""Addresses that can be followed as server-sent events."""
