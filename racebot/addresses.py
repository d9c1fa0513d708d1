"""The address of every page: routes, paths relative to the pages' root, and links between pages.

All links are relative, so that the pages work under any URL prefix and when opened from a folder.
"""

import base64
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote, quote_plus

from racebot.ledger.rows import Leaderboard
from racebot.races.events import is_event
from racebot.text.parse import slug_of

PAGE_SIZE = 80  # players on one page of a leaderboard

OPPONENTS_SHOWN = 25  # Opponents on a player's page. A longer list also has separate pages
OPPONENTS_ON_A_PAGE = 100

LONGEST_PATH = 1000  # longer paths match no route
LONGEST_VALUE = 8000  # most characters of a query parameter: 200 ids of players fit

MOST = 10**9  # largest number in a query

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


class BadQueryError(ValueError):
    """The query string has an invalid or missing parameter."""


def whole_number(
    query: Mapping[str, str], name: str, default: int, *, least: int = 1, most: int = MOST
) -> int:
    """Return a number from the query, or its default. A number out of range is a `BadQueryError`."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise BadQueryError(f"{name}: must be a number from {least} to {most}")
    return int(text)


def day_in(query: Mapping[str, str], name: str) -> date | None:
    """Return a date from the query, None if it is missing or empty. Another text is a `BadQueryError`."""
    text = query.get(name)
    try:
        if not text or re.fullmatch(r"(19|20)\d\d-\d\d-\d\d", text):
            return date.fromisoformat(text) if text else None
    except ValueError:
        pass
    raise BadQueryError(f"{name}: must be a date, such as 2026-03-31")


def segment(text: str) -> str:
    """Encode any text as one path segment that every file system and host accepts."""
    if _PLAIN.fullmatch(text):
        return text
    return "~" + base64.urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


def text_of(part: str) -> str:
    """Decode a path segment that `segment` encoded. One that is not base64 or UTF-8 is a `ValueError`."""
    if not part.startswith("~"):
        return part
    padded = part[1:] + "=" * (-len(part[1:]) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True).decode()


_RACE = (
    "[^/]+(?:/[^/]+)*",
    lambda name: "/".join(map(segment, name.split("/"))),
    lambda path: "/".join(map(text_of, path.split("/"))),
)
_FIELDS: dict[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "board": ("[^/]+/[^/]+", str, str),
    "category": ("[^/]+", lambda slug: segment(slug or "-"), lambda part: text_of(part).strip("-")),
    "player": ("[^/]+", segment, text_of),
    "other": ("[^/]+", segment, text_of),
    "race": _RACE,
    "event": _RACE,
    "picture": ("[0-9a-f]{24}", str, str),
    "page": ("[0-9]{1,6}", str, int),
    "number": (
        "(?:-[0-9]{1,6})?",
        lambda number: "" if number is None else f"-{number}",
        lambda text: int(text[1:]) if text else None,
    ),
    "file": ("[^/]+", str, str),
}
"""The fields of routes: their regular expressions, and the functions that format and parse them."""


@dataclass(frozen=True)
class Route:
    """The URL pattern of one kind of page, such as `races/{race}.html`, with its query parameters.

    The field `board` is the stem of a `BoardAddress`, `player` a player id, `race` and `event` a race name.
    An export has no pages that are `served_only`.
    """

    pattern: str
    query: frozenset[str] = frozenset()
    served_only: bool = False

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(sorted(re.findall(r"\{(\w+)\}", self.pattern)))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", self.pattern)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = [f"(?P<{name}>{_FIELDS[name][0]})" for name in parts[1::2]]
        return re.compile("".join(parts))

    def path(self, **values: Any) -> str:
        """Return the address with these fields. A list's first page has no `number`."""
        values.setdefault("number", None)
        return self.pattern.format_map({name: _FIELDS[name][1](value) for name, value in values.items()})

    def match(self, path: str) -> dict[str, Any] | None:
        found = self._expression.fullmatch(path) if len(path) <= LONGEST_PATH else None
        if found is None:
            return None
        try:
            return {name: _FIELDS[name][2](text) for name, text in found.groupdict().items()}
        except ValueError:
            return None

    def known(self, query: Mapping[str, str]) -> dict[str, str]:
        """Return the query parameters that the page accepts, in a fixed order."""
        found = {name: query[name] for name in sorted(self.query) if name in query}
        for name, value in found.items():
            if len(value) > LONGEST_VALUE:
                raise BadQueryError(f"{name}: must have at most {LONGEST_VALUE} characters")
        return found


_of_server = partial(Route, served_only=True)
_PARTS = frozenset({"page", "per_page"})

FRONT = Route("index.html")
NOT_FOUND = Route("404.html")  # the page that static hosts show for a missing file
ROBOTS = Route("robots.txt")
FAVICON = Route("favicon.ico")
TOUCH_ICON = Route("apple-touch-icon.png")
PICTURE = Route("avatars/{picture}.webp")
SMALL_PICTURE = Route("avatars/small/{picture}.webp")
EVENTS = Route("events.html")
EVENT = Route("event/{event}.html")
"""The address of an event, not in the folder `events`: a server has its streams there."""
ACTIVITY = Route("activity/{category}.html")
RACE = Route("races/{race}.html")
PLAYER_ON_BOARD = Route("players/{player}/{board}.html", frozenset({"vs"}))
PLAYER = Route("players/{player}.html")
BOARD_PAGE = Route("leaderboards/{board}/page-{page}.html")
RACES = Route("leaderboards/{board}/races{number}.html", frozenset({"page"}))
EXPLAINED = Route("leaderboards/{board}/explained.html")
BOARD = Route("leaderboards/{board}.html", frozenset({"q", "sort", "order", "page", "at"}))

RATINGS = Route("leaderboards/{board}/ratings.html", BOARD.query)
"""The ratings of a leaderboard that scores order."""

API = Route("api/index.html")
PLAYER_RACES = Route("players/{player}/{board}/races{number}.html", RACES.query)
OPPONENTS = Route("players/{player}/{board}/opponents{number}.html", frozenset({"page", "vs"}))
FAME = Route("leaderboards/{board}/fame.html")
MOVEMENT = Route("leaderboards/{board}/movement.html", frozenset({"from", "to", "players"}))
RECAP = Route("leaderboards/{board}/recap.html")
SEEDS = Route("leaderboards/{board}/seeds.html", frozenset({"entrants"}))
SEARCH = Route("search.html", frozenset({"q", "race"}))
SEARCH_INDEX = Route("assets/players.js")
ASSET = Route("assets/{file}")
NO_JEKYLL = Route(".nojekyll")  # stops GitHub Pages from processing the files with Jekyll

OPENAPI = Route("api/openapi.json")
LIVE_DATA = _of_server("api/live.json")
ALL_DATA = Route("api/leaderboards.json")
ACTIVITY_DATA = Route("api/activity/{category}.json")
RACE_DATA = Route("api/races/{race}.json")
EVENTS_DATA = Route("api/events.json")
EVENT_DATA = Route("api/events/{event}.json")
EVENT_CSV = Route("api/events/{event}.csv")
FIND_PLAYERS = _of_server("api/players.json", frozenset({"name"}))
PLAYER_DATA = Route("api/players/{player}.json")
PLAYER_ON_BOARD_DATA = Route("api/leaderboards/{board}/players/{player}.json", frozenset({"before", "limit"}))
RACES_DATA = Route("api/leaderboards/{board}/races.json", _PARTS)
CHANGES_DATA = _of_server("api/leaderboards/{board}/changes.json", frozenset({"after", "limit"}))
ODDS_DATA = _of_server("api/leaderboards/{board}/odds.json", frozenset({"players"}))
SCORES_CSV = Route("api/leaderboards/{board}/scores.csv")
SCORES_DATA = Route("api/leaderboards/{board}/scores.json")
SEEDS_DATA = Route("api/leaderboards/{board}/seeds.json", frozenset({"entrants"}))
SEEDS_CSV = Route("api/leaderboards/{board}/seeds.csv", frozenset({"entrants"}))
LEADERBOARD_CSV = Route("api/leaderboards/{board}.csv")
DATA = Route("api/leaderboards/{board}.json", _PARTS)


FRONT_CARD = Route("cards/index.png")
RACE_CARD = Route("cards/races/{race}.png")
PLAYER_CARD = Route("cards/players/{player}/{board}.png")
BOARD_CARD = Route("cards/leaderboards/{board}.png")

BOARD_FEED = Route("leaderboards/{board}/feed.xml")
PLAYER_FEED = Route("players/{player}/{board}/feed.xml")

OVERLAY_OPTIONS = frozenset(
    {*("text", "outline", "background", "accent", "gain", "loss"), *("size", "rows"), "board", "delay"}
)
OVERLAYS = _of_server("overlays.html", OVERLAY_OPTIONS | {"overlay", "category", "player"})
LIVE = _of_server("live.html")
LIVE_PART = _of_server("live/rooms.html")
RACE_PART = _of_server("live/races/{race}.html")
OVERLAY_STYLE = _of_server("overlay/style.css", OVERLAY_OPTIONS)
OVERLAY_ROOM = _of_server("overlay/room/{race}.html", OVERLAY_OPTIONS)
OVERLAY_ROOM_PART = _of_server("overlay/part/room/{race}.html", frozenset({"rows", "board"}))
OVERLAY_PLAYER = _of_server("overlay/player/{player}.html", OVERLAY_OPTIONS)
OVERLAY_PLAYER_PART = _of_server("overlay/part/player/{player}.html", frozenset({"board"}))
OVERLAY_PLAYER_ROOM = _of_server("overlay/player/{player}/room.html", OVERLAY_OPTIONS)
OVERLAY_PLAYER_ROOM_PART = _of_server("overlay/part/player/{player}/room.html", frozenset({"rows", "board"}))


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """The addresses of one leaderboard's pages. `stem` is its category and name, encoded for a path."""

    stem: str

    def of(self, route: Route, **fields: Any) -> str:
        """Return the address of the page of this leaderboard that a route names."""
        return route.path(board=self.stem, **fields)

    def page(self, number: int = 1) -> str:
        return BOARD.path(board=self.stem) if number == 1 else BOARD_PAGE.path(board=self.stem, page=number)

    def opponents(self, player: str, number: int = 1) -> str:
        return OPPONENTS.path(player=player, board=self.stem, number=number if number > 1 else None)

    def player(self, player: str) -> str:
        return PLAYER_ON_BOARD.path(player=player, board=self.stem)

    def comparison(self, player: str, other: str) -> str:
        """Return the address of the comparison of two players, which works on a server and in an export."""
        return self.player(player) + versus(other)


def board_addresses(boards: Iterable[Leaderboard]) -> list[BoardAddress]:
    """Return the address of each leaderboard, in order. Leaderboards with the same name get a number."""
    taken: set[str] = set()
    addresses = []
    for board in boards:
        slug = slug_of(unicodedata.normalize("NFKD", board.name).encode("ascii", "ignore").decode())[:80]
        stem = f"{segment(board.category or '-')}/{slug or f'leaderboard-{board.id}'}"
        if stem in taken:
            stem = f"{stem}-{board.id}"
        taken.add(stem)
        addresses.append(BoardAddress(stem))
    return addresses


def address_among(boards: Sequence[Leaderboard], board: Leaderboard) -> BoardAddress | None:
    """Return the address of one of these leaderboards, None if it is not among them."""
    return board_addresses(boards)[boards.index(board)] if board in boards else None


def room_address(site: str, race: str) -> str:
    """Return the address of a race's room, empty without a site or for an event, which has none."""
    return f"{site}/{quote(race)}" if site and not is_event(race) else ""


def versus(other: str) -> str:
    """Return the query and fragment that turn a player's address into that of a comparison."""
    return f"?vs={quote_plus(other)}#vs-{segment(other)}"


def link(source: str, target: str) -> str:
    """Return a relative link from the page at `source` to `target`, the path of a route."""
    here, there = source.split("/"), target.split("/")
    same, most = 0, min(len(here), len(there)) - 1
    while same < most and here[same] == there[same]:
        same += 1
    return "../" * (len(here) - 1 - same) + "/".join(there[same:])
