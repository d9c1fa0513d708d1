"""The groups of a race as index arrays, optionally with a dummy player in last place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import FloatArray


class Stages(NamedTuple):
    """Entrants sorted by group.

    Attributes:
        order: shape [n]; the entrant at each position.
        start: shape [n]; the first position of each position's group.
        stop: shape [n]; one past the last position of that group.
    """

    order: IntArray
    start: IntArray
    stop: IntArray


class Groups(NamedTuple):
    """The observed order of n entrants. The dummy player, if there is one, is the last entrant.

    `label` has shape [n]; better groups have lower labels, which may have gaps.
    """

    label: IntArray

    @classmethod
    def of(cls, outcome: Outcome, *, dummy: bool = False) -> Groups:
        """Return an outcome's groups, with a `dummy` in the last place of all entrants, even unrated ones."""
        return cls(np.append(outcome.group, outcome.last_group) if dummy else outcome.group)

    def stages(self, *, worst_first: bool) -> Stages:
        """Return the entrants sorted by group, worst or best group first."""
        key = -self.label if worst_first else self.label
        order = key.argsort(kind="stable")
        ascending = key[order]
        return Stages(order, ascending.searchsorted(ascending), ascending.searchsorted(ascending, "right"))

    def before(self) -> FloatArray:
        """Return 1 if entrant i (row) is placed before entrant j (column), -1 if behind, else 0: [n, n]."""
        return np.sign(self.label - self.label[:, np.newaxis]).astype(np.float64)

    def places(self) -> FloatArray:
        """Return places from 1: shape [n]. Members of a group share the mean of their places."""
        stages = self.stages(worst_first=False)
        places = np.empty(self.label.size)
        places[stages.order] = (stages.start + 1 + stages.stop) / 2
        return places
