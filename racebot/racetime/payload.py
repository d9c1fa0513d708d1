"""Reads the site's JSON into typed values. Unknown statuses are logged once and ignored.

Each `parse_` function raises `PayloadError`, which names the first field that is missing or wrong.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from racebot.errors import PayloadError
from racebot.races.result import (
    MOST_ENTRANTS,
    NO_NAME,
    ROOM_FACTS,
    Entrant,
    EntrantStatus,
    Profile,
    RaceResult,
)
from racebot.racetime import documents
from racebot.racetime.documents import RACE_NAME, warn_once

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
    """One race as the site describes it in a room frame, a race detail, a list entry or its category.

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
    info: str | None = None
    opened_by: str | None = None
    opened_by_bot: str | None = None
    info_bot: str = ""
    bot_meta: Mapping[str, Any] = field(default_factory=dict)
    entrants: tuple[Entrant, ...] = ()
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
class Category:
    """A category as the site describes it, with its open rooms by race name.

    `image` is the address of its picture, None without one. `problems` say what is wrong with the rooms that
    could not be read.
    """

    slug: str
    name: str
    goals: tuple[str, ...]
    rooms: Mapping[str, Race]
    image: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RacePage:
    """One page of the list of past races. `problems` say what is wrong with the entries left out."""

    races: tuple[Race, ...]
    pages: int
    problems: tuple[str, ...] = ()


def parse_race(document: object) -> Race:
    """Read a race from a room frame, a race detail, or a list entry with entrants."""
    name = document.get("name") if isinstance(document, Mapping) else None
    where = f"race {name}" if isinstance(name, str) and RACE_NAME.fullmatch(name) else "race"
    race = documents.read(documents.RaceDocument, document, where)
    category, status = race.name.partition("/")[0], race.status.value
    if status not in RACE_STATUS:
        warn_once("unknown race status %s from the site: ignored", reprlib.repr(status))
    listed = _listed(race, where)
    # In place of the entrants, the site shows invented users without ids.
    hidden = any(each.user is not None and not each.user.id for each in listed)
    if hidden and status != "finished":
        listed = []
    entrants = tuple(entrant for entrant in map(_entrant, listed) if entrant is not None)
    facts: dict[str, Any] = {
        "name": race.name,
        "category": category,
        "goal": race.goal.name,
        "custom_goal": race.goal.custom,
        "entrants": entrants,
        "hidden": hidden,
        **{name: getattr(race, name) for name in ("recordable", "recorded", "ended_at", *ROOM_FACTS)},
    }
    facts["opened_by"] = None  # only a race's own data has it
    if "opened_by" in race.model_fields_set:
        facts["opened_by"] = race.opened_by.name if race.opened_by else ""
    if status == "finished" and not race.goal.name:
        raise PayloadError(f"{where}: goal.name is missing")
    if status == "finished" and race.ended_at is None:
        raise PayloadError(f"{where}: ended_at is not a time with its offset from UTC")
    return Race(
        status=status,
        version=race.version,
        result=RaceResult(**facts) if status == "finished" else None,
        info_bot=race.info_bot or "",
        bot_meta=race.bot_meta or {},
        unlisted=race.unlisted,
        opened_at=race.opened_at,
        cancelled_at=race.cancelled_at,
        **facts,
    )


def parse_category(document: object) -> Category:
    """Read a category with its goals and open rooms. Rooms that cannot be read are left out."""
    read = documents.read(documents.CategoryDocument, document, "category")
    rooms, problems = documents.read_each(parse_race, read.current_races)
    by_name = {room.name: room for room in rooms}
    return Category(read.slug, read.name or read.slug, tuple(read.goals), by_name, read.image, problems)


def parse_race_page(document: object) -> RacePage:
    """Read a page of the list of past races. Entries that cannot be read are left out."""
    page = documents.read(documents.RacePageDocument, document, "race list")
    races, problems = documents.read_each(parse_race, page.races)
    return RacePage(tuple(races), page.num_pages, problems)


def _listed(race: documents.RaceDocument, where: str) -> list[documents.EntrantDocument]:
    """Read the entrants. In an unfinished race, unreadable entrants are ignored."""
    finished, listed = race.status.value == "finished", race.entrants
    if not finished and not isinstance(listed, list):
        return []
    try:
        shown = {"entrants": listed if finished else listed[:MOST_ENTRANTS]}
        return documents.read(documents.EntrantsDocument, shown, where).entrants
    except PayloadError:
        if finished:
            raise
        return []


def _entrant(entrant: documents.EntrantDocument) -> Entrant | None:
    """Convert an entrant, or return None for one who never raced."""
    status = ENTRANT_STATUS.get(entrant.status.value)
    if status is None:
        if entrant.status.value not in ABSENT_STATUS:
            warn_once("unknown entrant status %s from the site: ignored", reprlib.repr(entrant.status.value))
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
        profile=Profile(user.avatar, user.pronouns, user.twitch_name or "", entrant.stream_live)
        if user
        else None,
    )
