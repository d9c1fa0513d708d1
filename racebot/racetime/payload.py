"""Reads the site's JSON into typed values: races, categories and list pages.

Unknown statuses are logged once and ignored, so that new features of the site do not stop the bot.
Malformed data raises `PayloadError`.
"""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS, NO_NAME, Entrant, EntrantStatus, Profile, RaceResult
from racebot.racetime import documents
from racebot.racetime.documents import MOST_ENTRIES, RACE_NAME, log_unknown

log = logging.getLogger(__name__)

ENTRANT_STATUS = {
    "done": EntrantStatus.DONE,
    "dnf": EntrantStatus.DNF,
    "dq": EntrantStatus.DQ,
    "not_ready": EntrantStatus.RACING,
    "ready": EntrantStatus.RACING,
    "in_progress": EntrantStatus.RACING,
}
ABSENT_STATUS = {"requested", "invited", "declined", "partitioned"}
RACE_STATUS = {"open", "invitational", "pending", "in_progress", "finished", "cancelled", "partitioned"}


@dataclass(frozen=True, slots=True)
class Race:
    """One race as the site describes it in a room frame, a race detail or a list entry.

    `result` is None until the race has ended; `version` is None in list entries. `entrants` is empty before
    the finish if the site hides who is entered (`hidden`).
    """

    name: str
    category: str
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
    ready: int = 0
    """Number of entrants who are ready to start."""
    hidden: bool = False
    custom_goal: bool = False
    unlisted: bool = False
    """Whether the site lists the race nowhere before its record."""
    opened_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    """When the race ended; None if it has not, or was cancelled before its start."""
    cancelled_at: datetime | None = None

    @property
    def before_start(self) -> bool:
        return self.status in {"open", "invitational", "pending"}

    @property
    def over(self) -> bool:
        """Return whether the race was cancelled, split, or will not be recorded."""
        return self.status in {"cancelled", "partitioned"} or (
            self.status == "finished" and not self.recordable
        )


@dataclass(frozen=True, slots=True)
class RoomSummary:
    """An entry of a category's `current_races`."""

    name: str
    goal: str


@dataclass(frozen=True, slots=True)
class Category:
    """A category as the site describes it. `image` is the address of its picture, None without one."""

    slug: str
    name: str
    goals: tuple[str, ...]
    rooms: tuple[RoomSummary, ...]
    image: str | None = None


@dataclass(frozen=True, slots=True)
class RacePage:
    """One page of the list of past races. `skipped` counts entries that could not be read."""

    races: tuple[Race, ...]
    pages: int
    skipped: int = 0


def parse_race(document: object) -> Race:
    """Read a race from a room frame, a race detail, or a list entry with entrants.

    Raises:
        PayloadError: a field is missing or wrong; names the race and the field.
    """
    where = _name_of(document)
    race = documents.read_race(document, where)
    category = race.name.partition("/")[0]
    status = race.status.value
    if status not in RACE_STATUS:
        log_unknown("race status", reprlib.repr(status))
    hidden = _is_hidden(race.entrants)
    entrants = _entrants(race, hidden, where)
    result = None
    if status == "finished":
        if not race.goal.name:
            raise PayloadError(f"{where}: goal.name is missing")
        if race.ended_at is None:
            raise PayloadError(f"{where}: ended_at is not a time with its offset from UTC")
        result = RaceResult(
            name=race.name,
            category=category,
            goal=race.goal.name,
            ended_at=race.ended_at,
            entrants=entrants,
            recorded=race.recorded,
            recordable=race.recordable,
            custom_goal=race.goal.custom,
            hidden=hidden,
        )
    return Race(
        name=race.name,
        category=category,
        status=status,
        goal=race.goal.name,
        version=race.version,
        recordable=race.recordable,
        recorded=race.recorded,
        result=result,
        websocket_path=race.websocket_bot_url,
        info_bot=race.info_bot or "",
        bot_meta=race.bot_meta or {},
        entrants=entrants,
        ready=_ready_count(race.entrants),
        hidden=hidden,
        custom_goal=race.goal.custom,
        unlisted=race.unlisted,
        opened_at=race.opened_at,
        started_at=race.started_at,
        ended_at=race.ended_at,
        cancelled_at=race.cancelled_at,
    )


def parse_category(document: object) -> Category:
    """Read a category with its goals and open rooms.

    Raises:
        PayloadError: a field is missing or wrong.
    """
    category = documents.read_category(document, "category")
    rooms = (RoomSummary(room.name, room.goal.name) for room in category.current_races)
    return Category(
        slug=category.slug,
        name=category.name or category.slug,
        goals=tuple(category.goals),
        rooms=tuple(rooms),
        image=category.image,
    )


def parse_race_page(document: object) -> RacePage:
    """Read a page of the list of past races. Entries that cannot be read are left out and counted.

    Raises:
        PayloadError: the page itself has the wrong shape.
    """
    page = documents.read_race_page(document, "race list")
    races, problems = [], []
    for item in page.races[:MOST_ENTRIES]:
        try:
            races.append(parse_race(item))
        except PayloadError as error:
            problems.append(error)
    total = len(page.races)
    skipped = total - len(races)
    if skipped:
        reason = problems[0] if problems else f"there are more than {MOST_ENTRIES}"
        _log_left_out(skipped, total, str(reason))
    return RacePage(tuple(races), page.num_pages, skipped)


def _is_hidden(entrants: object) -> bool:
    """Return whether the site shows invented users without ids in place of the entrants."""
    return isinstance(entrants, list) and any(
        isinstance(item, Mapping) and isinstance(item.get("user"), Mapping) and not item["user"].get("id")
        for item in entrants[:MOST_ENTRANTS]
    )


def _ready_count(entrants: object) -> int:
    """Count the entrants who are ready, however the rest of the list looks."""
    listed = entrants[:MOST_ENTRANTS] if isinstance(entrants, list) else []
    return sum(
        isinstance(item, Mapping)
        and isinstance(item.get("status"), Mapping)
        and item["status"].get("value") == "ready"
        for item in listed
    )


def _entrants(race: documents.RaceDocument, hidden: bool, where: str) -> tuple[Entrant, ...]:
    """Read the entrants. In an unfinished race, unreadable entrants are ignored."""
    finished = race.status.value == "finished"
    if not finished and (hidden or not isinstance(race.entrants, list)):
        return ()
    try:
        listed = race.entrants if finished else race.entrants[:MOST_ENTRANTS]
        read = [_entrant(each) for each in documents.read_entrants(listed, f"{where}: entrants")]
    except PayloadError:
        if finished:
            raise
        return ()
    return tuple(entrant for entrant in read if entrant is not None)


def _entrant(entrant: documents.EntrantDocument) -> Entrant | None:
    """Convert an entrant, or return None for one who never raced."""
    status = ENTRANT_STATUS.get(entrant.status.value)
    if status is None:
        if entrant.status.value not in ABSENT_STATUS:
            log_unknown("entrant status", reprlib.repr(entrant.status.value))
        return None
    user, team = entrant.user, entrant.team
    return Entrant(
        user_id=(user.id or None) if user else None,
        name=user.name if user else NO_NAME,
        status=status,
        finish_time=entrant.finish_time,
        place=entrant.place,
        team=(team.slug or team.name or None) if team else None,
        discriminator=user.discriminator if user else None,
        team_name=(team.name or None) if team else None,
        profile=Profile(user.avatar, user.pronouns, user.twitch_name or "") if user else None,
    )


def _name_of(document: object) -> str:
    name = document.get("name") if isinstance(document, Mapping) else None
    return f"race {name}" if isinstance(name, str) and RACE_NAME.fullmatch(name) else "race"


@lru_cache(maxsize=256)
def _log_left_out(skipped: int, total: int, reason: str) -> None:
    text = "race list: left out %d of %d races, the first because: %s (logged once)"
    log.warning(text, skipped, total, reason)
