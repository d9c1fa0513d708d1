"""Thurstone's model, with independent performances around the rating.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.2.3, 4 and 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from racebot.ratings.broadcast import per_entrant
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.elo import gaussian_win
from racebot.ratings.models.single import SingleParameterModel, inherited
from racebot.ratings.numerics.densities import GAUSSIAN, LOGISTIC
from racebot.ratings.numerics.order_recursion import score_means
from racebot.ratings.numerics.order_statistics import posterior_moments
from racebot.ratings.parameters import parameter
from racebot.ratings.ranking import Groups


@dataclass(frozen=True, kw_only=True)
class Thurstone(SingleParameterModel):
    """Follow the gradient of the log-likelihood of independent performances of unit variance.

    The defaults are the published ones (section 5.2). The order within a group is marginalised.
    """

    key: ClassVar[str] = "thurstone"

    initial_rating: Number = inherited("initial_rating", 0.3)
    dummy: Number | None = inherited("dummy", 0.9)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.65, 0.09, 0.07))
    floor: Number | None = inherited("floor", 0.0)
    density: str = parameter(
        "gaussian",
        help="distribution of performances around the rating",
        choices=("gaussian", "logistic"),
    )
    weight: Number = parameter(
        1.0,
        help="weight of each unfinished player in the likelihood; 1 is exact, 0 leaves them out",
        minimum=0.0,
        search=(0.0, 1.5),
    )

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        exact = np.ndim(self.weight) == 0 and self.weight == 1
        weights = None if exact else np.where(groups.unfinished, per_entrant(self.weight), 1.0)
        if self.density == "logistic":
            return score_means(ratings, groups, LOGISTIC, weights=weights)
        if weights is None and np.unique(groups.label).size == groups.label.size:
            return _complete_order(ratings, groups)
        return score_means(ratings, groups, GAUSSIAN, weights=weights)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        lead = a[..., 0] - b[..., 0]
        return gaussian_win(lead) if self.density == "gaussian" else logistic_win(lead)

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each player's next performance: [..., n].

        Logistic performances are approximated by Gaussian ones of the same variance.
        """
        return states[..., 0], np.ones(states.shape[:-1])


def _complete_order(ratings: FloatArray, groups: Groups) -> FloatArray:
    """Return posterior means of Gaussian performances for an order without ties: shape [..., n]."""
    worst_first = (-groups.label).argsort()
    places = groups.label[worst_first].tolist()
    flat = ratings.reshape(-1, ratings.shape[-1])
    moves = np.full_like(flat, np.nan)
    for row, move in zip(flat, moves, strict=True):
        if np.isfinite(row).all():
            means = row[worst_first].tolist()
            move[worst_first] = posterior_moments(means, [1.0] * len(means), places)[0]
    return moves.reshape(ratings.shape)


def logistic_win(lead: FloatArray) -> FloatArray:
    """Return the win probability for logistic performances of unit variance, given the lead in rating.

    With d the lead in units of the logistic scale, it is e^d (e^d - 1 - d) / (e^d - 1)².
    """
    d = np.abs(lead) * np.pi / np.sqrt(3)
    apart = np.maximum(d, 1e-2)
    stronger = (-np.expm1(-apart) - apart * np.exp(-apart)) / np.expm1(-apart) ** 2
    stronger = np.where(d < 1e-2, 0.5 + d / 6 - d**3 / 180, stronger)
    chance: FloatArray = np.where(lead < 0, 1 - stronger, stronger)
    return chance
