"""The groups of a race as index arrays, with the dummy player's place among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray


@dataclass(frozen=True, slots=True)
class Stages:
    """Entrants in the order in which their groups leave the race.

    Attributes:
        order: shape [n]; entrant at each position.
        start: shape [n]; first position of the group that the position belongs to.
        stop: shape [n]; one past the last position of that group.
    """

    order: IntArray
    start: IntArray
    stop: IntArray

    def tied(self) -> list[slice]:
        """Positions of each group of more than one, in order."""
        starts = np.flatnonzero((self.start == np.arange(self.order.size)) & (self.stop - self.start > 1))
        return [slice(int(start), int(self.stop[start])) for start in starts]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The observed order of n entrants; the dummy player, if any, is the last of them.

    Attributes:
        label: shape [n]; a better group has a lower label; labels may have gaps.
        unfinished: shape [n]; the dummy is never marked.
    """

    label: IntArray
    unfinished: BoolArray

    @classmethod
    def of(cls, outcome: Outcome, *, dummy: bool = False) -> Groups:
        """The groups of an outcome; with `dummy`, one more entrant who shares the race's last place.

        That is the place of the last entrant of the race, rated or not: with the unfinished, or with the
        last finisher if all entrants finished.
        """
        if not dummy:
            return cls(outcome.group, outcome.unfinished)
        return cls(np.append(outcome.group, outcome.last_group), np.append(outcome.unfinished, False))

    def stages(self, *, worst_first: bool) -> Stages:
        """Entrants sorted by group, the worst or the best group first."""
        key = -self.label if worst_first else self.label
        order = key.argsort(kind="stable")
        ascending = key[order]
        return Stages(order, ascending.searchsorted(ascending), ascending.searchsorted(ascending, "right"))

    def members(self) -> list[IntArray]:
        """Indices of each group's entrants, the best group first."""
        order = self.label.argsort(kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.label[order])) + 1)

    def before(self) -> FloatArray:
        """Shape [n, n]: 1 where the row's entrant is placed before the column's, -1 behind, 0 unobserved."""
        ahead: FloatArray = np.sign(self.label - self.label[:, np.newaxis]).astype(np.float64)
        return ahead

    def places(self) -> FloatArray:
        """Shape [n]: places from 1; the members of a group share the mean of the places they occupy."""
        stages = self.stages(worst_first=False)
        places = np.empty(self.label.size)
        places[stages.order] = (stages.start + 1 + stages.stop) / 2
        return places
