"""The live page and its data. Only a server has them, since their content changes by the second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from racebot.ledger.history import RaceRow
from racebot.web.api import endpoints
from racebot.web.html.overlays import OVERLAYS
from racebot.web.site import addresses
from racebot.web.site.addresses import Route
from racebot.web.site.document import JSON, Content, Document
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import PageRequest

LATEST = 3
"""Most results below the rooms of the live page."""


def _live(request: PageRequest) -> Content:
    return _rendered(request, "live.html")


def _live_part(request: PageRequest) -> Content:
    # Links are followed from the live page.
    return _rendered(replace(request, path=addresses.LIVE.path()), "live_rooms.html")


def _live_data(request: PageRequest) -> Content:
    return Document(orjson.dumps(endpoints.live_rooms(request.view)), JSON) if request.served else None


def _rendered(request: PageRequest, template: str) -> Content:
    if not request.served:
        return None
    view = request.view
    live = view.live_rooms()
    slugs = {room.category for room in live.rooms} | {board.category for board in view.boards}
    names = {slug: view.category_face(slug).name for slug in sorted(slugs) if slug}
    return request.page(template, live=live, latest=_latest(view), categories=names)


def _latest(view: LedgerView) -> list[tuple[Board, RaceRow]]:
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
