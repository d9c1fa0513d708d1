"""The live page and its data. Only a server has them, since their content changes by the second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from racebot.web import addresses, api
from racebot.web.addresses import Route
from racebot.web.asked import Asked
from racebot.web.document import JSON, Content, Document
from racebot.web.overlays import OVERLAYS


def _live(asked: Asked) -> Content:
    if not asked.served:
        return None
    categories = sorted({board.category for board in asked.view.boards if board.category})
    return asked.page("live.html", live=asked.view.live_rooms(), categories=categories)


def _live_part(asked: Asked) -> Content:
    if not asked.served:
        return None
    # Links are followed from the live page.
    on_page = replace(asked, path=addresses.LIVE.path())
    return on_page.page("live_rooms.html", live=asked.view.live_rooms())


def _live_data(asked: Asked) -> Content:
    if not asked.served:
        return None
    return Document(orjson.dumps(api.live_rooms(asked.view)), JSON)


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
