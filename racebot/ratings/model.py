"""The interfaces of rating models.

A model is an immutable value object with named parameters. A player's state is a row of k floats, and
the model's one method takes the rows of a race's entrants and the outcome and returns new rows.

Shapes: states are [..., n, k] with n entrants. Leading axes are candidates: the same race rated for
many parameter sets at once. A numeric parameter is then an array of shape [candidates], and broadcasts
against the leading axis.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from racebot.races.outcome import Outcome

FloatArray = NDArray[np.float64]
Number = Any
"""A parameter: a float, or an array of shape [candidates] in a sweep over parameter sets."""


@runtime_checkable
class RatingModel(Protocol):
    """A rating system in the array interface. Implementations never mutate what they are given."""

    key: ClassVar[str]
    """Name in the registry, as written in settings and on the command line."""
    rates_teams: ClassVar[bool]
    """Whether `Outcome.team` is understood."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the k numbers of a player's state."""
        ...

    def initial(self) -> FloatArray:
        """State of a player without a race: shape [k], or [candidates, k] in a sweep."""
        ...

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        """States after the race: shape [..., n, k], like `states`.

        An outcome that is not `rateable` returns the states unchanged.
        """
        ...

    def rating(self, states: FloatArray) -> FloatArray:
        """The number that ranks players, higher is better: shape [..., n]."""
        ...

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        """The whole number that is shown: shape [..., n]."""
        ...

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Probability that a player in state a is placed before one in state b: shape of the rows [...]."""
        ...


@runtime_checkable
class Stepwise(Protocol):
    """A model that updates in steps: `finish`, `place`, and `limit`, which keeps every bound."""

    def steps(self, states: FloatArray, outcome: Outcome) -> tuple[tuple[str, FloatArray], ...]:
        """Return the states after each named step, shaped like `states`; the last equal those of `rate`."""
        ...


@runtime_checkable
class Carries(Protocol):
    """A model that can start a season from the ratings of an earlier one."""

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        """States to start the next season from, shaped like `states`.

        Args:
            states: at the end of a season, shape [..., n, k].
            factor: share of a rating's distance to a newcomer's that is kept, from 0 to 1.
            most_races: cap on the number of races that still count, if the model counts races.
        """
        ...


@runtime_checkable
class PredictsFinish(Protocol):
    """A model that forecasts finishes."""

    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Probability that each player finishes their next race: shape [..., n]."""
        ...


@runtime_checkable
class PredictsPerformance(Protocol):
    """A model in which the order of a race is that of independent Gaussian performances."""

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each player's next performance, should they finish: [..., n]."""
        ...


def to_points(points: FloatArray) -> NDArray[np.int64]:
    """Round to whole points."""
    return np.rint(points).astype(np.int64)
