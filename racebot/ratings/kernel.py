"""Base class for models that rate one race in plain floats, with a kernel that can also be compiled.

A kernel is a function `update(before, race, settings, after)` of one race and one parameter set:

- `before` holds the states before the race, as columns; see `RatingModel.columns` for their names.
- `race` is the outcome, a `KernelRace`.
- `settings` holds the parameters, as a named tuple of floats.
- `after` is filled with the states after the race. A kernel that updates in steps fills three outputs:
  `finish` after the hurdle, `place` after the order, and `limit` after the floors and the clamp.

It returns False if compiled code cannot rate the race, which is then rated in plain Python.

Plain Python passes lists, which is fast and bit-for-bit reproducible, as `racebot verify` requires.
`racebot.ratings.fast` compiles the same function with Numba (https://numba.pydata.org/) and passes arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import FloatArray, Number, RatingModel
from racebot.ratings.parameters import stack_parameters

Columns = list[list[float]]
"""k columns of n numbers each. In compiled code, a two-dimensional array."""


class Replayable(Protocol):
    """A race of a history."""

    @property
    def players(self) -> IntArray:
        """Return the entrants' rows in the table of states: shape [n]."""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome, which is always `rateable`."""


class KernelRace(NamedTuple):
    """An outcome as lists of n entries, or arrays in compiled code.

    Attributes:
        group: group of each entrant; better groups have lower numbers.
        unfinished: True for entrants who did not finish.
        last: True for entrants in last place, if all entrants finished.
        worst_first: indices of the finishers, worst placed first.
        day: end of the race, in days since 1970-01-01 UTC.
        last_group: group of the race's last entrant, rated or not.
        team: team number of each entrant; empty if the race is not rated by team.
    """

    group: list[int]
    unfinished: list[bool]
    last: list[bool]
    worst_first: list[int]
    day: float
    last_group: int = 0
    team: Sequence[int] = ()

    @property
    def rateable(self) -> bool:
        return bool(self.worst_first) and min(self.group) != max(self.group)

    @classmethod
    def of(cls, outcome: Outcome) -> KernelRace:
        group, unfinished = outcome.group.tolist(), outcome.unfinished.tolist()
        last = -1 if outcome.last_unfinished else outcome.last_group
        finishers = [i for i, out in enumerate(unfinished) if not out]
        finishers.sort(key=group.__getitem__, reverse=True)
        clamped = [place == last for place in group]
        team = () if outcome.team is None else outcome.team.tolist()
        return cls(group, unfinished, clamped, finishers, outcome.day, outcome.last_group, team)


def best_first(group: Sequence[int]) -> list[int]:
    """Return the indices of the entrants, best group first, in listing order within a group.

    This is an insertion sort: outcomes are usually sorted already, and Numba cannot sort by a key.
    """
    order = [i for i in range(len(group))]  # noqa: C416 - Numba cannot convert a range to a list
    for i in range(1, len(order)):
        k = i
        while k > 0 and group[order[k - 1]] > group[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    return order


@runtime_checkable
class Compilable(Protocol):
    """A model with a kernel that can be compiled."""

    key: ClassVar[str]

    @property
    def compilable(self) -> bool:
        """Return True if the compiled kernel covers the model's options."""

    @property
    def settings(self) -> FloatArray:
        """Return the kernel's parameters: shape [p], or [candidates, p] in a sweep."""

    def rate_candidate(self, states: FloatArray, outcome: Outcome, settings: Sequence[float]) -> FloatArray:
        """Rate one race with one candidate, in plain Python. Return NaN if its ratings diverge."""


@dataclass(frozen=True, kw_only=True)
class KernelModel(RatingModel, ABC):
    """Base class for models that rate a race with a kernel.

    In a sweep each numeric parameter is a number or an array of shape [candidates].
    """

    key: ClassVar[str]
    kernel_parameters: ClassVar[tuple[str, ...]]
    """Names of the kernel's parameters, in the order of its settings."""

    @abstractmethod
    def rate_race(self, before: Columns, race: KernelRace, settings: Sequence[float]) -> Columns:
        """Rate one race with one parameter set."""

    @property
    def compilable(self) -> bool:
        return True

    @cached_property
    def settings(self) -> FloatArray:
        values: list[Number] = [getattr(self, name) for name in self.kernel_parameters]
        return stack_parameters(values)

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        race = KernelRace.of(outcome)
        if not race.rateable:
            return states.copy()
        if states.ndim == 2 and self.settings.ndim == 1:
            return to_rows(self.rate_race(states.T.tolist(), race, self._values))
        rows, settings, shape = per_candidate(states, self.settings)
        after = np.empty_like(rows)
        for new, old, values in zip(after, rows, settings.tolist(), strict=True):
            new[:] = self._rate_candidate(old, race, values)
        return after.reshape(shape)

    @cached_property
    def _values(self) -> list[float]:
        values: list[float] = self.settings.tolist()
        return values

    def rate_candidate(self, states: FloatArray, outcome: Outcome, settings: Sequence[float]) -> FloatArray:
        return self._rate_candidate(states, KernelRace.of(outcome), settings)

    def _rate_candidate(self, states: FloatArray, race: KernelRace, settings: Sequence[float]) -> FloatArray:
        try:
            return to_rows(self.rate_race(states.T.tolist(), race, settings))
        except (ArithmeticError, ValueError):
            return np.full_like(states, np.nan)


class Steps(NamedTuple):
    """Columns after the hurdle update, after the order update, and after clamping to the limits."""

    finish: Columns
    place: Columns
    limit: Columns


@dataclass(frozen=True, kw_only=True)
class StepwiseKernelModel(KernelModel, ABC):
    """Base class for models whose kernel updates in steps; see `racebot.ratings.model.Stepwise`."""

    @abstractmethod
    def fill(self, before: Columns, race: KernelRace, settings: Sequence[float], steps: Steps) -> None:
        """Rate one race with one parameter set, and fill each step."""

    def race_steps(self, before: Columns, race: KernelRace, settings: Sequence[float]) -> Steps:
        steps = Steps(*([column.copy() for column in before] for _ in Steps._fields))
        self.fill(before, race, settings, steps)
        return steps

    def rate_race(self, before: Columns, race: KernelRace, settings: Sequence[float]) -> Columns:
        return self.race_steps(before, race, settings).limit

    def steps(self, states: FloatArray, outcome: Outcome) -> tuple[tuple[str, FloatArray], ...]:
        """Return the states after the hurdle (`finish`), the order (`place`) and the limits (`limit`)."""
        race = KernelRace.of(outcome)
        if not race.rateable:
            return tuple((name, states.copy()) for name in Steps._fields)
        steps = self.race_steps(states.T.tolist(), race, self._values)
        return tuple((name, to_rows(columns)) for name, columns in zip(Steps._fields, steps, strict=True))


def per_candidate(states: FloatArray, settings: FloatArray) -> tuple[FloatArray, FloatArray, tuple[int, ...]]:
    """Broadcast states and settings over all candidates.

    Args:
        states: shape [..., n, k].
        settings: shape [p], or [candidates, p]; candidates are the first leading axis of the states.

    Returns:
        States of shape [c, n, k], settings of shape [c, p], and the shape of the result.
    """
    leading = states.ndim - 2
    if settings.ndim > 1 and leading > 1:
        settings = settings.reshape(settings.shape[0], *(1,) * (leading - 1), settings.shape[-1])
    shape = np.broadcast_shapes(states.shape[:-2], settings.shape[:-1])
    rows = np.broadcast_to(states, (*shape, *states.shape[-2:]))
    values = np.broadcast_to(settings, (*shape, settings.shape[-1]))
    return (
        np.ascontiguousarray(rows.reshape(-1, *states.shape[-2:])),
        np.ascontiguousarray(values.reshape(-1, settings.shape[-1])),
        rows.shape,
    )


def to_rows(columns: Columns) -> FloatArray:
    """Convert columns to states of shape [n, k]."""
    rows: FloatArray = np.array(columns).T
    return rows
