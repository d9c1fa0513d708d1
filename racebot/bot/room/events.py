"""What a case is told and what it asks for: the events of a race, and the effects to carry out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.standings.counting import RatingRules


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of an event: seconds on a monotonic scale, and the time by the site's clock."""

    seconds: float
    site: datetime


# Events


@dataclass(frozen=True, slots=True)
class Frame:
    """The race as a frame of its room shows it. Frames can be repeated, late, or older than an edit."""

    race: Race


@dataclass(frozen=True, slots=True)
class Read:
    """The race as the site answered over HTTP to a request of `sent_at`, in monotonic seconds.

    The answer is at most as old as the site's cache.
    """

    race: Race
    sent_at: float


@dataclass(frozen=True, slots=True)
class Listed:
    """The race as the list of past races shows it. It may be a minute old, and has no version."""

    race: Race


@dataclass(frozen=True, slots=True)
class QuietOrder:
    """A moderator asked for quiet in the room, or for an end of it, at a time by the site's clock."""

    quiet: bool
    given_at: datetime


@dataclass(frozen=True, slots=True)
class CountOrder:
    """A moderator orders that the result counts now, without a record."""


class Signal(Enum):
    """An event without content."""

    READ_FAILED = "the site did not answer a read"
    SYSTEM_LINE = "a system message in chat, which may announce an edit, or an unreadable frame"
    TICK = "time has passed"
    LOOKED = "the poll looked at the race, whether the site answered or not"
    MISSING = "the site says that the race does not exist"


Event = Frame | Read | Listed | QuietOrder | CountOrder | Signal

# Effects


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell chat what the result would change, or correct what chat was told.

    If the race is only polled, join its room if this result differs from the one that chat was told.
    `is_late` says that its racers have left the room, so that only a correction is worth a message.
    """

    result: RaceResult
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Settle:
    """Rate the result, which is recorded or needs no record, or hand it to the event of the room.

    `chat_is_open` says that the site still takes messages for the race, though the bot may not know its room.
    """

    result: RaceResult
    chat_is_open: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Drop all messages for the race, which is no longer followed."""

    reason: str


class Act(Enum):
    """An effect without content."""

    READ = "read the race over HTTP now"
    GREET = "greet the room with the odds, unless that has been done"
    TAKE_BACK = "drop announcements that wait: the race goes on again"
    KEEP_QUIET = "drop messages that wait: a moderator asked for quiet"
    WITHDRAW = "tell chat that what it was told no longer holds: the race does not count"
    UNDO_SETTLING = "remove the race from the ratings: the site no longer has its record"


Effect = Announce | Settle | GiveUp | Act


@dataclass(frozen=True, slots=True)
class RoomPolicy:
    """The operator's choices for rooms."""

    quiet: float
    """Seconds for which a result must not change before it is announced."""
    rating: Callable[[], RatingRules]
    """Returns which races count where. That changes when a goal is renamed."""
    announce: bool = True
    greet: bool = False
