"""A category's past races as arrays, for replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from racebot.races.outcome import BoolArray, IntArray, Outcome, TeamPolicy, outcome_of
from racebot.races.result import RaceResult
from racebot.ratings.model import FloatArray


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


class _Columns(NamedTuple):
    """The races of a history in a few large arrays, which pickle far faster than small objects.

    Attributes:
        name: names of the races.
        ended_at: ends of the races.
        size: shape [races]; numbers of entrants.
        last_group: shape [races].
        last_unfinished: shape [races].
        day: shape [races].
        players: the entrants of all races, one race after the other.
        group: their groups.
        unfinished: True for those who did not finish.
        team: the entrants' teams, by the index of each race that is rated by team.
    """

    name: list[str]
    ended_at: list[datetime]
    size: IntArray
    last_group: IntArray
    last_unfinished: BoolArray
    day: FloatArray
    players: NDArray[np.int32]
    group: NDArray[np.int32]
    unfinished: BoolArray
    team: dict[int, IntArray]

    @classmethod
    def of(cls, races: tuple[PastRace, ...]) -> _Columns:
        outcomes = [race.outcome for race in races]
        return cls(
            [race.name for race in races],
            [race.ended_at for race in races],
            np.array([outcome.size for outcome in outcomes], dtype=np.intp),
            np.array([outcome.last_group for outcome in outcomes], dtype=np.intp),
            np.array([outcome.last_unfinished for outcome in outcomes], dtype=np.bool_),
            np.array([outcome.day for outcome in outcomes]),
            np.concatenate([np.empty(0, dtype=np.int32), *(r.players for r in races)], dtype=np.int32),
            np.concatenate([np.empty(0, dtype=np.int32), *(o.group for o in outcomes)], dtype=np.int32),
            np.concatenate([np.empty(0, dtype=np.bool_), *(o.unfinished for o in outcomes)]),
            {i: outcome.team for i, outcome in enumerate(outcomes) if outcome.team is not None},
        )

    def races(self) -> tuple[PastRace, ...]:
        players, group = self.players.astype(np.intp), self.group.astype(np.intp)
        stops = np.cumsum(self.size).tolist()
        found = []
        for i, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            outcome = Outcome(
                group=group[start:stop],
                unfinished=self.unfinished[start:stop],
                last_group=int(self.last_group[i]),
                last_unfinished=bool(self.last_unfinished[i]),
                team=self.team.get(i),
                day=float(self.day[i]),
            )
            found.append(PastRace(self.name[i], self.ended_at[i], players[start:stop], outcome))
        return tuple(found)


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

    def __reduce__(self) -> tuple[Callable[..., History], tuple[object, ...]]:
        """Pickle the races as a few large arrays: studies send them to every process."""
        return _unpickled, (self.players, self.names, _Columns.of(self.races))

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


def _unpickled(players: tuple[str, ...], names: tuple[str, ...], columns: _Columns) -> History:
    return History(players, names, columns.races())
