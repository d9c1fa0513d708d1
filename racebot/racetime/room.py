"""A race room as a state machine: events in, notices out. No I/O and no clock.

The room decides when a result stands (finished, every status final, unchanged for the quiet time) or was
taken back, when the race is recorded or over, and when to read it over HTTP.

After the finish, room frames do not show a moderator's edit: the site announces it in chat, broadcasts the
old data, and only then saves. Only an HTTP read shows the new result. So every system message in a room that
ended leads to two reads: one soon, and one after the site's cache of the old answer has expired.
"""

from __future__ import annotations

from dataclasses import dataclass

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race

SITE_CACHE = 5.0
"""Seconds for which the site caches a race's data."""
READ_AFTER = 0.5
"""Seconds from a system message to the first read. The site saves an edit just after announcing it."""
CERTAIN_AFTER = SITE_CACHE + 1.5
"""Seconds from a system message after which the site's cache cannot hold older data."""
READ_PAUSE = SITE_CACHE + 0.5
"""Seconds between two reads. An earlier read would get the cached answer to the last one."""
RETRY_PAUSE = 30.0
"""Seconds from a failed read to the retry."""
MAX_AGE = 10.0
"""Oldest data, in seconds, with which a command about the race is answered."""


@dataclass(frozen=True, slots=True)
class ResultStands:
    """The race is finished and its result has not changed for the quiet time."""

    result: RaceResult
    previous: RaceResult | None = None
    """The result that stood before."""


@dataclass(frozen=True, slots=True)
class ResultTakenBack:
    """The finished race is going on again: its result no longer holds."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A moderator recorded the race. Chat is closed from this moment."""

    race: Race
    result: RaceResult


@dataclass(frozen=True, slots=True)
class Over:
    """The race ended without a result that can be recorded. An edit can still bring it back."""

    race: Race


@dataclass(frozen=True, slots=True)
class ReadRace:
    """The race should be read over HTTP now."""


Notice = ResultStands | ResultTakenBack | Recorded | Over | ReadRace


class Room:
    """One race room.

    Args:
        name: the race, `category/slug`.
        quiet: seconds for which a result must not change before it stands.

    All times are seconds on one monotonic scale.
    """

    def __init__(self, name: str, *, quiet: float) -> None:
        self.name = name
        self.quiet = quiet
        self.race: Race | None = None
        self.closed = False
        """Whether the race is recorded, after which nothing can change in this room."""
        self._over = False
        self._candidate: RaceResult | None = None
        self._stood: RaceResult | None = None
        self._stands_at: float | None = None
        self._version = 0
        self._version_at = float("-inf")
        self._read_at: float | None = None
        self._certain_at: float | None = None
        self._last_read = float("-inf")
        self._confirmed_at = float("-inf")

    @property
    def deadline(self) -> float | None:
        """Return when `tick` next has something to do, or None."""
        return min((at for at in (self._stands_at, self._read_at) if at is not None), default=None)

    @property
    def ended(self) -> bool:
        """Return whether the race ended, so that moderators can edit its result."""
        return self.race is not None and self.race.status in {"finished", "cancelled"}

    @property
    def unsure(self) -> bool:
        """Return whether there may be an edit that no read has shown yet."""
        return self._certain_at is not None

    def needs_read(self, now: float) -> bool:
        """Return whether the data of an ended race may be more than `MAX_AGE` seconds old."""
        return self.ended and not self.closed and now - (self._confirmed_at - SITE_CACHE) > MAX_AGE

    def on_frame(self, race: Race, now: float) -> list[Notice]:
        """Process a room frame. Frames can be repeated or arrive late."""
        if self._is_outdated(race):
            self._read_soon(now)  # the version that we know may be the wrong one
            return []
        return self._accept(race, now)

    def on_read(self, race: Race, now: float, asked_at: float) -> list[Notice]:
        """Process the site's answer over HTTP.

        Args:
            race: the answer.
            now: the current time.
            asked_at: the time of the request. The answer is at most `SITE_CACHE` seconds older.
        """
        if self._is_outdated(race):
            if asked_at < self._version_at + CERTAIN_AFTER:
                self._read_at = _earlier(self._read_at, self._version_at + CERTAIN_AFTER)
                return []
            self._version = 0  # no cache explains the difference: the higher version was wrong
        self._confirmed_at = max(self._confirmed_at, asked_at)
        if self._certain_at is not None and asked_at >= self._certain_at:
            self._certain_at = None
        return self._accept(race, now)

    def on_read_failed(self, now: float) -> None:
        """Schedule another read after one that failed."""
        if self.ended and not self.closed:
            self._read_at = _earlier(self._read_at, now + RETRY_PAUSE)

    def on_listing(self, race: Race, now: float) -> list[Notice]:
        """Process an entry of the list of past races. It may be a minute old, and has no version."""
        if race.recorded:
            return self._accept(race, now)
        if self.race is not None and _state(race) != _state(self.race):
            self._read_soon(now)
        return []

    def on_system_message(self, now: float) -> None:
        """Schedule reads of a race that ended: the message may announce an edit."""
        if not self.ended or self.closed:
            return
        self._certain_at = now + CERTAIN_AFTER
        self._read_soon(now)

    def on_reconnect(self, now: float) -> None:
        """Repeat reads that a lost connection may have interrupted."""
        if self.unsure:
            self._read_soon(now)

    def holds(self, result: RaceResult) -> bool:
        """Return whether a result is still the race's current one."""
        return self._candidate is not None and result.fingerprint() == self._candidate.fingerprint()

    def tick(self, now: float) -> list[Notice]:
        """Return the notices that are due by now."""
        notices: list[Notice] = []
        if self._read_at is not None and now >= self._read_at:
            self._last_read = now
            # Keep reading until one read is late enough to bypass the cache.
            self._read_at = (
                max(self._certain_at, now + READ_PAUSE)
                if self._certain_at is not None and now < self._certain_at
                else None
            )
            notices.append(ReadRace())
        if self._stands_at is not None and now >= self._stands_at and self._candidate is not None:
            self._stands_at = None
            notices.append(ResultStands(self._candidate, self._stood))
            self._stood = self._candidate
        return notices

    def _accept(self, race: Race, now: float) -> list[Notice]:
        if race.version is not None and race.version > self._version:
            self._version, self._version_at = race.version, now
        self.race = race
        if self.closed:
            return []
        if race.recorded and race.result is not None:
            self._forget_result()
            self._read_at = self._certain_at = None
            self.closed = True
            return [Recorded(race, race.result)]
        was_over, self._over = self._over, race.over
        if race.over:
            self._forget_result()
            return [] if was_over else [Over(race)]
        if race.result is None or not race.result.final:
            had_finished = self._candidate is not None
            self._forget_result()
            self._stood = None  # the next result is no edit of this one
            return [ResultTakenBack()] if had_finished else []
        if self._candidate is None or race.result.fingerprint() != self._candidate.fingerprint():
            self._stands_at = now + self.quiet
        self._candidate = race.result
        return []

    def _is_outdated(self, race: Race) -> bool:
        return race.version is not None and race.version < self._version and not race.recorded

    def _read_soon(self, now: float) -> None:
        if not self.closed:
            self._read_at = _earlier(self._read_at, max(now + READ_AFTER, self._last_read + READ_PAUSE))

    def _forget_result(self) -> None:
        self._candidate = None
        self._stands_at = None


def _earlier(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _state(race: Race) -> tuple[str, bool, str | None]:
    """Return the values on which the list and the race's own data must agree."""
    return race.status, race.recordable, race.result.fingerprint() if race.result else None
