"""Forecast a race: each entrant's probability of finishing and of winning, and expected place.

If performances are Gaussian (`PredictsPerformance`) and the model forecasts finishes (`PredictsFinish`),
entrant i finishes with probability p_i, independently of the others, with a performance of density f_i and
cumulative distribution function F_i. The win probability is an integral over the winning performance,

    p_i ∫ f_i(x) ∏_(j≠i) (1 - p_j (1 - F_j(x))) dx

The win probabilities sum to the probability that at least one entrant finishes.

Other models only give the probability P_ij that i is placed before j, DNFs included. The win probability is
then approximated by 1 / (1 + Σ_(j≠i) P_ji / P_ij), normalized to sum to 1. This is exact for two entrants,
and for Bradley-Terry models, whose odds are ratios of strengths (https://doi.org/10.2307/2334029).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings.model import FloatArray, PredictsFinish, PredictsPerformance, RatingModel

REACH = 7.0  # limits of integration, in standard deviations beyond the outermost means
STEP = 0.2
"""Step in units of the smallest standard deviation. The trapezoid rule is then accurate to 1e-9."""
HABIT_SPREAD = 0.2  # usual distance of a player's finishing habit from zero, on the scale of Φ


def finish_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that each entrant finishes, or 1 if the model forecasts none: shape [..., n]."""
    if isinstance(model, PredictsFinish):
        return model.finish_probability(states)
    return np.ones(states.shape[:-1])


def finishing_habit(chances: FloatArray, finished: BoolArray) -> float:
    """Return how much more a player finishes than the rating says: an offset z, for Φ(Φ⁻¹(chance) + z).

    It has a normal prior with mean 0, and each start moves it by one step of Fisher scoring.

    Args:
        chances: the chance to finish each of the player's starts by the rating before it, oldest first.
        finished: whether the player did.
    """
    habit, information = 0.0, 1.0 / HABIT_SPREAD**2
    for score, done in zip(_scores(chances).tolist(), finished.tolist(), strict=True):
        z = score + habit
        chance = min(max(0.5 * math.erfc(-z / math.sqrt(2.0)), 1e-9), 1.0 - 1e-9)
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        pull = density / (chance * (1.0 - chance))
        information += density * pull
        habit += (done - chance) * pull / information
    return habit


def with_habits(chances: FloatArray, habits: FloatArray) -> FloatArray:
    """Return chances to finish that count the players' finishing habits: shape [n]."""
    return scipy.special.ndtr(_scores(chances) + habits)


def _scores(chances: FloatArray) -> FloatArray:
    return scipy.special.ndtri(np.clip(chances, 1e-12, 1.0 - 1e-12))


def win_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that each entrant wins: shape [..., n], for states of shape [..., n, k]."""
    if isinstance(model, PredictsPerformance):
        return _best_of(*model.performance(states), finish_chances(model, states))
    before = _before(model, states)
    n = before.shape[-1]
    odds = np.swapaxes(before, -1, -2) / np.maximum(before, 1e-300)
    odds[..., range(n), range(n)] = 1.0
    chances = 1.0 / odds.sum(-1)
    return chances / chances.sum(-1, keepdims=True)


def expected_places(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the expected place of each entrant, from 1: shape [..., n], for states of shape [..., n, k].

    Entrants who do not finish share the mean of the remaining places.
    """
    faster, gaussian = faster_chances(model, states), isinstance(model, PredictsPerformance)
    return _places(_before_finishing(faster, finish_chances(model, states)) if gaussian else faster)


def faster_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that entrant i (row) is placed before entrant j (column): shape [..., n, n].

    If the model forecasts finishes, that is for entrants who all finish.
    """
    if isinstance(model, PredictsPerformance):
        return _faster(*model.performance(states))
    return _before(model, states)


def team_forecasts(
    model: RatingModel, states: FloatArray, team: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Forecast a race by team, for states of shape [n, k] and the n entrants' team numbers from 0 to m - 1.

    A team finishes if all of its members do.

    Returns:
        The probability that team i (row) is placed before team j (column) if both finish: [m, m]; that each
        team finishes, 1 if the model forecasts none: [m]; and the expected places: [m].
    """
    members = (team[:, np.newaxis] == np.arange(team.max() + 1)).astype(np.float64)
    if isinstance(model, PredictsPerformance):
        faster = _faster(*model.team_performance(states, members))
    else:
        faster = _before(model, members.T @ states / members.sum(0)[:, np.newaxis])
    finishes = np.exp(np.log(np.maximum(finish_chances(model, states), 1e-300)) @ members)
    return faster, finishes, _places(_before_finishing(faster, finishes))


def _faster(mean: FloatArray, spread: FloatArray) -> FloatArray:
    gap = mean[..., :, np.newaxis] - mean[..., np.newaxis, :]
    return scipy.special.ndtr(gap / np.hypot(spread[..., :, np.newaxis], spread[..., np.newaxis, :]))


def _before_finishing(faster: FloatArray, finishes: FloatArray) -> FloatArray:
    own, other = finishes[..., :, np.newaxis], finishes[..., np.newaxis, :]
    return own * (1.0 - other) + own * other * faster + 0.5 * (1.0 - own) * (1.0 - other)


def _places(before: FloatArray) -> FloatArray:
    n = before.shape[-1]
    before[..., range(n), range(n)] = 0.0
    return 1.0 + before.sum(-2)


def _before(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that entrant i (row) is placed before entrant j (column): shape [..., n, n]."""
    return model.win_probability(states[..., :, np.newaxis, :], states[..., np.newaxis, :, :])


def _best_of(mean: FloatArray, spread: FloatArray, finishes: FloatArray) -> FloatArray:
    low = (mean - REACH * spread).min(-1, keepdims=True)
    high = (mean + REACH * spread).max(-1, keepdims=True)
    points = int(np.ceil(((high - low) / (STEP * spread.min(-1, keepdims=True))).max())) + 1
    step = (high - low) / (points - 1)
    x = low + step * np.arange(points)
    z = (x[..., np.newaxis, :] - mean[..., np.newaxis]) / spread[..., np.newaxis]
    slower = scipy.special.ndtr(-z)
    behind = np.log(np.maximum(1.0 - finishes[..., np.newaxis] * slower, 1e-300))
    others = behind.sum(-2, keepdims=True) - behind
    density = np.exp(others - 0.5 * z * z) / (np.sqrt(2 * np.pi) * spread[..., np.newaxis])
    return finishes * step * density.sum(-1)
