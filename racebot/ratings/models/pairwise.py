"""Pairwise Elo: treat a race as one game per pair of entrants.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", section 3.2.1,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.elo import (
    exponential_gain,
    exponential_win,
    gaussian_gain,
    gaussian_win,
    pair_moves,
)
from racebot.ratings.models.single import GradientModel, inherited
from racebot.ratings.parameters import parameter, unobserved_or_tie
from racebot.ratings.ranking import Groups


@dataclass(frozen=True, kw_only=True)
class PairwiseElo(GradientModel):
    """Sum or mean of two-player updates. The defaults are the published ones for the sum (section 5.1)."""

    key: ClassVar[str] = "pairwise-elo"

    initial_rating: Number = inherited("initial_rating", -1.6)
    dummy: Number | None = inherited("dummy", 0.0)
    rates: tuple[Number, ...] = inherited("rates", (0.07,))
    combine: str = parameter(
        "sum",
        help="how to combine the updates of an entrant's pairs",
        choices=("sum", "mean"),
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
        chance = exponential_win if self.version == "exponential" else gaussian_win
        return chance(a[..., 0] - b[..., 0])
