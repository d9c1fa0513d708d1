"""Elo, exponential and Gaussian: for two players, over the pairs of a race, and Thurstone's model.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.1, 3.2.1 and 3.2.3 to 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from racebot.errors import ModelError
from racebot.ratings.model import FloatArray, Number, PredictsPerformance
from racebot.ratings.models.single import GradientModel, Groups, inherited
from racebot.ratings.numerics.order import posterior_moments
from racebot.ratings.parameters import Parameters, parameter, unobserved_or_tie

Gain = Callable[[FloatArray], FloatArray]
"""Maps the winner's lead in rating to the update: the winner's gain and the loser's loss."""


def exponential_gain(lead: FloatArray) -> FloatArray:
    """Return the gain of a win for exponential performances: the loser's win probability (section 3.1.1)."""
    return scipy.special.expit(-lead)


def gaussian_gain(lead: FloatArray) -> FloatArray:
    """Return the gain of a win for Gaussian performances: φ(z)/Φ(z)/√2, z = lead/√2 (section 3.1.2)."""
    z = lead / np.sqrt(2)
    return np.exp(-(z**2) / 2 - scipy.special.log_ndtr(z)) / np.sqrt(4 * np.pi)


def bounded_gaussian_gain(lead: FloatArray) -> FloatArray:
    """Return the gain of a win under the original, bounded rule: the loser's win probability Φ(-lead/√2)."""
    return scipy.special.ndtr(-lead / np.sqrt(2))


def pair_moves(ratings: FloatArray, groups: Groups, gain: Gain, *, ties: bool) -> FloatArray:
    """Return the update of entrant i (row) from the pair with entrant j (column): shape [..., n, n].

    Members of the same group are not compared, unless `ties` says that they drew: half a win and half a loss.
    """
    won = groups.before()
    lead = ratings[..., :, np.newaxis] - ratings[..., np.newaxis, :]
    moves = won * gain(won * lead)
    if ties:
        moves += (won == 0) * (gain(lead) - gain(-lead)) / 2
    return moves


@dataclass(frozen=True, kw_only=True)
class TwoPlayerElo(GradientModel):
    """Base class of two-player Elo. It refuses races with more than two entrants."""

    rates: tuple[Number, ...] = inherited("rates", (0.2,))

    @property
    def gain(self) -> Gain:
        """Return the gain of a win."""
        return exponential_gain

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        if (players := groups.label.size - (self.dummy is not None)) > 2:
            raise ModelError(f"{self.key} rates two players, not {players}; pairwise-elo rates any number")
        return pair_moves(ratings, groups, self.gain, ties=False).sum(-1)


@dataclass(frozen=True, kw_only=True)
class ExponentialElo(TwoPlayerElo):
    """Elo with exponential performances, so that win probabilities are logistic (section 3.1.1)."""

    key: ClassVar[str] = "elo-exponential"


@dataclass(frozen=True, kw_only=True)
class GaussianElo(TwoPlayerElo):
    """Elo with Gaussian performances, by likelihood or by the original, bounded rule (section 3.1.2)."""

    key: ClassVar[str] = "elo-gaussian"

    rule: str = parameter(
        "likelihood",
        help="gain of a win: by likelihood, or bounded (won less expected)",
        choices=("likelihood", "bounded"),
    )

    @property
    def gain(self) -> Gain:
        return gaussian_gain if self.rule == "likelihood" else bounded_gaussian_gain

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return bounded_gaussian_gain(b[..., 0] - a[..., 0])


@dataclass(frozen=True, kw_only=True)
class PairwiseElo(GradientModel):
    """Sum or mean of two-player updates. The defaults are the published ones for the sum (section 5.1)."""

    key: ClassVar[str] = "pairwise-elo"

    initial_rating: Number = inherited("initial_rating", -1.6)
    dummy: Number | None = inherited("dummy", 0.0)
    rates: tuple[Number, ...] = inherited("rates", (0.07,))
    combine: str = parameter(
        "sum", help="how to combine the updates of an entrant's pairs", choices=("sum", "mean")
    )
    version: str = parameter(
        "exponential",
        help="distribution of performances in the two-player rule",
        choices=("exponential", "gaussian"),
    )
    unfinished: str = unobserved_or_tie()

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        gain = exponential_gain if self.version == "exponential" else gaussian_gain
        ties = self.unfinished == "tie"
        moves: FloatArray = pair_moves(ratings, groups, gain, ties=ties).sum(-1)
        if self.combine == "mean":
            # Average over the pairs that were compared; without ties that is not every pair.
            moves /= ratings.shape[-1] - 1 if ties else np.abs(groups.before()).sum(-1)
        return moves

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        beaten = exponential_gain if self.version == "exponential" else bounded_gaussian_gain
        return beaten(b[..., 0] - a[..., 0])


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
