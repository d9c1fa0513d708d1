"""A race room as a state machine: events in, notices out, no I/O and no clock of its own.

The room decides when a result stands (finished, everybody's status final, quiet for a while), when it
was taken back, when it is recorded, and when nothing can come of the race any more. The shell in
`connection.py` feeds it what the socket brings and the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race


@dataclass(frozen=True, slots=True)
class ResultStands:
    """The race is finished and its result has not changed for the quiet time."""

    result: RaceResult


@dataclass(frozen=True, slots=True)
class ResultTakenBack:
    """The race that was finished goes on: what was said of it no longer holds."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A moderator recorded the race. Chat is closed from this moment."""

    race: Race
    result: RaceResult


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing further can come of the race: cancelled, split, or never to be recorded."""

    reason: str


Notice = ResultStands | ResultTakenBack | Recorded | Over


class Room:
    """One race room. Times are seconds on any monotonic scale."""

    def __init__(self, name: str, *, quiet: float) -> None:
        self.name = name
        self.quiet = quiet
        self.race: Race | None = None
        self.closed = False
        """Whether the race is settled or over, so that nobody needs to watch it any more."""
        self._candidate: RaceResult | None = None
        self._stands_at: float | None = None
        self._version = 0

    @property
    def deadline(self) -> float | None:
        """When `tick` next has something to do, or None."""
        return self._stands_at

    def update(self, race: Race, now: float) -> list[Notice]:
        """Take the race as it now stands. Frames may repeat, and one may arrive after a newer one."""
        if race.version is not None:
            if race.version < self._version and not race.recorded:
                return []
            self._version = max(race.version, self._version)
        self.race = race
        if self.closed:
            return []
        if race.recorded and race.result is not None:
            self._forget()
            self.closed = True
            return [Recorded(race, race.result)]
        if race.over:
            self._forget()
            self.closed = True
            return [Over("cancelled" if race.status == "cancelled" else "not recorded")]
        if race.result is None or not race.result.final:
            had_finished = self._candidate is not None
            self._forget()
            return [ResultTakenBack()] if had_finished else []
        if self._candidate is None or race.result.fingerprint() != self._candidate.fingerprint():
            self._stands_at = now + self.quiet
        self._candidate = race.result
        return []

    def holds(self, result: RaceResult) -> bool:
        """Whether a result is still the one that the race has."""
        return self._candidate is not None and result.fingerprint() == self._candidate.fingerprint()

    def tick(self, now: float) -> list[Notice]:
        """Tell what the passing of time decides."""
        if self._stands_at is None or now < self._stands_at or self._candidate is None:
            return []
        self._stands_at = None
        return [ResultStands(self._candidate)]

    def _forget(self) -> None:
        self._candidate = None
        self._stands_at = None
