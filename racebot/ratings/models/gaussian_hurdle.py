"""Shared parameters, points and forecasts of the hurdle models with Gaussian skills.

docs/model.md derives them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from racebot.errors import ModelError
from racebot.ratings.broadcast import broadcast_to
from racebot.ratings.kernel import StepwiseKernelModel
from racebot.ratings.model import FloatArray, Number, PredictsFinish, PredictsPerformance, to_points
from racebot.ratings.numerics.truncated_normal import normal_cdfs
from racebot.ratings.parameters import parameter

MOST_ODDS_DOUBT = 8.0
"""Upper bound on λ. Without it, a fit to a few dozen races diverges."""


@dataclass(frozen=True, kw_only=True)
class GaussianHurdleModel(StepwiseKernelModel, PredictsFinish, PredictsPerformance):
    """Base class of the hurdle models with Gaussian skills.

    In a sweep each numeric parameter is a number or an array of shape [candidates].

    Raises:
        ModelError: on creation, if the lapse is not below 1.
    """

    rates_teams: ClassVar[bool] = False

    level: Number = parameter(
        0.0, help="a of the hurdle: the skill at which half of the players finish", search=(-8.0, 6.0)
    )
    width: Number = parameter(
        1.0,
        help="b of the hurdle: the larger, the less a finish or a DNF counts",
        positive=True,
        search=(0.3, 8.0),
    )
    lapse: Number = parameter(
        0.0,
        help="q of the hurdle: probability of a DNF regardless of skill; below 1. With spare_finishers, any "
        "q above 0 makes all ratings rise",
        minimum=0.0,
    )
    finish_level: Number = parameter(
        0.0, help="rating at which a finish is forecast at 50 %", search=(-8.0, 6.0)
    )
    finish_width: Number = parameter(
        1.0,
        help="width of the finish forecast: the larger, the less the rating matters",
        positive=True,
        search=(0.3, 12.0),
    )
    odds_scale: Number = parameter(
        1.0,
        help="κ of the odds: the larger, the more certain they are; changes no rating",
        positive=True,
        search=(0.3, 2.5),
    )
    odds_doubt: Number = parameter(
        1.0,
        help="λ of the odds: how much uncertainty evens them out; changes no rating",
        minimum=0.0,
        maximum=MOST_ODDS_DOUBT,
        search=(0.0, MOST_ODDS_DOUBT),
    )
    spare_finishers: bool = parameter(False, help="whether a finisher never loses more than for a forfeit")
    newcomer_points: Number = parameter(1000.0, help="points of a newcomer")
    points_scale: Number = parameter(250.0, help="points per unit of rating", positive=True)

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.lapse) >= 1.0):
            raise ModelError(f"{self.key}: lapse={self.lapse!r} is not below 1")

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the names of the k numbers in a player's state."""

    @abstractmethod
    def initial(self) -> FloatArray:
        """Return the state of a player without races: shape [k], or [candidates, k] in a sweep."""

    @abstractmethod
    def rating(self, states: FloatArray) -> FloatArray:
        """Return the rating by which players are ranked, higher is better: shape [..., n]."""

    @abstractmethod
    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Return the variance of each player's skill estimate: shape [..., n]."""

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        above = rating - broadcast_to(self._newcomer_rating, rating)
        scaled = broadcast_to(self.points_scale, rating) * above
        return to_points(broadcast_to(self.newcomer_points, rating) + scaled)

    @cached_property
    def _newcomer_rating(self) -> FloatArray:
        newcomer: FloatArray = self.rating(self.initial()[..., np.newaxis, :])[..., 0]
        return newcomer

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the probability that a player in state `a` is placed before one in state `b`: shape [...].

        This is Φ(κ·lead / √(2 + λ·(v₁ + v₂))): the lead in rating, relative to the variance of two
        performances and the uncertainty of two skills. Finish probabilities are left out, because the ratings
        already reflect them (see docs/model.md).
        """
        lead = self.rating(a) - self.rating(b)
        doubt = broadcast_to(self.odds_doubt, lead) * (self.skill_variance(a) + self.skill_variance(b))
        scaled = broadcast_to(self.odds_scale, lead) * lead
        return normal_cdfs(scaled / np.sqrt(2.0 + doubt))

    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Return the probability that each player finishes their next race: shape [..., n].

        It has separate parameters: those of the hurdle control how informative a finish is, not how likely.
        """
        rating = self.rating(states)
        width = np.sqrt(broadcast_to(self.finish_width, rating) ** 2 + self.skill_variance(states))
        return normal_cdfs((rating - broadcast_to(self.finish_level, rating)) / width)

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each player's next performance, given a finish: [..., n].

        They are scaled like the odds of a pair, so that the odds of a race agree with those of its pairs.
        """
        rating = self.rating(states)
        doubt = broadcast_to(self.odds_doubt, rating) * self.skill_variance(states)
        return rating, np.sqrt(1.0 + doubt) / broadcast_to(self.odds_scale, rating)
