"""Multielo: Elo with scores by place, shared among all entrants.

Source: D. Cunningham, "multielo", section "Methodology", https://github.com/djcunningham0/multielo.

Actual and expected scores both sum to one over the entrants; the change is K(N-1)(actual - expected).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.single import GradientModel, inherited
from racebot.ratings.parameters import broadcast_to, parameter, per_entrant, unobserved_or_tie
from racebot.ratings.ranking import Groups

LN10 = float(np.log(10))


def expected_scores(ratings: FloatArray, groups: Groups, unit: Number, *, ties: bool) -> FloatArray:
    """Return the expected share of the score, from the win probabilities of all pairs: shape [..., n].

    Args:
        ratings: shape [..., n].
        groups: the observed order. Members of a group were not compared, so each expects and scores a half.
        unit: rating lead at which the odds are e to 1; a number, or an array of shape [candidates].
        ties: True if members of a group drew, so that their win probabilities count.
    """
    n = ratings.shape[-1]
    lead = ratings[..., :, np.newaxis] - ratings[..., np.newaxis, :]
    chance = scipy.special.expit(lead / per_entrant(unit)[..., np.newaxis])
    if not ties:
        chance = np.where(groups.before() == 0, 0.5, chance)
    shares: FloatArray = (chance.sum(-1) - 0.5) / (n * (n - 1) / 2)
    return shares


@dataclass(frozen=True, kw_only=True)
class MultiElo(GradientModel):
    """Multielo with linear or exponential scores by place.

    Entrants who share places share the mean of their scores. `rates` is K in the source. With the defaults, a
    two-player race is rated as in chess.
    """

    key: ClassVar[str] = "multielo"

    initial_rating: Number = inherited("initial_rating", 1000.0, search=(800.0, 1200.0))
    dummy: Number | None = inherited("dummy", None, search=(800.0, 1400.0))
    rates: tuple[Number, ...] = inherited("rates", (32.0,), search=(4.0, 128.0))
    points_scale: Number = inherited("points_scale", 1.0)
    spread: Number = parameter(
        400.0, help="rating lead that makes the odds ten to one (D)", positive=True, search=(100.0, 800.0)
    )
    score_base: Number = parameter(
        1.0,
        help="base of the exponential scores, which favour the top places; 1 is linear",
        minimum=1.0,
        search=(1.0, 3.0),
    )
    unfinished: str = unobserved_or_tie()

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        ties = self.unfinished == "tie"
        expected = expected_scores(ratings, groups, np.divide(self.spread, LN10), ties=ties)
        moves: FloatArray = (ratings.shape[-1] - 1) * (self.scores(groups) - expected)
        return moves

    def scores(self, groups: Groups) -> FloatArray:
        """Return the actual scores, which sum to one: shape [n], or [candidates, n] for an array of bases."""
        stages = groups.stages(worst_first=False)
        behind = np.arange(groups.label.size - 1, -1, -1.0)
        power = np.log(per_entrant(self.score_base))
        # The linear score is the limit of the exponential score as the base approaches 1.
        curved = np.where(np.abs(power) < 1e-9, 1.0, power)
        by_place = np.where(np.abs(power) < 1e-9, behind, np.expm1(curved * behind) / curved)
        total = np.zeros((*by_place.shape[:-1], by_place.shape[-1] + 1))
        by_place.cumsum(-1, out=total[..., 1:])
        mean = (total[..., stages.stop] - total[..., stages.start]) / (stages.stop - stages.start)
        scores: FloatArray = np.empty_like(mean)
        scores[..., stages.order] = mean / total[..., -1:]
        return scores

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        lead = a[..., 0] - b[..., 0]
        chance: FloatArray = scipy.special.expit(LN10 * lead / broadcast_to(self.spread, lead))
        return chance
