"""Forecast a race: each entrant's chance to finish and to win, and their mean place.

If performances are Gaussian (`PredictsPerformance`) and not all may finish (`PredictsFinish`), an entrant
i finishes with probability p_i, independently of the others, and then performs with density f_i and
cumulative function F_i. The chance to win is an integral over the winning performance,

    p_i ∫ f_i(x) ∏_(j≠i) (1 - p_j (1 - F_j(x))) dx

The chances sum to the probability that at least one entrant finishes.

Any other model only gives the probabilities P_ij that i is placed before j, DNFs included. The chance to win
is then approximated by 1 / (1 + Σ_(j≠i) P_ji / P_ij), scaled to the sum 1. This is exact for two entrants,
and if the odds of a pair are a quotient of strengths (Bradley-Terry, doi:10.2307/2334029).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from racebot.ratings.model import FloatArray, PredictsFinish, PredictsPerformance, RatingModel

REACH = 8.0
"""Standard deviations beyond the outermost means to which performances are integrated."""
STEP = 0.1
"""In units of the smallest standard deviation; the trapezoid rule then errs by less than 1e-9."""


def finish_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that each entrant finishes, 1 without a finish forecast: shape [..., n].

    Args:
        model: any.
        states: shape [..., n, k].
    """
    if isinstance(model, PredictsFinish):
        return model.finish_probability(states)
    return np.ones(states.shape[:-1])


def win_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that each entrant wins: shape [..., n].

    Args:
        model: any.
        states: shape [..., n, k], n at least 1.
    """
    if isinstance(model, PredictsPerformance):
        return _best_of(*model.performance(states), finish_chances(model, states))
    before = _before(model, states)
    n = before.shape[-1]
    odds = np.swapaxes(before, -1, -2) / np.maximum(before, 1e-300)
    odds[..., range(n), range(n)] = 1.0
    chances = 1.0 / odds.sum(-1)
    share: FloatArray = chances / chances.sum(-1, keepdims=True)
    return share


def expected_places(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the mean place of each entrant, from 1: shape [..., n].

    Entrants who do not finish share the mean of the places left to them.

    Args:
        model: any.
        states: shape [..., n, k], n at least 1.
    """
    if isinstance(model, PredictsPerformance):
        mean, spread = model.performance(states)
        finishes = finish_chances(model, states)
        gap = mean[..., :, np.newaxis] - mean[..., np.newaxis, :]
        faster = ndtr(gap / np.hypot(spread[..., :, np.newaxis], spread[..., np.newaxis, :]))
        own, other = finishes[..., :, np.newaxis], finishes[..., np.newaxis, :]
        before = own * (1.0 - other) + own * other * faster + 0.5 * (1.0 - own) * (1.0 - other)
    else:
        before = _before(model, states)
    n = before.shape[-1]
    before[..., range(n), range(n)] = 0.0
    places: FloatArray = 1.0 + before.sum(-2)
    return places


def _before(model: RatingModel, states: FloatArray) -> FloatArray:
    """Return the probability that the row's entrant is placed before the column's: shape [..., n, n]."""
    return model.win_probability(states[..., :, np.newaxis, :], states[..., np.newaxis, :, :])


def _best_of(mean: FloatArray, spread: FloatArray, finishes: FloatArray) -> FloatArray:
    low = (mean - REACH * spread).min(-1, keepdims=True)
    high = (mean + REACH * spread).max(-1, keepdims=True)
    points = int(np.ceil(((high - low) / (STEP * spread.min(-1, keepdims=True))).max())) + 1
    step = (high - low) / (points - 1)
    x = low + step * np.arange(points)
    z = (x[..., np.newaxis, :] - mean[..., np.newaxis]) / spread[..., np.newaxis]
    behind = np.log(np.maximum(1.0 - finishes[..., np.newaxis] * ndtr(-z), 1e-300))
    others = behind.sum(-2, keepdims=True) - behind
    density = np.exp(others - 0.5 * z * z) / (np.sqrt(2 * np.pi) * spread[..., np.newaxis])
    chances: FloatArray = finishes * step * density.sum(-1)
    return chances
