"""Elo and Glicko for free-for-all races, a naive baseline, and multielo.

Sources: A. Dehpanah et al., "The Evaluation of Rating Systems in Online Free-for-All Games",
https://arxiv.org/abs/2008.06787, section III, to which section numbers below refer; and for `MultiElo`, whose
actual and expected scores both sum to one over the entrants, D. Cunningham, "multielo", section
"Methodology", https://github.com/djcunningham0/multielo.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, Number, RatingModel
from racebot.ratings.models.single import GradientModel, Groups, inherited
from racebot.ratings.parameters import broadcast_to, parameter, per_entrant, start_state, unobserved_or_tie

LN10 = float(np.log(10))


def expected_scores(ratings: FloatArray, groups: Groups, unit: Number, *, ties: bool) -> FloatArray:
    """Return the expected share of the score, from the win probabilities of all pairs: shape [..., n].

    Unless `ties` says that they drew, members of a group expect and score a half. At a lead of `unit`, the
    odds are e to 1.
    """
    n = ratings.shape[-1]
    lead = ratings[..., :, np.newaxis] - ratings[..., np.newaxis, :]
    chance = scipy.special.expit(lead / per_entrant(unit)[..., np.newaxis])
    if not ties:
        chance = np.where(groups.before() == 0, 0.5, chance)
    return (chance.sum(-1) - 0.5) / (n * (n - 1) / 2)


@dataclass(frozen=True, kw_only=True)
class MultiElo(GradientModel):
    """Multielo with linear or exponential scores by place: the change is K(N-1)(actual - expected).

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
        return (ratings.shape[-1] - 1) * (self.scores(groups) - expected)

    def scores(self, groups: Groups) -> FloatArray:
        """Return the actual scores, which sum to one: shape [n], or [candidates, n] for an array of bases."""
        group, better, through = groups.spans()
        behind = np.arange(groups.label.size - 1, -1, -1.0)
        power = np.log(per_entrant(self.score_base))
        # The linear score is the limit of the exponential score as the base approaches 1.
        curved = np.where(np.abs(power) < 1e-9, 1.0, power)
        by_place = np.where(np.abs(power) < 1e-9, behind, np.expm1(curved * behind) / curved)
        total = np.zeros((*by_place.shape[:-1], by_place.shape[-1] + 1))
        by_place.cumsum(-1, out=total[..., 1:])
        mean = (total[..., through] - total[..., better]) / (through - better)
        return np.asarray(mean / total[..., -1:])[..., group]

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        lead = a[..., 0] - b[..., 0]
        return scipy.special.expit(LN10 * lead / broadcast_to(self.spread, lead))


def normalized_results(groups: Groups) -> FloatArray:
    """Return the shares of the results, (N - rank) / C(N, 2), which sum to one; a group has its mean rank."""
    n = groups.label.size
    return (n - groups.places()) / (n * (n - 1) / 2)


@dataclass(frozen=True, kw_only=True)
class EloFfa(GradientModel):
    """Elo over all pairs, with results and expectations normalized to one (section III A).

    `rates` is K in the source. Odds are powers of e, not of ten. The defaults are those of section V.
    """

    key: ClassVar[str] = "elo-ffa"

    initial_rating: Number = inherited("initial_rating", 1500.0, search=(1300.0, 1700.0))
    dummy: Number | None = inherited("dummy", None, search=(1300.0, 1900.0))
    rates: tuple[Number, ...] = inherited("rates", (10.0,), search=(4.0, 1000.0))
    points_scale: Number = inherited("points_scale", 1.0)
    spread: Number = parameter(
        400.0, help="rating lead that makes the odds e to one (D)", positive=True, search=(50.0, 800.0)
    )
    unfinished: str = unobserved_or_tie()

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        ties = self.unfinished == "tie"
        return normalized_results(groups) - expected_scores(ratings, groups, self.spread, ties=ties)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        lead = a[..., 0] - b[..., 0]
        return scipy.special.expit(lead / broadcast_to(self.spread, lead))


def damping(q: FloatArray, variance: FloatArray) -> FloatArray:
    """Return Glicko's g: the factor by which uncertainty weakens a comparison; 1 without variance."""
    return (1 + 3 * q**2 * variance / np.pi**2) ** -0.5


@dataclass(frozen=True, kw_only=True)
class GlickoFfa(RatingModel):
    """Glicko over all pairs, with results and expectations normalized to one (section III B).

    The source's factor g(σ_j) does not say which opponent j is. This is the mean over those compared.
    """

    key: ClassVar[str] = "glicko-ffa"
    columns: ClassVar[tuple[str, ...]] = ("mean", "deviation")
    rates_teams: ClassVar[bool] = False

    initial_rating: Number = parameter(1500.0, help="rating of a player without a race")
    initial_deviation: Number = parameter(
        350.0, help="rating deviation of a player without a race", positive=True, search=(50.0, 800.0)
    )
    spread: Number = parameter(
        400.0, help="rating lead that makes the odds ten to one", positive=True, search=(50.0, 800.0)
    )
    unfinished: str = unobserved_or_tie()

    def initial(self) -> FloatArray:
        return start_state(self, self.initial_rating, self.initial_deviation)

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        if not outcome.rateable:
            return states.copy()
        groups, n = Groups.of(outcome), outcome.size
        mean, variance = states[..., 0], states[..., 1] ** 2
        compared = np.abs(groups.before()) if self.unfinished == "unobserved" else 1 - np.eye(n)
        lead = mean[..., :, np.newaxis] - mean[..., np.newaxis, :]
        both = variance[..., :, np.newaxis] + variance[..., np.newaxis, :]
        q = LN10 / per_entrant(self.spread)
        q_pair = q[..., np.newaxis]
        chance = np.where(compared > 0, scipy.special.expit(q_pair * damping(q_pair, both) * lead), 0.5)
        expected = (chance.sum(-1) - 0.5) / (n * (n - 1) / 2)
        g = (compared * damping(q, variance)[..., np.newaxis, :]).sum(-1) / compared.sum(-1)
        precision = 1 / variance + (q * g) ** 2 * expected * (1 - expected)
        moved = mean + q * g * (normalized_results(groups) - expected) / precision
        return np.stack([moved, precision**-0.5], -1)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        lead = a[..., 0] - b[..., 0]
        q = LN10 / broadcast_to(self.spread, lead)
        return scipy.special.expit(q * damping(q, a[..., 1] ** 2 + b[..., 1] ** 2) * lead)


@dataclass(frozen=True, kw_only=True)
class PreviousRank(RatingModel):
    """Predict that every player repeats the rank of their last race, 0 for none (section III D)."""

    key: ClassVar[str] = "previous-rank"
    columns: ClassVar[tuple[str, ...]] = ("rank",)
    rates_teams: ClassVar[bool] = False

    def initial(self) -> FloatArray:
        return np.zeros(1)

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        if not outcome.rateable:
            return states.copy()
        after = np.empty_like(states)
        after[..., 0] = Groups.of(outcome).places()
        return after

    def rating(self, states: FloatArray) -> FloatArray:
        """Return minus the predicted rank, which for a newcomer is half the number of players."""
        rank = states[..., 0]
        return -np.where(rank == 0, rank.shape[-1] / 2 if rank.ndim else 1.0, rank)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return 1 or 0 by comparing previous ranks, or ½ if they are equal or one is missing."""
        known = (a[..., 0] > 0) & (b[..., 0] > 0)
        return np.where(known, (1 + np.sign(b[..., 0] - a[..., 0])) / 2, 0.5)
