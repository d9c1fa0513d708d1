"""A category's past races as arrays, for replay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from racebot.races.outcome import IntArray, Outcome, TeamPolicy, outcome_of
from racebot.races.result import RaceResult


@dataclass(frozen=True, slots=True, eq=False)
class PastRace:
    """One race that can be rated.

    Attributes:
        name: the race's name on the site.
        ended_at: when the race ended.
        players: shape [n]; indices of the rated entrants in `History.players`, in the order of `outcome`.
        outcome: the entrants' partial order; always `rateable`.
    """

    name: str
    ended_at: datetime
    players: IntArray
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Races in the order they ended, and their players.

    Parts of a history keep all players, so that they can share a table of states.

    Attributes:
        players: user ids. `PastRace.players` holds indices into this tuple.
        names: the players' latest names, in the same order.
        races: the races, oldest first.
    """

    players: tuple[str, ...]
    names: tuple[str, ...]
    races: tuple[PastRace, ...]

    @classmethod
    def of(cls, results: Iterable[RaceResult], teams: TeamPolicy = TeamPolicy.IGNORE) -> History:
        """Collect the recorded races that can be rated.

        If a race is given twice, the last one counts.

        Args:
            results: race results in any order, recorded or not.
            teams: how to rate team races; by default they are left out.

        Raises:
            PayloadError: a result has no comparable times or places.
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
            names.update(zip(race.players, (entrant.name for entrant in race.entrants), strict=True))
            ids = [numbers.setdefault(player, len(numbers)) for player in race.players]
            players = np.array(ids, dtype=np.intp)
            races.append(PastRace(result.name, result.ended_at, players, race.outcome))
        return cls(tuple(numbers), tuple(names[player] for player in numbers), tuple(races))

    def __len__(self) -> int:
        return len(self.races)

    def of_sizes(self, least: int, most: int) -> History:
        """Return the races with `least` to `most` rated entrants, inclusive."""
        return replace(self, races=tuple(r for r in self.races if least <= r.outcome.size <= most))

    def split(self, share: float) -> tuple[History, History]:
        """Return the first `share` of the races, from 0 to 1, and the rest."""
        cut = round(share * len(self.races))
        return replace(self, races=self.races[:cut]), replace(self, races=self.races[cut:])

    def races_of_players(self) -> IntArray:
        """Count each player's races: shape [players]."""
        return np.bincount(
            np.concatenate([np.empty(0, dtype=np.intp), *(race.players for race in self.races)]),
            minlength=len(self.players),
        )
