"""The state of one race and its chat, as plain data, and the errors of changing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from racebot.sandbox.people import Bot, FakeCategory, Team, User
from racebot.sandbox.text import without_markup


class SandboxError(Exception):
    """The sandbox cannot fulfil a request."""


class RuleError(SandboxError):
    """The request breaks one of the site's rules."""


class UnknownError(SandboxError):
    """The sandbox has no such user, bot, goal, race or message."""


class RaceStatus(StrEnum):
    OPEN = "open"
    INVITATIONAL = "invitational"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    FINISHED = "finished"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (RaceStatus.FINISHED, RaceStatus.CANCELLED)


class RacerStatus(StrEnum):
    """An entrant's status in a race."""

    REQUESTED = "requested"
    INVITED = "invited"
    NOT_READY = "not_ready"
    READY = "ready"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    DNF = "dnf"
    DQ = "dq"

    @property
    def final(self) -> bool:
        return self in (RacerStatus.DONE, RacerStatus.DNF, RacerStatus.DQ)


@dataclass(eq=False, slots=True)
class FakeEntrant:
    """A user in a race. `number` counts entrants in the order they joined."""

    user: User
    number: int
    status: RacerStatus
    team: Team | None = None
    alias: str = ""
    score: int | None = None
    score_change: int | None = None
    finish_time: timedelta | None = None
    finished_at: datetime | None = None
    place: int | None = None


@dataclass(eq=False, slots=True)
class ChatLine:
    """A line of chat from a user, a bot, or the site if neither is set."""

    id: str
    posted_at: datetime
    text: str
    user: User | None = None
    bot: Bot | None = None
    direct_to: User | None = None
    highlight: bool = False
    pinned: bool = False
    monitor: bool | None = None
    actions: dict[str, Any] = field(default_factory=dict)

    @property
    def is_system(self) -> bool:
        return self.monitor is None and self.bot is None

    @property
    def plain(self) -> str:
        return without_markup(self.text) if self.is_system else self.text


@dataclass(eq=False, kw_only=True)
class RaceState:
    """A race as the site stores it."""

    category: FakeCategory
    slug: str
    goal: str
    opened_by: User | None
    opened_at: datetime
    custom_goal: bool = False
    unlisted: bool = False
    hide_entrants: bool = False
    team_race: bool = False
    status: RaceStatus = RaceStatus.OPEN
    version: int = 1
    entrants: list[FakeEntrant] = field(default_factory=list)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cancelled_at: datetime | None = None
    recordable: bool = True
    recorded: bool = False
    recorded_by: User | None = None
    held: bool = False
    info_bot: str | None = None
    bot_meta: dict[str, Any] = field(default_factory=dict)
    chat: list[ChatLine] = field(default_factory=list)
    notes: list[ChatLine] = field(default_factory=list)
    """Private messages, which are not part of the public chat."""
    monitors: list[User] = field(default_factory=list)
    """Users other than the opener who may help to run the race."""

    @property
    def name(self) -> str:
        return f"{self.category.slug}/{self.slug}"

    @property
    def info(self) -> str:
        return self.info_bot or ""

    @property
    def counted(self) -> list[FakeEntrant]:
        """The entrants who have been accepted."""
        return [e for e in self.entrants if e.status not in (RacerStatus.REQUESTED, RacerStatus.INVITED)]

    def entrant_name(self, entrant: FakeEntrant) -> str:
        """Return the name that the site's messages use for an entrant."""
        return entrant.alias if self.hide_entrants else entrant.user.full_name

    @property
    def started(self) -> bool:
        return self.started_at is not None
