"""The site's JSON made typed: races, categories, list pages and socket frames.

Unknown event types and unknown status values are logged once and ignored, so that a site that learns
something new does not stop the bot; a shape that is plain wrong raises `PayloadError`.
"""

from __future__ import annotations

import logging
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from racebot.errors import PayloadError
from racebot.races.archive import timestamp
from racebot.races.result import MOST_ENTRANTS, NO_NAME, Entrant, EntrantStatus, RaceResult

log = logging.getLogger(__name__)

RESULT_STATUS = {"done": EntrantStatus.DONE, "dnf": EntrantStatus.DNF, "dq": EntrantStatus.DQ}
RACING_STATUS = {"not_ready", "ready", "in_progress"}
ABSENT_STATUS = {"requested", "invited", "declined", "partitioned"}
RACE_STATUS = {"open", "invitational", "pending", "in_progress", "finished", "cancelled", "partitioned"}

LONGEST_TEXT = 1_000
"""Characters in a name, id or word; the site's longest is a goal of 255."""
MOST_ENTRIES = 1_000
"""Entries of one list that are read; the site sends at most 100 past races, and as many chat messages."""
LONGEST_MESSAGE = 20_000
"""Characters of chat; the site takes 1,000, and says a little more itself."""

_RACE_NAME = re.compile(r"[\w-]{1,100}/[\w-]{1,100}", re.ASCII)
_PATH = re.compile(r"/[\w./-]{1,500}", re.ASCII)
_DISCRIMINATOR = re.compile(r"\d{1,10}", re.ASCII)
_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?T(?=\d)"
    r"(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})(?:\.(?P<fraction>\d{1,9}))?S)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Race:
    """One race as the site describes it in a room frame, a race detail or a list entry.

    `result` is None until the race has ended; `version` is None in list entries. `entrants` are those who
    are entered, as far as they are shown: nobody where `hidden` is set.
    """

    name: str
    category: str
    slug: str
    status: str
    goal: str
    version: int | None
    recordable: bool
    recorded: bool
    result: RaceResult | None
    websocket_path: str | None = None
    info_bot: str = ""
    bot_meta: Mapping[str, Any] = field(default_factory=dict)
    entrants: tuple[Entrant, ...] = ()
    hidden: bool = False
    custom_goal: bool = False
    ended_at: datetime | None = None
    """When the race ended; None for one that goes on, or was cancelled before its start."""
    cancelled_at: datetime | None = None

    @property
    def over(self) -> bool:
        """Whether nothing further can come of the race: cancelled, split, or never to be recorded."""
        return self.status in {"cancelled", "partitioned"} or (
            self.status == "finished" and not self.recordable
        )


@dataclass(frozen=True, slots=True)
class RoomSummary:
    """An entry of a category's `current_races`."""

    name: str
    status: str
    goal: str


@dataclass(frozen=True, slots=True)
class Category:
    """A category as the site describes it."""

    slug: str
    name: str
    goals: tuple[str, ...]
    rooms: tuple[RoomSummary, ...]


@dataclass(frozen=True, slots=True)
class RacePage:
    """One page of the list of past races. `skipped` counts entries that could not be read."""

    races: tuple[Race, ...]
    pages: int
    count: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class RaceUpdate:
    """`race.data`: the race as it now stands."""

    race: Race


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """`chat.message`, live or from the history. `user_id` is None for bots and the system."""

    id: str
    text: str
    posted_at: float
    """Seconds since 1970-01-01 UTC, by the site's clock."""
    user_id: str | None
    user_name: str
    can_moderate: bool
    bot: str | None
    is_system: bool


@dataclass(frozen=True, slots=True)
class PrivateNote:
    """`chat.dm`: somebody wrote to one person alone; what it says is not told."""

    bot: str | None
    to: str | None
    """The user's id."""


@dataclass(frozen=True, slots=True)
class ChatHistory:
    """`chat.history`: the last messages of the room, oldest first."""

    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """`error`: the site refused an action."""

    errors: tuple[str, ...]

    @property
    def token_refused(self) -> bool:
        return any("Permission denied" in text for text in self.errors)

    @property
    def chat_closed(self) -> bool:
        return any("chat is now closed" in text for text in self.errors)


@dataclass(frozen=True, slots=True)
class Pong:
    """`pong`: the answer to a ping."""


@dataclass(frozen=True, slots=True)
class Unread:
    """An event that does not matter to the bot, or that it does not know."""

    type: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A frame that could not be read at all: what it said is lost."""


Event = RaceUpdate | ChatMessage | PrivateNote | ChatHistory | Refusal | Pong | Unread | Unreadable

_IGNORED_EVENTS = {"race.renders", "race.split", "chat.delete", "chat.purge", "chat.pin"}


def parse_event(frame: object) -> Event:
    """A decoded socket frame as a typed event.

    Raises:
        PayloadError: a known event whose content has the wrong shape.
    """
    message = _mapping(frame, "frame")
    kind = message.get("type")
    match kind:
        case "race.data":
            return RaceUpdate(parse_race(message.get("race")))
        case "chat.message":
            return _chat_message(message.get("message"))
        case "chat.history":
            return ChatHistory(
                tuple(
                    _chat_message(item) for item in _list(message.get("messages"), "messages")[-MOST_ENTRIES:]
                )
            )
        case "chat.dm":
            to = message.get("to")
            return PrivateNote(
                bot=str(message["from_bot"]) if message.get("from_bot") else None,
                to=str(to["id"]) if isinstance(to, Mapping) and to.get("id") else None,
            )
        case "error":
            errors = message.get("errors")
            return Refusal(
                tuple(
                    text[:LONGEST_TEXT] if isinstance(text, str) else reprlib.repr(text)
                    for text in (errors if isinstance(errors, list) else [errors])
                )
            )
        case "pong":
            return Pong()
    if isinstance(kind, str) and kind in _IGNORED_EVENTS:
        return Unread(kind)
    shown = reprlib.repr(kind)
    _log_once("event type", shown)
    return Unread(kind if isinstance(kind, str) and len(kind) <= LONGEST_TEXT else shown)


def parse_race(document: object) -> Race:
    """A race from a room frame, a race detail, or a list entry with entrants.

    Raises:
        PayloadError: a missing or wrong field, named with the race.
    """
    race = _mapping(document, "race")
    name = _race_name(race, "race")
    category, _, slug = name.partition("/")
    status = _text(_mapping(race.get("status"), f"race {name}: status"), "value", f"race {name}: status")
    if status not in RACE_STATUS:
        _log_once("race status", reprlib.repr(status))
    goal = _mapping(race.get("goal"), f"race {name}: goal")
    recordable = bool(race.get("recordable", True))
    recorded = bool(race.get("recorded", False))
    result = None
    hidden = _hidden(race.get("entrants"))
    if status != "finished":
        entrants = () if hidden else _field(race.get("entrants"), name)
    else:
        if "entrants" not in race:
            raise PayloadError(f"race {name}: finished but listed without entrants")
        listed = _list(race["entrants"], f"race {name}: entrants")
        if len(listed) > MOST_ENTRANTS:
            raise PayloadError(
                f"race {name}: {len(listed)} entrants are more than the {MOST_ENTRANTS} that can be rated"
            )
        entrants = tuple(entrant for item in listed if (entrant := _entrant(item, name)) is not None)
        result = RaceResult(
            name=name,
            category=category,
            goal=_text(goal, "name", f"race {name}: goal"),
            ended_at=_time(race, "ended_at", name),
            entrants=entrants,
            recorded=recorded,
            recordable=recordable,
            custom_goal=bool(goal.get("custom", False)),
            hidden=hidden,
        )
    path = race.get("websocket_bot_url")
    info = race.get("info_bot")
    meta = race.get("bot_meta")
    version = race.get("version")
    return Race(
        name=name,
        category=category,
        slug=slug,
        status=status,
        goal=_word(goal, "name", f"race {name}: goal"),
        version=version if isinstance(version, int) else None,
        recordable=recordable,
        recorded=recorded,
        result=result,
        websocket_path=path if isinstance(path, str) and _PATH.fullmatch(path) else None,
        info_bot=info if isinstance(info, str) else "",
        bot_meta=meta if isinstance(meta, Mapping) else {},
        entrants=entrants,
        hidden=hidden,
        custom_goal=goal.get("custom") is True,
        ended_at=_optional_time(race.get("ended_at")),
        cancelled_at=_optional_time(race.get("cancelled_at")),
    )


def parse_category(document: object) -> Category:
    """A category with its goals and the rooms that are not over.

    Raises:
        PayloadError: a missing or wrong field.
    """
    category = _mapping(document, "category")
    rooms = []
    for item in _list(category.get("current_races"), "category: current_races")[:MOST_ENTRIES]:
        room = _mapping(item, "category: current_races")
        status = _mapping(room.get("status"), "current race: status")
        goal = _mapping(room.get("goal"), "current race: goal")
        rooms.append(
            RoomSummary(
                _race_name(room, "current race"),
                _word(status, "value", "current race: status"),
                _word(goal, "name", "current race: goal"),
            )
        )
    slug = _text(category, "slug", "category")
    goals = _list(category.get("goals"), "category: goals")
    if not all(isinstance(goal, str) and len(goal) <= LONGEST_TEXT for goal in goals):
        raise PayloadError("category: goals are not all names")
    return Category(
        slug=slug,
        name=_word(category, "name", "category") or slug,
        goals=tuple(goals),
        rooms=tuple(rooms),
    )


def parse_race_page(document: object) -> RacePage:
    """A page of the list of past races; an entry that cannot be read is logged and left out.

    Raises:
        PayloadError: the page itself has the wrong shape.
    """
    page = _mapping(document, "race list")
    pages, count = page.get("num_pages"), page.get("count")
    if not isinstance(pages, int) or not isinstance(count, int):
        raise PayloadError("race list: num_pages and count are not numbers")
    listed = _list(page.get("races"), "race list: races")
    races, problems = [], []
    for item in listed[:MOST_ENTRIES]:
        try:
            races.append(parse_race(item))
        except PayloadError as error:
            problems.append(error)
    skipped = len(listed) - len(races)
    if skipped:
        reason = problems[0] if problems else f"there are more than {MOST_ENTRIES}"
        log.warning("race list: left out %d of %d races, the first because: %s", skipped, len(listed), reason)
    return RacePage(tuple(races), pages, count, skipped)


def parse_duration(text: object) -> int:
    """An ISO 8601 duration such as `P0DT01H00M03.047053S`, in microseconds.

    Raises:
        PayloadError: not such a duration.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise PayloadError(f"{reprlib.repr(text)} is not a duration")
    days, hours, minutes, seconds = (
        int(match[unit] or 0) for unit in ("days", "hours", "minutes", "seconds")
    )
    fraction = (match["fraction"] or "").ljust(6, "0")[:6]
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + int(fraction)


def _hidden(entrants: object) -> bool:
    """Whether the site shows invented people without ids in place of the entrants."""
    return isinstance(entrants, list) and any(
        isinstance(item, Mapping) and isinstance(item.get("user"), Mapping) and not item["user"].get("id")
        for item in entrants
    )


def _field(entrants: object, race: str) -> tuple[Entrant, ...]:
    """Who is entered in a race that is not finished: no reason to refuse the whole race if unreadable."""
    try:
        listed = entrants[:MOST_ENTRANTS] if isinstance(entrants, list) else []
        read = [_entrant(item, race) for item in listed]
    except PayloadError:
        return ()
    return tuple(entrant for entrant in read if entrant is not None)


def _entrant(document: object, race: str) -> Entrant | None:
    where = f"race {race}: entrant"
    entrant = _mapping(document, where)
    status = _mapping(entrant.get("status"), f"{where} status").get("value")
    if not isinstance(status, str):
        status = reprlib.repr(status)
    if status in RACING_STATUS:
        standing = EntrantStatus.RACING
    elif status in RESULT_STATUS:
        standing = RESULT_STATUS[status]
    else:
        if status not in ABSENT_STATUS:
            _log_once("entrant status", reprlib.repr(status))
        return None
    user = entrant.get("user")
    user = None if user is None else _mapping(user, f"race {race}: user")
    time = entrant.get("finish_time")
    team = entrant.get("team")
    place = entrant.get("place")
    try:
        finish_time = None if time is None else parse_duration(time)
    except PayloadError as error:
        raise PayloadError(f"race {race}: finish_time {error}") from None
    return Entrant(
        user_id=(_word(user, "id", f"race {race}: user") or None) if user is not None else None,
        name=_word(user, "name", f"race {race}: user") if user is not None else NO_NAME,
        status=standing,
        finish_time=finish_time,
        place=place if type(place) is int else None,
        team=_team(team, race) if isinstance(team, Mapping) else None,
        discriminator=_discriminator(user),
        team_name=_team_name(team, race) if isinstance(team, Mapping) else None,
    )


def _team(team: Mapping[str, Any], race: str) -> str:
    where = f"race {race}: team"
    return _word(team, "slug", where) or _text(team, "name", where)


def _team_name(team: Mapping[str, Any], race: str) -> str | None:
    return _word(team, "name", f"race {race}: team") or None


def _discriminator(user: Mapping[str, Any] | None) -> str | None:
    """The digits after `name#`, or None where the site gives none."""
    digits = None if user is None else user.get("discriminator")
    return digits if isinstance(digits, str) and _DISCRIMINATOR.fullmatch(digits) else None


def _chat_message(document: object) -> ChatMessage:
    message = _mapping(document, "chat message")
    user = message.get("user")
    user = user if isinstance(user, Mapping) else {}
    try:
        posted_at = timestamp(message.get("posted_at")).timestamp()
    except ValueError as error:
        raise PayloadError(f"chat message: posted_at: {error}") from None
    return ChatMessage(
        id=_word(message, "id", "chat message"),
        text=_word(message, "message", "chat message", longest=LONGEST_MESSAGE),
        posted_at=posted_at,
        user_id=_word(user, "id", "chat message: user") or None,
        user_name=_word(user, "name", "chat message: user"),
        can_moderate=user.get("can_moderate") is True,
        bot=_word(message, "bot", "chat message") or None,
        is_system=message.get("is_system") is True,
    )


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PayloadError(f"{what} is not an object")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise PayloadError(f"{what} is not a list")
    return value


def _race_name(document: Mapping[str, Any], what: str) -> str:
    """A race's name, which becomes part of addresses and messages."""
    name = _text(document, "name", what)
    if not _RACE_NAME.fullmatch(name):
        raise PayloadError(f"{what}: name {reprlib.repr(name)} is not of the form category/race")
    return name


def _text(document: Mapping[str, Any], key: str, what: str) -> str:
    """Text that must be there."""
    text = _word(document, key, what)
    if not text:
        raise PayloadError(f"{what}: {key} is missing")
    return text


def _word(document: Mapping[str, Any], key: str, what: str, *, longest: int = LONGEST_TEXT) -> str:
    """Text that may be absent or null, and then is empty."""
    value = document.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest:
        raise PayloadError(f"{what}: {key} {reprlib.repr(value)} is not text of at most {longest} characters")
    return value


def _time(document: Mapping[str, Any], key: str, race: str) -> datetime:
    try:
        return timestamp(document.get(key))
    except ValueError as error:
        raise PayloadError(f"race {race}: {key}: {error}") from None


def _optional_time(value: object) -> datetime | None:
    try:
        return timestamp(value)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _log_once(what: str, value: str) -> None:
    log.warning("unknown %s %s from the site: ignored (logged once)", what, value)
