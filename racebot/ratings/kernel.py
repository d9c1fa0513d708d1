"""Base class for models that rate one race in plain floats, with a kernel that can also be compiled.

A kernel is a function `update(before, race, settings, steps)` of one race and one parameter set:

- `before` holds the states before the race, as columns.
- `settings` holds the parameters by name, as floats.
- `steps` is filled with the states after each of the model's `step_names`.

It returns False if compiled code cannot rate the race, which is then rated in plain Python.

Plain Python passes lists, which is fast and bit-for-bit reproducible, as `racebot verify` requires.
`racebot.ratings.fast` compiles the same function with Numba (https://numba.pydata.org/) and passes arrays.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.parameters import stack_parameters

Columns = list[list[float]]
"""k columns of n numbers each. In compiled code, a two-dimensional array."""


@dataclass(frozen=True, slots=True, eq=False)
class PastRace:
    """One race of a history that can be rated.

    Attributes:
        players: shape [n]; rows of the rated entrants in a table of states, in the order of `outcome`.
        outcome: the entrants' partial order; always `rateable`.
    """

    name: str
    ended_at: datetime
    players: IntArray
    outcome: Outcome


class KernelRace(NamedTuple):
    """An outcome as lists, or arrays in compiled code. A unit is a team, or an entrant who is rated alone.

    Attributes:
        group: group of each unit; better groups have lower numbers.
        worst_first: indices of the units that finished, worst placed first.
        day: end of the race, in days since 1970-01-01 UTC.
        last_group: group of the race's last entrant, rated or not.
        clamped: the same if all entrants finished, so that last place gains nothing; otherwise -1.
        unit: index of each entrant's unit.
        sizes: number of members of each unit.
    """

    group: list[int]
    unfinished: list[bool]
    worst_first: list[int]
    day: float
    last_group: int
    clamped: int
    unit: list[int]
    sizes: list[int]

    @classmethod
    def of(cls, outcome: Outcome, *, by_team: bool = False) -> KernelRace:
        group, unfinished = outcome.group.tolist(), outcome.unfinished.tolist()
        unit, sizes = list(range(len(group))), [1] * len(group)
        if by_team and outcome.team is not None:
            teams = outcome.team.tolist()
            first = {team: teams.index(team) for team in teams}
            unit, sizes = [list(first).index(team) for team in teams], [teams.count(team) for team in first]
            group, unfinished = ([values[i] for i in first.values()] for values in (group, unfinished))
        finishers = [i for i, out in enumerate(unfinished) if not out]
        finishers.sort(key=group.__getitem__, reverse=True)
        last, clamped = outcome.last_group, clamped_group(outcome)
        return cls(group, unfinished, finishers, outcome.day, last, clamped, unit, sizes)


def clamped_group(outcome: Outcome) -> int:
    """Return the group in last place if all entrants finished, otherwise -1."""
    return -1 if outcome.last_unfinished else outcome.last_group


@dataclass(frozen=True, kw_only=True)
class KernelModel(RatingModel, ABC):
    key: ClassVar[str]
    kernel: ClassVar[Callable[..., bool]]
    kernel_settings: ClassVar[type[Any]]
    """Named tuple of the kernel's parameters. If the last is `bends`, it holds all remaining numbers."""
    step_names: ClassVar[tuple[str, ...]] = ("after",)

    @cached_property
    def settings(self) -> FloatArray:
        """Return the kernel's parameters: shape [p], or [candidates, p] in a sweep."""
        return stack_parameters(getattr(self, name) for name in self.kernel_settings._fields)

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        if not outcome.rateable:
            return states.copy()
        settings = self.settings
        if states.ndim == 2 and settings.ndim == 1:
            return to_rows(self.race_steps(states, outcome, settings)[-1])
        # Candidates are the first leading axis of the states.
        settings = settings.reshape(*settings.shape[:-1], *(1,) * (states.ndim - 3), settings.shape[-1])
        leading = np.broadcast_shapes(states.shape[:-2], settings.shape[:-1])
        after = np.array(np.broadcast_to(states, (*leading, *states.shape[-2:])))
        settings = np.broadcast_to(settings, (*leading, settings.shape[-1]))
        for index in np.ndindex(leading):
            after[index] = self.rate_candidate(after[index], outcome, settings[index])
        return after

    def rate_candidate(self, states: FloatArray, outcome: Outcome, settings: FloatArray) -> FloatArray:
        """Rate one race with one candidate, in plain Python. Return NaN if its ratings diverge."""
        try:
            return to_rows(self.race_steps(states, outcome, settings)[-1])
        except (ArithmeticError, ValueError):
            return np.full_like(states, np.nan)

    def race_steps(self, states: FloatArray, outcome: Outcome, settings: FloatArray) -> list[Columns]:
        """Rate one race with one parameter set, and return the columns after each step."""
        before, values = states.T.tolist(), settings.tolist()
        steps = [[column.copy() for column in before] for _ in self.step_names]
        names = self.kernel_settings._fields
        if names[-1] == "bends":
            values[len(names) - 1 :] = [values[len(names) - 1 :]]
        self.kernel(
            before, KernelRace.of(outcome, by_team=self.rates_teams), self.kernel_settings(*values), steps
        )
        return steps


def to_rows(columns: Columns) -> FloatArray:
    """Convert columns to states of shape [n, k]."""
    return np.array(columns).T
