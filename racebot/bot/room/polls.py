"""How long a race is followed, and how often it is looked at once it has ended."""

from __future__ import annotations

from datetime import timedelta

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
GIVE_UP_AFTER = timedelta(days=1)
"""Age at which the bot gives up a race that the site does not find."""
FOLLOW_AFTER = timedelta(days=7)
"""Age until which edits of a race that counts without a record are followed."""
EXPIRE_AFTER = timedelta(days=90)
"""Age at which the bot gives up a race that was never recorded."""
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
