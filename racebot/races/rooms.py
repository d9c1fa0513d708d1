"""Which race rooms a leaderboard chooses, with the reason for each, and the ratings with which it begins."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from fnmatch import fnmatchcase
from typing import Annotated, Protocol

from pydantic import AwareDatetime, ConfigDict, Field, TypeAdapter, with_config

from racebot.text.parse import nearest

_ROOM = re.compile(r"(?:^|/)([a-z0-9-]{1,100}/[a-z0-9-]{1,100})/?$", re.IGNORECASE)


class Room(Protocol):
    """What chooses leaderboards for a room. A room that has not begun has no times."""

    @property
    def name(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def goal(self) -> str: ...
    @property
    def custom_goal(self) -> bool: ...
    @property
    def info(self) -> str | None: ...
    @property
    def opened_by(self) -> str | None: ...
    @property
    def opened_by_bot(self) -> str | None: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def ended_at(self) -> datetime | None: ...


class RoomReason(Enum):
    """Why a room counts on a leaderboard or does not, in words. Only the first two count."""

    MATCHES = "fulfils all conditions"
    LISTED = "listed by name"
    GOAL = "goal {value!r} is not one of the goals"
    OFFICIAL_GOAL = "goal {value!r} is a goal of the category, not a custom one"
    CUSTOM_GOAL = "custom goal {value!r} matches no pattern"
    INFO = "info {value!r} matches no pattern"
    OPENED_BY = "the opener's name matches no pattern"
    OPENER_UNKNOWN = "the site does not say who opened it"
    OPENED_BY_BOT = "bot {value!r} matches no pattern"
    TOO_EARLY = "it started before {value}"
    TOO_LATE = "it started after {value}"
    NOT_LISTED = "not in the list of rooms"
    NOT_RATED = "goal {value!r} is not one of the goals to rate"
    EVENT = "part of {value}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a room counts or not: the `value` that decided, and the `patterns` or goals that it missed."""

    reason: RoomReason
    value: str = ""
    patterns: Collection[str] = ()

    @property
    def counts(self) -> bool:
        return self.reason in {RoomReason.MATCHES, RoomReason.LISTED}

    @property
    def nearest(self) -> str | None:
        """The pattern or goal that is most like the value; a single pattern is, whatever it says."""
        only = len(self.patterns) == 1 and self.reason is not RoomReason.GOAL
        return next(iter(self.patterns)) if only else nearest(self.value, self.patterns)


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class RoomRule:
    """Which rooms a leaderboard chooses besides its goals.

    A room must fulfil all conditions that are given. `goals`, which are names, and `custom_goals` are one
    condition: a room has one goal. Patterns are those of the shell, in any letter case. `since` and `until`
    hold for the start.

    Attributes:
        rooms: names of rooms that count, whatever the conditions say.
        finished: whether a result counts before, or without, a record.
        grace: how long a result must stand to count, if `finished`.
    """

    custom_goals: tuple[str, ...] = ()
    info: tuple[str, ...] = ()
    opened_by: tuple[str, ...] = ()
    opened_by_bot: tuple[str, ...] = ()
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    rooms: tuple[str, ...] = ()
    finished: bool = False
    grace: timedelta = timedelta(hours=1)

    @property
    def by_goals_alone(self) -> bool:
        by_room = self.custom_goals, self.info, self.opened_by, self.opened_by_bot, self.rooms
        return not any(by_room) and self.since is self.until is None

    def lists_only(self, goals: Collection[str]) -> bool:
        """Return whether a leaderboard with these goals has only a list of rooms. Its end chooses none."""
        return bool(self.rooms) and not goals and replace(self, rooms=(), until=None).by_goals_alone

    def judge(self, room: Room, goals: Collection[str]) -> Verdict:
        """Return whether a leaderboard with these goals chooses a room, and why."""
        if room.name in self.rooms:
            return Verdict(RoomReason.LISTED)
        if self.lists_only(goals):
            return Verdict(RoomReason.NOT_LISTED)
        if goals or self.custom_goals:
            if room.custom_goal and not _matches(room.goal, self.custom_goals):
                return Verdict(RoomReason.CUSTOM_GOAL, room.goal, self.custom_goals)
            if not room.custom_goal and not goals:
                return Verdict(RoomReason.OFFICIAL_GOAL, room.goal)
            if not room.custom_goal and room.goal not in goals:
                return Verdict(RoomReason.GOAL, room.goal, goals)
        for reason, value, patterns in (
            (RoomReason.INFO, room.info, self.info),
            (RoomReason.OPENED_BY_BOT, room.opened_by_bot, self.opened_by_bot),
        ):
            if patterns and not _matches(value or "", patterns):
                return Verdict(reason, value or "", patterns)
        start = room.started_at or room.ended_at
        if start and self.since and start < self.since:
            return Verdict(RoomReason.TOO_EARLY, self.since.isoformat())
        if start and self.until and start >= self.until:
            return Verdict(RoomReason.TOO_LATE, self.until.isoformat())
        if self.opened_by and room.opened_by is None:
            return Verdict(RoomReason.OPENER_UNKNOWN)
        if self.opened_by and not _matches(room.opened_by or "", self.opened_by):
            return Verdict(RoomReason.OPENED_BY, room.opened_by or "", self.opened_by)
        return Verdict(RoomReason.MATCHES)

    def opener_pattern(self, opener: str | None) -> str | None:
        """Return the pattern that an opener's name matches, None if there is none."""
        return next((pattern for pattern in self.opened_by if _matches(opener or "", [pattern])), None)

    def to_json(self) -> str:
        """Return the rule as JSON, empty if it has no condition. Pydantic reads it back."""
        return "" if self == BY_GOALS else _AS_JSON.dump_json(self, exclude_defaults=True).decode()


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class Carry:
    """From which earlier leaderboard of the category players bring their ratings, and how much of them.

    `factor` and `most_races` are the arguments of `racebot.ratings.model.Carries.carried`.
    """

    source: Annotated[str, Field(alias="from", min_length=1)]
    factor: Annotated[float, Field(ge=0, le=1)] = 0.9
    most_races: Annotated[float | None, Field(ge=0)] = None


_AS_JSON = TypeAdapter(RoomRule)
BY_GOALS = RoomRule()
"""The rule of a leaderboard that has goals and no other condition."""


def room_named(text: str) -> str:
    """Return the name of a room, given its name or its address, or raise `ValueError`."""
    found = _ROOM.search(text.strip().partition("?")[0].partition("#")[0])
    if found is None:
        raise ValueError(f"{text.strip()[:100]!r} is no room: write category/room or its address")
    return found[1].lower()


def _matches(value: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(value.casefold(), pattern.casefold()) for pattern in patterns)
