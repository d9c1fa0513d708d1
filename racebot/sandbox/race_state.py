"""Accounts, the category, and one race with its chat, as plain data; and the errors of changing it."""

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from racebot.text.format import iso_duration

_MARKUP = re.compile(r"##\w+##(.*?)##")
"""The `##style##…##` markup of system messages."""


def stamp(moment: datetime | None) -> str | None:
    """Format a time in a race, with milliseconds and a Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(length: timedelta | None) -> str | None:
    """Format an ISO 8601 duration, such as `P0DT01H00M03.047053S`. Whole seconds have no fraction."""
    return (
        length if length is None else iso_duration(length // timedelta(microseconds=1)).replace(".000000", "")
    )


MODERATOR = "Referee"
ID_CHARACTERS = string.ascii_letters + string.digits
Clock = Callable[[], datetime]


class SandboxError(Exception):
    """The sandbox cannot fulfil a request."""


class RuleError(SandboxError):
    """The request breaks one of the site's rules."""


class UnknownError(SandboxError):
    """The sandbox has no such user, bot, goal, race or message."""


class RaceStatus(StrEnum):
    OPEN = "open"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    FINISHED = "finished"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (RaceStatus.FINISHED, RaceStatus.CANCELLED)


class RacerStatus(StrEnum):
    """An entrant's status in a race."""

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
class User:
    """An account. After deletion its entrants stay in their races, without a user."""

    id: str
    name: str
    discriminator: str | None = None
    deleted: bool = False

    @property
    def full_name(self) -> str:
        return self.name if self.discriminator is None else f"{self.name}#{self.discriminator}"


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of the category, with its OAuth2 credentials."""

    name: str
    client_id: str
    client_secret: str


@dataclass(frozen=True, slots=True)
class Team:
    """A team of one race, identified by its slug."""

    name: str
    slug: str


@dataclass(eq=False, slots=True)
class FakeCategory:
    """The sandbox's only category."""

    slug: str
    goals: list[str] = field(default_factory=list)
    name: str = "Sandbox"
    owners: list[User] = field(default_factory=list)
    moderators: list[User] = field(default_factory=list)

    def may_moderate(self, user: User) -> bool:
        return not user.deleted and user in (*self.owners, *self.moderators)


@dataclass(eq=False, slots=True)
class FakeEntrant:
    """A user in a race. `number` counts entrants in the order they joined."""

    user: User
    number: int
    status: RacerStatus
    team: Team | None = None
    finish_time: timedelta | None = None
    finished_at: datetime | None = None
    place: int | None = None

    @property
    def alias(self) -> str:
        """The name to show while the race hides its entrants."""
        return f"Masked Racer {self.number + 1}"


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
        return _MARKUP.sub(r"\1", self.text) if self.is_system else self.text


@dataclass(eq=False, kw_only=True)
class RaceState:
    """A race as the site stores it."""

    category: FakeCategory
    slug: str
    goal: str
    opened_by: User | None
    opened_at: datetime
    opened_by_bot: str | None = None
    info: str = ""
    """The text of its opener, shown before the bot's."""
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
    info_bot: str | None = None
    bot_meta: dict[str, Any] = field(default_factory=dict)
    chat: list[ChatLine] = field(default_factory=list)
    notes: list[ChatLine] = field(default_factory=list)
    """Private messages, which are not part of the public chat."""
    monitors: list[User] = field(default_factory=list)
    """Users other than the opener who may help to run the race."""
    refused: list[str] = field(default_factory=list)
    """The error messages that bots received."""
    listeners: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)
    """Functions that receive every frame, one for each connection to the room."""

    @property
    def name(self) -> str:
        return f"{self.category.slug}/{self.slug}"

    def entrant_name(self, entrant: FakeEntrant) -> str:
        """Return the name that the site's messages use for an entrant."""
        return self.alias(entrant.user) or entrant.user.full_name

    def alias(self, user: User | None) -> str | None:
        """Return the invented name of an entrant while the race hides its entrants."""
        return next((e.alias for e in self.entrants if self.hide_entrants and e.user is user), None)

    @property
    def started(self) -> bool:
        return self.started_at is not None


class Accounts:
    """The users of a category. `clock` returns the time, `rng` makes every random choice, ids included."""

    def __init__(self, category: FakeCategory, clock: Clock, rng: random.Random) -> None:
        self.category = category
        self.skew = timedelta(0)
        """Offset of the site's clock from the given clock."""
        self._clock = clock
        self.rng = rng
        self.users: dict[str, User] = {}
        self.moderator = self.add_user(MODERATOR)
        self.category.owners.append(self.moderator)

    def clock(self) -> datetime:
        """Return the current time on the site's clock."""
        return self._clock() + self.skew

    def add_user(self, name: str, *, id: str | None = None, moderator: bool = False) -> User:  # noqa: A002
        """Add an account. Ids are unique; names need not be."""
        user = User(id or self.new_id(), name, f"{self.rng.randrange(10_000):04d}")
        self.users[user.id] = user
        if moderator:
            self.category.moderators.append(user)
        return user

    def user(self, who: User | str) -> User:
        """Return the account with this id, or else with this name."""
        if isinstance(who, User):
            return who
        if who in self.users:
            return self.users[who]
        named = (user for user in self.users.values() if user.name == who and not user.deleted)
        if (user := next(named, None)) is None:
            raise UnknownError(f"no user {who!r}")
        return user

    def new_id(self) -> str:
        return "".join(self.rng.choices(ID_CHARACTERS, k=16))
