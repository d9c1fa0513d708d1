"""A category's past races as arrays: what a replay walks through."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from racebot.races.outcome import IntArray, Outcome, TeamPolicy, outcome_of
from racebot.races.result import RaceResult


@dataclass(frozen=True, slots=True, eq=False)
class PastRace:
    """One race that tells something about its rated entrants.

    Attributes:
        name: the race's name on the site.
        ended_at: when it ended.
        players: shape [n], the rated entrants' numbers in `History.players`, in the order of `outcome`.
        outcome: their partial ordering; always `rateable`.
    """

    name: str
    ended_at: datetime
    players: IntArray
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Races in the order in which they ended, and the players that they are about.

    Parts of a history keep all its players, so that a table of states that was filled by one part
    serves another.

    Attributes:
        players: user ids; a player's position is the number that `PastRace.players` holds.
        names: the players' latest names, in the same order.
        races: the races, oldest first.
    """

    players: tuple[str, ...]
    names: tuple[str, ...]
    races: tuple[PastRace, ...]

    @classmethod
    def of(cls, results: Iterable[RaceResult], teams: TeamPolicy = TeamPolicy.IGNORE) -> History:
        """The recorded races among these results that can be rated, whatever order they come in.

        A race that comes twice counts once, as it came last.

        Args:
            results: race results, recorded or not.
            teams: what races of teams mean; by default they are left out.

        Raises:
            PayloadError: a result without comparable times or places.
        """
        recorded = {result.name: result for result in results if result.recorded and result.final}
        numbers: dict[str, int] = {}
        names: dict[str, str] = {}
        races = []
        for result in sorted(recorded.values(), key=lambda result: (result.ended_at, result.name)):
            if result.team_race and teams is TeamPolicy.IGNORE:
                continue
            race = outcome_of(result, teams)
            if not race.outcome.rateable:
                continue
            ids = [entrant.user_id or "" for entrant in race.entrants]
            names.update(zip(ids, (entrant.name for entrant in race.entrants), strict=True))
            players = np.array([numbers.setdefault(player, len(numbers)) for player in ids], dtype=np.intp)
            races.append(PastRace(result.name, result.ended_at, players, race.outcome))
        return cls(tuple(numbers), tuple(names[player] for player in numbers), tuple(races))

    def __len__(self) -> int:
        return len(self.races)

    def between(self, start: datetime | None = None, stop: datetime | None = None) -> History:
        """The races that ended at `start` or later and before `stop`."""
        first = 0 if start is None else bisect.bisect_left(self.races, start, key=_ended_at)
        last = len(self.races) if stop is None else bisect.bisect_left(self.races, stop, key=_ended_at)
        return replace(self, races=self.races[first:last])

    def split(self, share: float) -> tuple[History, History]:
        """The first `share` of the races, from 0 to 1, and the rest."""
        cut = round(share * len(self.races))
        return replace(self, races=self.races[:cut]), replace(self, races=self.races[cut:])

    def races_of_players(self) -> IntArray:
        """Number of races of each player: shape [players]."""
        return np.bincount(
            np.concatenate([np.empty(0, dtype=np.intp), *(race.players for race in self.races)]),
            minlength=len(self.players),
        )


def _ended_at(race: PastRace) -> datetime:
    return race.ended_at
