"""The live page and the overlays. Only a server has them, since their content changes by the second."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from racebot.ledger.live import LiveBoard, LiveEntrant, LiveRoom
from racebot.races.result import EntrantStatus, result_label
from racebot.standings.queries import PlayerStanding
from racebot.text.format import to_json
from racebot.web import addresses, templating
from racebot.web.addresses import OVERLAY_OPTIONS, Route
from racebot.web.asked import Asked
from racebot.web.document import CSS, JSON, Content, Document
from racebot.web.live import NOTHING, LiveRooms
from racebot.web.query import BadQueryError, whole_number

ROWS = 12
"""Rows of a room's overlay, unless its address says otherwise."""
MOST_ROWS = 60
LEAST_SIZE, MOST_SIZE = 25, 400
"""Size of an overlay's text, in percent."""
RECENT = timedelta(hours=3)
"""Age at which a player's overlay stops showing the change of their last race."""

COLORS = {
    "text": "ffffff",
    "background": "00000000",
    "accent": "9db4ff",
    "gain": "6fe3a1",
    "loss": "ff9d92",
}
"""Colors of an overlay, by query parameter, with their defaults: red, green, blue and, if given, opacity."""
_COLOR = re.compile(r"[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}")


@dataclass(frozen=True, slots=True)
class OverlayRow:
    """A row of a room's overlay: the odds before the race, or what the race did."""

    standing: str
    name: str
    points: int
    chance: float | None
    change: int | None


def _live(asked: Asked) -> Content:
    rooms = _rooms(asked)
    if rooms is None:
        return None
    return asked.page("live.html", live=rooms)


def _live_part(asked: Asked) -> Content:
    rooms = _rooms(asked)
    if rooms is None:
        return None
    # Links are followed from the live page.
    return replace(asked, path=addresses.LIVE.path()).page("live_rooms.html", live=rooms)


def _live_data(asked: Asked) -> Content:
    rooms = _rooms(asked)
    return None if rooms is None else Document(to_json(rooms).encode(errors="replace"), JSON)


def _overlay_room(asked: Asked, race: str) -> Content:
    return _overlay(asked, addresses.OVERLAY_ROOM_PART.path(race=race), _room_part(asked, race))


def _overlay_room_part(asked: Asked, race: str) -> Content:
    body = _room_part(asked, race)
    return None if body is None else Document(body)


def _overlay_player(asked: Asked, player: str) -> Content:
    return _overlay(asked, addresses.OVERLAY_PLAYER_PART.path(player=player), _player_part(asked, player))


def _overlay_player_part(asked: Asked, player: str) -> Content:
    body = _player_part(asked, player)
    return None if body is None else Document(body)


def _overlay_style(asked: Asked) -> Content:
    """Return the style sheet with the reader's colors. The content security policy forbids inline ones."""
    chosen = {name: color(asked.query, name) for name in COLORS}
    size = whole_number(asked.query, "size", 100, least=LEAST_SIZE, most=MOST_SIZE)
    rules = "".join(f"--{name}:#{value};" for name, value in chosen.items())
    style = f":root{{{rules}--size:{size / 100}}}\n".encode()
    return Document(style + templating.asset(templating.OVERLAY_STYLE), CSS)


def _overlay(asked: Asked, part: str, body: bytes | None) -> Content:
    if body is None:
        return None
    given = {name: value for name, value in asked.query.items() if name in OVERLAY_OPTIONS}
    query = f"?{urlencode(given)}" if given else ""
    style = _overlay_style(asked)  # shows a problem with the options on the page itself
    assert isinstance(style, Document)  # noqa: S101
    page = templating.render("overlay.html", asked.path, part=part, query=query, body=body.decode())
    return Document(page)


def _room_part(asked: Asked, race: str) -> bytes | None:
    rooms = _rooms(asked)
    if rooms is None:
        return None
    limit = whole_number(asked.query, "rows", ROWS, most=MOST_ROWS)
    wanted = asked.query.get("board")
    room = next((room for room in rooms.rooms if room.race == race), None)
    if room is not None:
        rows, heading = _live_rows(room, wanted), "provisional" if room.finished else "odds"
    else:
        rows, heading = _settled_rows(asked, race, wanted), "final"
    return templating.render(
        "overlay_room.html", asked.path, rows=rows[:limit], more=len(rows[limit:]), heading=heading
    )


def _live_rows(room: LiveRoom, wanted: str | None) -> list[OverlayRow]:
    board = _chosen(room.leaderboards, wanted)
    if board is None:
        return []
    return [
        OverlayRow(
            standing=result_label(entrant.status, entrant.place)
            if entrant.place or entrant.status is not EntrantStatus.RACING
            else "",
            name=entrant.name,
            points=entrant.points if entrant.after is None else entrant.after,
            chance=None if room.finished else entrant.win_chance,
            change=entrant.change,
        )
        for entrant in board.entrants
    ]


def _chosen(boards: Sequence[LiveBoard], wanted: str | None) -> LiveBoard | None:
    return next((board for board in boards if wanted in {None, board.board}), None)


def _settled_rows(asked: Asked, race: str, wanted: str | None) -> list[OverlayRow]:
    report = asked.view.race(race)
    if report is None:
        return []
    boards = zip(asked.view.boards_of(report), report.leaderboards, strict=True)
    chosen = next((part for board, part in boards if wanted in {None, board.address.stem}), None)
    return [
        OverlayRow(entrant.standing, entrant.name, entrant.after, None, entrant.change)
        for entrant in (chosen.entrants if chosen else ())
    ]


def _player_part(asked: Asked, player: str) -> bytes | None:
    rooms = _rooms(asked)
    if rooms is None:
        return None
    wanted = asked.query.get("board")
    standings = [
        (board, standing)
        for board, standing in asked.view.standings(player)
        if wanted in {None, board.address.stem}
    ]
    board, standing = standings[0] if standings else (None, None)
    live = _live_entrant(rooms, player, wanted if board is None else board.address.stem)
    change = live.change if live else None
    if board is not None and live is None:
        change = _last_change(asked, standing, board.address.stem)
    return templating.render("overlay_player.html", asked.path, standing=standing, live=live, change=change)


def _live_entrant(rooms: LiveRooms, player: str, wanted: str | None) -> LiveEntrant | None:
    found = (
        entrant
        for room in rooms.rooms
        for board in room.leaderboards
        if wanted in {None, board.board}
        for entrant in board.entrants
        if entrant.id == player
    )
    return next(found, None)


def _last_change(asked: Asked, standing: PlayerStanding | None, stem: str) -> int | None:
    board = asked.view.board(stem)
    if standing is None or board is None or datetime.now(UTC) - standing.last_race_at > RECENT:
        return None
    return asked.view.history(board, standing.id)[-1].change


def _rooms(asked: Asked) -> LiveRooms | None:
    """Return the live rooms, or None in an export, which cannot have them."""
    if not asked.served:
        return None
    return NOTHING if asked.view.live is None else asked.view.live.rooms()


def color(query: Mapping[str, str], name: str) -> str:
    """Return an overlay's color from the query, or its default.

    Raises:
        BadQueryError: it is not a color.
    """
    value = query.get(name, COLORS[name]).removeprefix("#")
    if not _COLOR.fullmatch(value):
        raise BadQueryError(f"{name}: must be a color of 3, 4, 6 or 8 digits, such as ffcc00 or 00000080")
    return value


LIVE: Mapping[Route, Callable[..., Content]] = {
    addresses.LIVE: _live,
    addresses.LIVE_PART: _live_part,
    addresses.LIVE_DATA: _live_data,
    addresses.OVERLAY_STYLE: _overlay_style,
    addresses.OVERLAY_ROOM: _overlay_room,
    addresses.OVERLAY_ROOM_PART: _overlay_room_part,
    addresses.OVERLAY_PLAYER: _overlay_player,
    addresses.OVERLAY_PLAYER_PART: _overlay_player_part,
}
"""Every address whose content is read from the live file, with its function."""
STREAMED = frozenset(
    {
        addresses.LIVE_PART,
        addresses.LIVE_DATA,
        addresses.OVERLAY_ROOM_PART,
        addresses.OVERLAY_PLAYER_PART,
    }
)
"""Addresses that can be followed as server-sent events."""
