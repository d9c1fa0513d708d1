"""Two-player Elo, exponential and Gaussian.

Source: "Multiplayer generalizations of Elo rating system", https://github.com/blkerby/MultiEloRating, §3.1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_ndtr, ndtr

from racebot.errors import ModelError
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.single import SingleParameterModel, inherited
from racebot.ratings.parameters import parameter
from racebot.ratings.ranking import Groups

Gain = Callable[[FloatArray], FloatArray]
"""Points that move from the loser of a pair to the winner, by the winner's lead in rating."""


def exponential_gain(lead: FloatArray) -> FloatArray:
    """Return 1 / (1 + e^lead) (§3.1.1): the likelihood gradient equals won minus expected."""
    gain: FloatArray = expit(-lead)
    return gain


def gaussian_gain(lead: FloatArray) -> FloatArray:
    """Return φ/Φ of lead/√2, over √2 (§3.1.2, by likelihood). It grows like -lead/2 for an upset."""
    z = lead / np.sqrt(2)
    gain: FloatArray = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(4 * np.pi)
    return gain


def bounded_gaussian_gain(lead: FloatArray) -> FloatArray:
    """Return won minus expected (§3.1.2): the chance that the loser had, between 0 and 1."""
    gain: FloatArray = ndtr(-lead / np.sqrt(2))
    return gain


def exponential_win(lead: FloatArray) -> FloatArray:
    """Return the chance that an exponential performance beats another: logistic in the lead."""
    return exponential_gain(-lead)


def gaussian_win(lead: FloatArray) -> FloatArray:
    """Return the chance that a Gaussian performance of unit variance beats another: Φ(lead/√2)."""
    return bounded_gaussian_gain(-lead)


def pair_moves(ratings: FloatArray, groups: Groups, gain: Gain, *, ties: bool) -> FloatArray:
    """Return how far each pair moves its first member: shape [..., n, n]; the sum over a row is the move.

    Args:
        ratings: shape [..., n].
        groups: the order; nothing is observed between two of a group.
        gain: the value of a win.
        ties: whether two of a group drew, half won and half lost, instead.
    """
    won = groups.before()
    lead = ratings[..., :, np.newaxis] - ratings[..., np.newaxis, :]
    moves = won * gain(won * lead)
    if ties:
        moves += (won == 0) * (gain(lead) - gain(-lead)) / 2
    return moves


@dataclass(frozen=True, kw_only=True)
class TwoPlayerElo(SingleParameterModel):
    """Base of the two versions.

    Raises:
        ModelError: from `rate`, for a race of more than two.
    """

    rates: tuple[Number, ...] = inherited("rates", (0.2,))

    @property
    @abstractmethod
    def gain(self) -> Gain:
        """The value of a win."""

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        players = groups.label.size - (self.dummy is not None)
        if players > 2:
            raise ModelError(f"{self.key} rates two players, not {players}; pairwise-elo rates any number")
        moves: FloatArray = pair_moves(ratings, groups, self.gain, ties=False).sum(-1)
        return moves


@dataclass(frozen=True, kw_only=True)
class ExponentialElo(TwoPlayerElo):
    """The logistic version (§3.1.1)."""

    key: ClassVar[str] = "elo-exponential"

    @property
    def gain(self) -> Gain:
        return exponential_gain

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return exponential_win(a[..., 0] - b[..., 0])


@dataclass(frozen=True, kw_only=True)
class GaussianElo(TwoPlayerElo):
    """The Gaussian version (§3.1.2), by likelihood or by the original, bounded rule."""

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
        return gaussian_win(a[..., 0] - b[..., 0])
