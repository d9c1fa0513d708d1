"""The groups of a race as index arrays, optionally with a dummy player in last place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray


@dataclass(frozen=True, slots=True)
class Stages:
    """Entrants sorted by group.

    Attributes:
        order: shape [n]; the entrant at each position.
        start: shape [n]; the first position of each position's group.
        stop: shape [n]; one past the last position of that group.
    """

    order: IntArray
    start: IntArray
    stop: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The observed order of n entrants. The dummy player, if there is one, is the last entrant.

    Attributes:
        label: shape [n]; better groups have lower labels, which may have gaps.
        unfinished: shape [n]; always False for the dummy.
    """

    label: IntArray
    unfinished: BoolArray

    @classmethod
    def of(cls, outcome: Outcome, *, dummy: bool = False) -> Groups:
        """Return the groups of an outcome, with a `dummy` entrant who shares the last place if asked.

        The last place is that of the unfinished, or of the last finisher if all entrants finished, whether
        rated or not.
        """
        if not dummy:
            return cls(outcome.group, outcome.unfinished)
        return cls(np.append(outcome.group, outcome.last_group), np.append(outcome.unfinished, False))

    def stages(self, *, worst_first: bool) -> Stages:
        """Return the entrants sorted by group, worst or best group first."""
        key = -self.label if worst_first else self.label
        order = key.argsort(kind="stable")
        ascending = key[order]
        return Stages(order, ascending.searchsorted(ascending), ascending.searchsorted(ascending, "right"))

    def before(self) -> FloatArray:
        """Return 1 if entrant i (row) is placed before entrant j (column), -1 if behind, else 0: [n, n]."""
        ahead: FloatArray = np.sign(self.label - self.label[:, np.newaxis]).astype(np.float64)
        return ahead

    def places(self) -> FloatArray:
        """Return places from 1: shape [n]. Members of a group share the mean of their places."""
        stages = self.stages(worst_first=False)
        places = np.empty(self.label.size)
        places[stages.order] = (stages.start + 1 + stages.stop) / 2
        return places
