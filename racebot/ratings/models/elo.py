"""Two-player Elo, exponential and Gaussian (multiplayer-generalizations-of-elo §3.1)."""

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
"""What the winner of a pair gains and the loser loses, from the winner's lead in rating before it."""


def exponential_gain(lead: FloatArray) -> FloatArray:
    """elo §3.1.1: 1 / (1 + e^lead), for which likelihood and won-less-expected are the same."""
    gain: FloatArray = expit(-lead)
    return gain


def gaussian_gain(lead: FloatArray) -> FloatArray:
    """elo §3.1.2, by likelihood: φ/Φ of lead/√2, over √2; grows like -lead/2 for an upset."""
    z = lead / np.sqrt(2)
    gain: FloatArray = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(4 * np.pi)
    return gain


def bounded_gaussian_gain(lead: FloatArray) -> FloatArray:
    """elo §3.1.2, won less expected: the chance the loser had, between 0 and 1."""
    gain: FloatArray = ndtr(-lead / np.sqrt(2))
    return gain


def exponential_win(lead: FloatArray) -> FloatArray:
    """Chance that an exponential performance beats another: logistic in the lead."""
    return exponential_gain(-lead)


def gaussian_win(lead: FloatArray) -> FloatArray:
    """Chance that a Gaussian performance of unit variance beats another: Φ(lead/√2)."""
    return bounded_gaussian_gain(-lead)


def pair_moves(ratings: FloatArray, groups: Groups, gain: Gain, *, ties: bool) -> FloatArray:
    """What each pair moves its first member: shape [..., n, n]; the sum over the last axis is the move.

    Args:
        ratings: shape [..., n].
        groups: the order; nothing is observed between two of a group.
        gain: what a win is worth.
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
        """What a win is worth."""

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        players = groups.label.size - (self.dummy is not None)
        if players > 2:
            raise ModelError(f"{self.key} rates two players, not {players}; pairwise-elo rates any number")
        moves: FloatArray = pair_moves(ratings, groups, self.gain, ties=False).sum(-1)
        return moves


@dataclass(frozen=True, kw_only=True)
class ExponentialElo(TwoPlayerElo):
    """The logistic version (elo §3.1.1)."""

    key: ClassVar[str] = "elo-exponential"

    @property
    def gain(self) -> Gain:
        return exponential_gain

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return exponential_win(a[..., 0] - b[..., 0])


@dataclass(frozen=True, kw_only=True)
class GaussianElo(TwoPlayerElo):
    """The Gaussian version (elo §3.1.2), by likelihood or by the original, bounded rule."""

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
