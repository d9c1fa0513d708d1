"""Thurstone's model, with independent performances around the rating.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.2.3, 4 and 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from racebot.ratings.model import FloatArray, Number, PredictsPerformance
from racebot.ratings.models.elo import bounded_gaussian_gain
from racebot.ratings.models.single import GradientModel, Groups, inherited
from racebot.ratings.numerics.order import posterior_moments
from racebot.ratings.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class Thurstone(GradientModel, PredictsPerformance):
    """Follow the gradient of the log-likelihood of independent performances of unit variance.

    The defaults are the published ones (section 5.2). The order within a group is marginalised.
    """

    key: ClassVar[str] = "thurstone"
    former: ClassVar[Parameters] = {"density": "gaussian", "weight": 1.0}
    """Parameters that are no more, with the values that old ledgers have."""

    initial_rating: Number = inherited("initial_rating", 0.3)
    dummy: Number | None = inherited("dummy", 0.9)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.65, 0.09, 0.07))
    floor: Number | None = inherited("floor", 0.0)

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        """Return the posterior means of the performances, which are the gradient."""
        worst_first = (-groups.label).argsort(kind="stable")
        places = groups.label[worst_first].tolist()
        moves = np.empty_like(ratings)
        for index in np.ndindex(ratings.shape[:-1]):
            means = ratings[index][worst_first].tolist()
            moves[index][worst_first] = posterior_moments(means, [1.0] * len(means), places)[0]
        return moves

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return bounded_gaussian_gain(b[..., 0] - a[..., 0])

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        return states[..., 0], np.ones(states.shape[:-1])
