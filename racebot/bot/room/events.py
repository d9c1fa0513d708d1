"""What a case is told and what it asks for: the events of a race, and the effects to carry out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race


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


class Signal(Enum):
    """An event without content."""

    READ_FAILED = "the site did not answer a read"
    SYSTEM_LINE = "a system message in chat, which may announce an edit, or an unreadable frame"
    TICK = "time has passed"
    LOOKED = "the poll looked at the race, whether the site answered or not"
    MISSING = "the site says that the race does not exist"
    COUNT = "a moderator orders that the result counts now, without a record"


CaseEvent = Frame | Read | Listed | QuietOrder | Signal

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
    TAKE_BACK = "drop announcements that wait: the race goes on again"
    KEEP_QUIET = "drop messages that wait: a moderator asked for quiet"
    WITHDRAW = "tell chat that what it was told no longer holds: the race does not count"
    UNDO_SETTLING = "remove the race from the ratings: the site no longer has its record"


Effect = Announce | Settle | GiveUp | Act


ANNOUNCE_WITHIN = timedelta(hours=1)
"""An older result is not announced when it is first seen: its racers have left the room."""
STAY_AFTER_FINISH = timedelta(hours=6)
"""How long the socket of a finished room stays open. After that, its race is polled."""
STAY_AFTER_OVER = timedelta(hours=1)
"""How long the site keeps the chat of a cancelled or unrecorded race open."""
UNDO_AFTER = timedelta(hours=1)
"""How long the site must show a settled race as not recorded before the bot undoes its ratings.

This is far longer than the site's caches, and gives administrators time to record the race again.
"""
GIVE_UP_AFTER = timedelta(days=1)  # age at which the bot gives up a race that the site does not find
FOLLOW_AFTER = timedelta(days=7)  # age until which edits of a race that counts without a record are followed
EXPIRE_AFTER = timedelta(days=90)  # age at which the bot gives up a race that was never recorded
LONGEST_MISS_PAUSE = timedelta(hours=1)
POLL_PAUSES = (
    (timedelta(hours=6), timedelta(minutes=1)),
    (timedelta(days=2), timedelta(minutes=10)),
    (timedelta(days=14), timedelta(hours=1)),
)
"""Pauses between looks at an ended race that is younger than this."""
LONGEST_POLL_PAUSE = timedelta(days=1)


def poll_pause(age: timedelta, *, is_over: bool) -> timedelta:
    """Return the time to the next look at a race that ended so long ago. Cancelled ones rarely return."""
    pause = next((pause for below, pause in POLL_PAUSES if age < below), LONGEST_POLL_PAUSE)
    return min(5 * pause, LONGEST_POLL_PAUSE) if is_over else pause


def miss_pause(misses: int) -> timedelta:
    """Return the time until the next look at a race that the site did not find so many times before."""
    return min(timedelta(minutes=2 ** min(misses, 10)), LONGEST_MISS_PAUSE)
