"""The live page, and overlays for streams. Only a server has them: their content changes by the second."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode

from racebot.queries.live import LiveBoard, LiveEntrant, LiveRoom
from racebot.queries.player import PlayedRace
from racebot.queries.race import RatedEntrant
from racebot.queries.races import RaceRow, latest_races
from racebot.races.result import EntrantStatus, result_label
from racebot.web.html import templating
from racebot.web.html.race import TABLE, followed_race
from racebot.web.site import addresses
from racebot.web.site.addresses import OVERLAY_OPTIONS, BadQueryError, Route, whole_number
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import CSS, Content, Document, PageRequest

LATEST = 3
"""Most results below the rooms of the live page."""
ROWS = 12
"""Rows of a room's overlay, unless its address says otherwise."""
MOST_ROWS = 60
LEAST_SIZE, MOST_SIZE = 25, 400
"""Size of an overlay's text, in percent."""
JUST_ENDED = timedelta(minutes=15)
"""Age of a result up to which an overlay shows it rather than an open room or an older race."""
RECENT = timedelta(hours=3)
"""Age at which an overlay that follows a category or a player stops showing their last result."""
LAST_RACES = 5
"""Rated races among which an overlay looks for the last one: moderators record races in any order."""

COLORS = {
    "text": "ffffff",
    "outline": "000000cc",
    "background": "00000000",
    "accent": "9db4ff",
    "gain": "6fe3a1",
    "loss": "ff9d92",
}
"""Colors of an overlay, by query parameter, with their defaults: red, green, blue and, if given, opacity."""
_COLOR = re.compile(r"[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}")

T = TypeVar("T")


def _live(request: PageRequest) -> Content:
    return _rendered(request, "live.html")


def _live_part(request: PageRequest) -> Content:
    # Links are followed from the live page.
    return _rendered(replace(request, path=addresses.LIVE.path()), "live_rooms.html")


def _rendered(request: PageRequest, template: str) -> Content:
    view = request.view
    live = view.live_rooms()
    slugs = {room.category for room in live.rooms} | {board.category for board in view.boards}
    names = {slug: view.category_face(slug).name for slug in sorted(slugs) if slug}
    return templating.page(request, template, live=live, latest=_latest(view), categories=names, **TABLE)


def _latest(view: LedgerView) -> list[tuple[Board, RaceRow]]:
    """Return the last rated races, the newest first. A race on several leaderboards is returned once."""
    last = {
        race.race: (board, race)
        for board in view.boards
        for race in latest_races(view.ledger, board.key, LATEST)
    }
    return sorted(last.values(), key=lambda found: found[1].ended_at, reverse=True)[:LATEST]


@dataclass(frozen=True, slots=True)
class OverlayRow:
    """A row of a room's overlay: the odds before the race, or what the race did.

    A deleted account has no points.
    """

    standing: str
    name: str
    points: int | None
    chance: float | None
    change: int | None


@dataclass(frozen=True, slots=True)
class _LastRace:
    """One of a player's last rated races, with the id of its leaderboard."""

    board: str
    played: PlayedRace


def _room(request: PageRequest, race: str) -> bytes:
    return _race_rows(request, race if "/" in race else _current_in(request, race))


def _player_room(request: PageRequest, player: str) -> bytes:
    current = _current_of(request, player)
    race = current.race if isinstance(current, LiveRoom) else current.played.race if current else None
    return _race_rows(request, race)


def _player(request: PageRequest, player: str) -> bytes:
    wanted = request.query.get("board")
    standings = {
        board.address.stem: standing
        for board, standing in request.view.standings(player)
        if wanted in {None, board.address.stem}
    }
    current = _current_of(request, player)
    stem, live, change = next(iter(standings), None), None, None
    if isinstance(current, LiveRoom):
        stem, live = _entry(current, player, wanted) or (None, None)
        change = live and live.change
    elif current is not None:
        stem, change = current.board, current.played.change
    standing = None if stem is None else standings.get(stem)
    return templating.render("overlay_player.html", request.path, standing=standing, live=live, change=change)


def _style(request: PageRequest) -> Content:
    """Return the style sheet with the reader's colors. The content security policy forbids inline ones."""
    chosen = {name: color(request.query, name) for name in COLORS}
    size = whole_number(request.query, "size", 100, least=LEAST_SIZE, most=MOST_SIZE)
    rules = "".join(f"--{name}:#{value};" for name, value in chosen.items())
    style = f":root{{{rules}--size:{size / 100}}}\n".encode()
    return Document(style + templating.asset(templating.OVERLAY_STYLE), CSS)


def _page(part: Callable[..., bytes], part_route: Route) -> Callable[..., Content]:
    """Return the function of a page that shows a part and follows it."""

    def content(request: PageRequest, **fields: str) -> Content:
        given = {name: value for name, value in request.query.items() if name in OVERLAY_OPTIONS}
        query = f"?{urlencode(given)}" if given else ""
        _style(request)  # shows a problem with the options on the page itself
        body = part(request, **fields).decode()
        events = part_route.path(**fields)
        return Document(templating.render("overlay.html", request.path, part=events, query=query, body=body))

    return content


def _part(part: Callable[..., bytes]) -> Callable[..., Content]:
    return lambda request, **fields: Document(part(request, **fields))


def _race_rows(request: PageRequest, race: str | None) -> bytes:
    """Render what is known about a race: its odds, the changes to come, or the final changes."""
    limit = whole_number(request.query, "rows", ROWS, most=MOST_ROWS)
    wanted = request.query.get("board")
    room = None if race is None else request.view.live_room(race)
    if room is not None:
        rows = _live_rows(room, wanted)
        heading = "provisional" if room.finished else "odds" if room.before_start else "racing"
        if all(row.chance is None and row.change is None for row in rows):
            heading = "final"  # a team race, or a single entrant
    else:
        rows, heading = [] if race is None else _settled_rows(request, race, wanted), "final"
    return templating.render(
        "overlay_room.html", request.path, rows=rows[:limit], more=len(rows[limit:]), heading=heading
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


def _settled_rows(request: PageRequest, race: str, wanted: str | None) -> list[OverlayRow]:
    report = request.view.race(race)
    if report is None:
        return []
    boards = zip(request.view.boards_of(report), report.leaderboards, strict=True)
    chosen = next((part for board, part in boards if wanted in {None, board.address.stem}), None)
    return [
        OverlayRow(each.standing, each.name, each.after, None, each.change)
        if isinstance(each, RatedEntrant)
        else OverlayRow(each.standing, each.name, None, None, None)
        for each in (chosen.placed if chosen else ())
    ]


def _current_in(request: PageRequest, category: str) -> str | None:
    """Return the current race of a category, None without one."""
    wanted, now = request.query.get("board"), datetime.now(UTC)
    found = [
        (*_rank(room, now), room.race)
        for room in request.view.live_rooms().rooms
        if room.category == category and _chosen(room.leaderboards, wanted)
    ]
    for board in request.view.boards:
        if board.category == category and wanted in {None, board.address.stem}:
            last = latest_races(request.view.ledger, board.key, LAST_RACES)
            found += [(*_rank_of_result(race.ended_at, now), race.race) for race in last]
    return _first(found)


def _current_of(request: PageRequest, player: str) -> LiveRoom | _LastRace | None:
    """Return the listed room that a player is in, or the last race of the player, None without one."""
    wanted, now = request.query.get("board"), datetime.now(UTC)
    found: list[tuple[int, float, LiveRoom | _LastRace]] = [
        (*_rank(room, now), room)
        for room in request.view.live_rooms().rooms
        if _entry(room, player, wanted) is not None
    ]
    for board, _ in request.view.standings(player):
        if wanted in {None, board.address.stem}:
            last = request.view.history(board, player)[-LAST_RACES:]
            found += [
                (*_rank_of_result(race.ended_at, now), _LastRace(board.address.stem, race)) for race in last
            ]
    return _first(found)


def _entry(room: LiveRoom, player: str, wanted: str | None) -> tuple[str | None, LiveEntrant] | None:
    """Return a player's entry in a room, with the id of its leaderboard."""
    return next(
        (
            (board.board, entrant)
            for board in room.leaderboards
            if wanted in {None, board.board}
            for entrant in board.entrants
            if entrant.id == player
        ),
        None,
    )


_NEVER = 3


def _rank(room: LiveRoom, now: datetime) -> tuple[int, float]:
    """Return a room's rank among those that an overlay could show, the lowest first, and its age."""
    if room.ended_at is not None:
        return _rank_of_result(room.ended_at, now)
    is_open = room.status in {"open", "invitational"}
    since = (room.opened_at if is_open else room.started_at) or now
    return 1 if is_open else 0, (now - since).total_seconds()


def _rank_of_result(ended_at: datetime, now: datetime) -> tuple[int, float]:
    age = now - ended_at
    return 0 if age < JUST_ENDED else 2 if age < RECENT else _NEVER, age.total_seconds()


def _first(found: Iterable[tuple[int, float, T]]) -> T | None:
    """Return the race to show: the last that started or just ended, an open one, or one that ended lately."""
    best = min((each for each in found if each[0] != _NEVER), key=lambda each: each[:2], default=None)
    return best[2] if best else None


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
    addresses.RACE_PART: followed_race,
    addresses.OVERLAY_STYLE: _style,
    addresses.OVERLAY_ROOM: _page(_room, addresses.OVERLAY_ROOM_PART),
    addresses.OVERLAY_ROOM_PART: _part(_room),
    addresses.OVERLAY_PLAYER: _page(_player, addresses.OVERLAY_PLAYER_PART),
    addresses.OVERLAY_PLAYER_PART: _part(_player),
    addresses.OVERLAY_PLAYER_ROOM: _page(_player_room, addresses.OVERLAY_PLAYER_ROOM_PART),
    addresses.OVERLAY_PLAYER_ROOM_PART: _part(_player_room),
}
"""Every page whose content is read from the live file, with its function."""
STREAMED = frozenset(
    {
        addresses.LIVE_PART,
        addresses.LIVE_DATA,
        addresses.RACE_PART,
        addresses.OVERLAY_ROOM_PART,
        addresses.OVERLAY_PLAYER_PART,
        addresses.OVERLAY_PLAYER_ROOM_PART,
    }
)
"""Addresses that can be followed as server-sent events."""
