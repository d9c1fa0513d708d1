"""The interfaces of rating models.

A model is an immutable value object with named parameters. States have shape [..., n, k], a row of k floats
for each of n entrants. In a sweep, which rates the same race with many parameter sets at once, numeric
parameters have shape [candidates] and broadcast against the leading axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from racebot.races.outcome import Outcome

FloatArray = NDArray[np.float64]
Number = float | FloatArray
"""A parameter: a float, or an array of shape [candidates] in a sweep over parameter sets."""
REVISION = 8
"""Increased when a model rates differently, even in the last bits: stored ratings are then computed again."""


@runtime_checkable
class RatingModel(Protocol):
    """A rating model. Implementations never mutate their arguments."""

    key: ClassVar[str]
    """Key in the registry, in settings and on the command line."""
    rates_teams: ClassVar[bool]
    """True if the model uses `Outcome.team`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the k numbers in a player's state."""

    def initial(self) -> FloatArray:
        """Return the state of a player without races: shape [k], or [candidates, k] in a sweep."""

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        """Return the states after a race: shape [..., n, k], like `states`.

        The states are unchanged if the outcome is not `rateable`.
        """

    def rating(self, states: FloatArray) -> FloatArray:
        """Return the rating by which players are ranked, higher is better: shape [..., n].

        By default, that is the first number of a state.
        """
        return states[..., 0]

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        """Return the integer points that players see, by default the rounded rating: shape [..., n]."""
        return to_points(self.rating(states))

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the probability that a player in state `a` is placed before one in state `b`: [...]."""


@runtime_checkable
class Carries(Protocol):
    """A model whose ratings can carry over into a new season."""

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        """Return the states at the start of the next season, shaped like `states`.

        Args:
            states: states at the end of the last season, shape [..., n, k].
            factor: share of the distance from a newcomer's rating to keep, from 0 to 1.
            most_races: cap on the race count, if the model keeps one.
        """


def shrink_toward(newcomer: FloatArray, values: FloatArray, factor: float) -> FloatArray:
    """Shrink values toward a newcomer's. A factor of 1 keeps them, and 0 resets them."""
    return newcomer + factor * (values - newcomer)


def shrink_variance(newcomer: FloatArray, variances: FloatArray, factor: float) -> FloatArray:
    """Return the variances of skills whose means are shrunk by the same factor.

    The new skill is `factor` times the old deviation plus independent noise, chosen so that a newcomer's
    variance does not change.
    """
    return factor**2 * variances + (1.0 - factor**2) * newcomer


class PredictsFinish(ABC):
    """A model that forecasts finishes."""

    @abstractmethod
    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Return the probability that each player finishes their next race: shape [..., n]."""


class PredictsPerformance(ABC):
    """A model that orders a race by independent Gaussian performances."""

    @abstractmethod
    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each player's next performance, given a finish: [..., n]."""

    def team_performance(self, states: FloatArray, members: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each team's next performance, the mean of its members': [m].

        Args:
            states: shape [n, k].
            members: shape [n, m]; 1 for the members of each team, otherwise 0.
        """
        mean, spread = self.performance(states)
        sizes = members.sum(0)
        return mean @ members / sizes, np.sqrt(spread**2 @ members) / sizes


def to_points(points: FloatArray) -> NDArray[np.int64]:
    """Round to whole points."""
    return np.rint(points).astype(np.int64)
