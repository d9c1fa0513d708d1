"""The live page, overlays for streams, and a studio for them. Only a server has these pages."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar
from urllib.parse import urlencode

from racebot import addresses
from racebot.addresses import OVERLAY_OPTIONS, BadQueryError, Route, link, whole_number
from racebot.live_file import LiveRoom
from racebot.queries.player import PlayedRace
from racebot.queries.races import RaceRow, latest_races
from racebot.web.html import templating
from racebot.web.html.race import followed_race
from racebot.web.site.ledger_view import CSS, Content, Document, PageRequest

LATEST = 3  # most results below the rooms of the live page
MOST_SIZE_WITH_TIMES = 125  # size up to which a room's rows have space for finish times
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
PRESETS: dict[str, dict[str, str]] = {
    "Plain": {},
    "On a plate": {"background": "101418c0", "outline": "00000000"},
    "High contrast": {"background": "000000ff", "accent": "ffe066", "gain": "7dff9b"},
}
"""Colors that the studio offers, by name."""
OVERLAYS = {"room": "Room of a category", "player-room": "Room of a player", "player": "Rating of a player"}
"""The kinds of overlay that move on by themselves, by query parameter, with their names."""
NUMBERS = {
    "size": ("Text size, %", 100, 25, 400),
    "rows": ("Most rows", 12, 1, 60),
    "delay": ("Delay, seconds", 0, 0, 900),
}
"""The options that are numbers, with their label, default, least and most."""
_COLOR = re.compile(r"[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}")

T = TypeVar("T", LiveRoom | PlayedRace, LiveRoom | RaceRow)


def _live(request: PageRequest, template: str = "live.html") -> Content:
    request = replace(request, path=addresses.LIVE.path())  # the part's links are followed from that page
    view = request.view
    live = view.live_rooms()
    slugs = {room.category for room in live.rooms} | {board.category for board in view.boards}
    names = {slug: view.category_face(slug).name for slug in sorted(slugs) if slug}
    return templating.page(request, template, live=live, latest=view.latest_races(LATEST), categories=names)


def _room(request: PageRequest, race: str) -> Document:
    return _race_rows(request, race if "/" in race else _current_in(request, race))


def _player_room(request: PageRequest, player: str) -> Document:
    current = _current_of(request, player)
    return _race_rows(request, current[1].race if current else None)


def _player(request: PageRequest, player: str) -> Document:
    standings = {board.address.stem: standing for board, standing in request.view.standings(player)}
    shown = request.query.get("board") or next(iter(standings), None)
    stem, current = _current_of(request, player) or (shown, None)
    room = current if isinstance(current, LiveRoom) else None
    change = current.change if isinstance(current, PlayedRace) else None
    board = next((each for each in room.leaderboards if each.board == stem), None) if room else None
    live = next(each for each in board.entrants if each.id == player) if board else None
    facts = {"room": room, "board": board, "live": live, "standing": standings.get(stem or "")}
    change = live.change if live else change
    return _overlay("overlay_player.html", request, stem=stem, player=player, change=change, **facts)


def options(query: Mapping[str, str]) -> dict[str, str]:
    """Return the options of an overlay that its address gives, once they are checked."""
    given = {name: value for name, value in query.items() if name in OVERLAY_OPTIONS}
    for name in NUMBERS:
        _number(given, name)
    _rules(given)
    return given


def _number(query: Mapping[str, str], name: str) -> int:
    _, default, least, most = NUMBERS[name]
    return whole_number(query, name, default, least=least, most=most)


def _style(request: PageRequest) -> Content:
    """Return the style sheet with the reader's colors. The content security policy forbids inline ones."""
    return Document(_rules(request.query).encode() + templating.asset(templating.OVERLAY_STYLE), CSS)


def _rules(query: Mapping[str, str]) -> str:
    size = _number(query, "size")
    rules = ""
    for name, default in COLORS.items():
        color = query.get(name, default).removeprefix("#")
        if not _COLOR.fullmatch(color):
            raise BadQueryError(f"{name}: must be a color of 3, 4, 6 or 8 digits, such as ffcc00 or 00000080")
        rules += f"--{name}:#{color};"
    times = "td.time{display:none}\n" if size > MOST_SIZE_WITH_TIMES else ""
    return f":root{{{rules}--size:{size / 100}}}\n{times}"


def _page(part: Callable[..., Document], part_route: Route) -> Callable[..., Content]:
    """Return the function of a page that shows a part and follows it."""

    def content(request: PageRequest, **fields: str) -> Content:
        given = options(request.query)
        delay = _number(given, "delay")
        # A delayed overlay begins empty: what it would show now must not be seen before its time.
        body = b"" if delay else part(request, **fields).body
        kind = "room" if "rows" in part_route.query else "player"
        query = f"?{urlencode(given)}" if given else ""
        facts = {"part": part_route.path(**fields), "query": query, "body": body.decode()}
        return _overlay("overlay.html", request, kind=kind, delay=delay, **facts)

    return content


def _race_rows(request: PageRequest, race: str | None) -> Document:
    """Render what is known about a race: its odds, the changes to come, or the final changes."""
    report = None if race is None else request.view.race(race)
    room = None if race is None or report else request.view.live_room(race)
    boards: list[tuple[str | None, str, Sequence[Any]]] = []
    if room is not None:
        boards = [(each.board, each.leaderboard, each.entrants) for each in room.leaderboards]
    elif report is not None:
        pairs = zip(request.view.boards_of(report), report.leaderboards, strict=True)
        boards = [(board.address.stem, board.name, part.placed) for board, part in pairs]
    stem, name, rows = next((each for each in boards if _wanted(request, each[0])), ("", "", ()))
    heading, limit = "final", _number(request.query, "rows")
    if room is not None:
        known = (each.change if room.finished else each.win_chance for each in rows)
        if any(value is not None for value in known):  # not for a team race or a single entrant
            heading = "provisional" if room.finished else "odds" if room.before_start else "racing"
    facts = {"race": race, "room": room, "heading": heading, "all_rows": rows, "stem": stem}
    facts["board"] = name if len(boards) > 1 else ""
    return _overlay("overlay_room.html", request, rows=rows[:limit], more=len(rows[limit:]), **facts)


def _overlay(template: str, request: PageRequest, **context: Any) -> Document:
    return Document(templating.render(template, request.path, view=request.view, **context))


def _wanted(request: PageRequest, board: str | None) -> bool:
    return request.query.get("board") in {None, board}


def _current_in(request: PageRequest, category: str) -> str | None:
    view = request.view
    rooms = [room for room in view.live_rooms().rooms if room.category == category]
    found: list[tuple[str | None, LiveRoom | RaceRow]] = [
        (board.board, room) for room in rooms for board in room.leaderboards
    ]
    for board in view.boards:
        if board.category == category:
            found += [(board.address.stem, race) for race in latest_races(view.ledger, board.key, LAST_RACES)]
    current = _first(request, found)
    return current[1].race if current else None


def _current_of(request: PageRequest, player: str) -> tuple[str | None, LiveRoom | PlayedRace] | None:
    """Return the listed room that a player is in, or the player's last race, with the leaderboard's id."""
    view = request.view
    found: list[tuple[str | None, LiveRoom | PlayedRace]] = [
        (board.board, room) for room, board, _ in view.live_rooms().of(player)
    ]
    for board, _ in view.standings(player):
        found += [(board.address.stem, race) for race in view.history(board, player)[-LAST_RACES:]]
    return _first(request, found)


def _first(request: PageRequest, found: Iterable[tuple[str | None, T]]) -> tuple[str | None, T] | None:
    """Return the race to show: the last that started, else one that just ended, is open or ended lately."""
    now = datetime.now(UTC)
    ranked = ((_rank(each, now), (board, each)) for board, each in found if _wanted(request, board))
    possible = [(rank, each) for rank, each in ranked if rank is not None]
    return min(possible, key=itemgetter(0))[1] if possible else None


def _rank(race: LiveRoom | PlayedRace | RaceRow, now: datetime) -> tuple[int, float] | None:
    """Return a race's rank for an overlay, the lowest first, and its age; None if it ended long ago."""
    if race.ended_at is not None:
        age = now - race.ended_at
        return (1 if age < JUST_ENDED else 3, age.total_seconds()) if age < RECENT else None
    is_open = race.status in {"open", "invitational"}
    since = (race.opened_at if is_open else race.started_at) or now
    return 2 if is_open else 0, (now - since).total_seconds()


def studio(request: PageRequest) -> Content:
    """Render the studio. The fields of its form are the query, so it works without scripts."""
    view, query = request.view, {name: value for name, value in request.query.items() if value}
    kind = query.get("overlay", "room")
    if kind not in OVERLAYS:
        raise BadQueryError(f"overlay: must be {', '.join(OVERLAYS)}")
    defaults = COLORS | {name: str(default) for name, (_, default, *_) in NUMBERS.items()}
    given = {name: value.removeprefix("#") for name, value in options(query).items()}
    chosen = {name: value for name, value in given.items() if value != defaults.get(name)}
    text = query.get("player", "")[:100]
    player = view.player_meant(text)
    categories = {board.category: view.category_face(board.category).name for board in view.boards}
    category = query.get("category", next(iter(categories), "-"))
    identity = player.id if player else "ID"
    route = addresses.OVERLAY_PLAYER if kind == "player" else addresses.OVERLAY_PLAYER_ROOM
    found = addresses.OVERLAY_ROOM.path(race=category) if kind == "room" else route.path(player=identity)
    preview = found if kind == "player" and player else None
    if kind != "player" and (latest := view.latest_races(1)):
        preview = addresses.OVERLAY_ROOM.path(race=latest[0][1].race)
    colors = urlencode({name: value for name, value in chosen.items() if name not in {"delay", "board"}})
    return templating.page(
        request,
        "overlays.html",
        overlays=OVERLAYS,
        presets=PRESETS,
        numbers=NUMBERS,
        colors=COLORS,
        categories=categories,
        boards=view.boards,
        kind=kind,
        category=category,
        text=text,
        player=player,
        values={"board": "", **defaults, **given},
        options=f"?{urlencode(chosen)}" if chosen else "",
        address=found.removesuffix(".html"),
        preview=preview and f"{link(request.path, preview)}?{colors}",
    )


_OVERLAYS = (
    (_room, addresses.OVERLAY_ROOM, addresses.OVERLAY_ROOM_PART),
    (_player, addresses.OVERLAY_PLAYER, addresses.OVERLAY_PLAYER_PART),
    (_player_room, addresses.OVERLAY_PLAYER_ROOM, addresses.OVERLAY_PLAYER_ROOM_PART),
)
_PARTS: Mapping[Route, Callable[..., Content]] = {
    addresses.LIVE_PART: partial(_live, template="live_rooms.html"),
    addresses.RACE_PART: followed_race,
    **{part: function for function, _, part in _OVERLAYS},
}
LIVE: Mapping[Route, Callable[..., Content]] = {
    addresses.LIVE: _live,
    addresses.OVERLAY_STYLE: _style,
    **{page: _page(function, part) for function, page, part in _OVERLAYS},
    **_PARTS,
}
"""Every page whose content is read from the live file, with its function."""
STREAMED = frozenset({addresses.LIVE_DATA, *_PARTS})  # addresses that can be followed as server-sent events
