"""Expectation propagation over comparisons of performances, the core of TrueSkill.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006), sections 2 and
3, https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. Units (players or teams) have
Gaussian performances t_i with prior mean m_i and variance v_i. A comparison of units a and b observes that
the difference t_a − t_b exceeds a margin (a win) or is within it (a draw). Its message to either unit is the
Gaussian that gives the difference the same mean and variance as the exact posterior.

There is no explicit factor graph. Let the *cavities* of a and b (their distributions without the comparison)
have means m_a, m_b and variances v_a, v_b, and let v = v_a + v_b and s = √v. The truncated difference has
mean m + s·V and variance v·(1 − W), and rows 3 and 4 of table 1 simplify to the messages

    to a:  precision W/(v − v_a·W),  mean times precision (m_a·W + s·V)/(v − v_a·W)
    to b:  precision W/(v − v_b·W),  mean times precision (m_b·W − s·V)/(v − v_b·W)

which neither underflow nor overflow, however expected or surprising the comparison was.

There are three schedules: `along_chain` for units in a row, as in the source; `through_layers` for
comparisons that form a tree; and `jointly` for comparisons with cycles, where messages between single units
would count the same evidence repeatedly. They share these arguments:

    means, variances: m_i and v_i > 0 of the n ≥ 2 units, in a row the best first.
    winners, losers: the better and the other unit of each comparison.
    margins: margins of the comparisons, ≥ 0.
    rounds: most rounds of all comparisons.
    tolerance: stop when no difference changes by more standard deviations than this in a round, or when
        changes are small and no longer shrink, which only rounding errors cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np
import scipy

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.truncated_normal import ROOT_HALF, ROOT_TWO_OVER_PI, draw, win

_STEP = 0.9
"""Damping in `jointly` at first. Comparisons that share units overshoot, and then take smaller steps."""
_BLOCK = 24
"""Least number of units in a block of `jointly`."""
_SHARPEST = 1e-6
"""Least share of the prior variance that `jointly` leaves to a difference, to keep precisions finite."""
_ROUNDING = 1e-6
"""Largest change, in standard deviations, that can come from rounding errors; in `jointly` tenfold."""

Reals = Sequence[float]
Ints = Sequence[int]
Evidence = tuple[list[float], list[float]]
"""The evidence from the comparisons about each unit's performance, relative to its prior mean.

First the precision of the Gaussian likelihood, ≥ 0 up to rounding. Then the pull: precision times (likelihood
mean − prior mean), positive if the unit did better than expected.
"""


def along_chain(
    means: Reals, variances: Reals, margins: Reals, drawn: Sequence[bool], rounds: int, tolerance: float
) -> Evidence:
    """Return the evidence for units in a row, each compared with the next, as in the source's figure 1.

    `drawn` is True for each comparison that is a draw rather than a win of the earlier unit.
    """
    size = len(means)
    last = size - 2
    # Cavities toward the next comparison, with all messages from before it, and toward the previous one.
    front_mean, front_variance = [m for m in means], [v for v in variances]  # noqa: C416 - for Numba
    back_mean, back_variance = [m for m in means], [v for v in variances]  # noqa: C416 - for Numba
    first = final = (0.0, 1.0, 0.0, 0.0)
    differences = [inf for _ in margins]
    moved = inf
    for _ in range(rounds):
        ma, va = means[0], variances[0]
        for i in range(last):
            j = i + 1
            mb, vb = back_mean[j], back_variance[j]
            m, v = ma - mb, va + vb
            s = sqrt(v)
            correction, w = draw(m / s, margins[i] / s) if drawn[i] else win(m / s, margins[i] / s)
            shift = s * correction
            if i == 0:
                first = (m, v, shift, w)
            m0, v0 = means[j], variances[j]
            d = v - vb * w
            scale = 1.0 / (d + v0 * w)
            ma = front_mean[j] = (m0 * d + v0 * (mb * w - shift)) * scale
            va = front_variance[j] = v0 * d * scale
        before, moved = moved, 0.0
        mb, vb = means[last + 1], variances[last + 1]
        for i in range(last, 0 if last else -1, -1):
            ma, va = front_mean[i], front_variance[i]
            m, v = ma - mb, va + vb
            s = sqrt(v)
            t = m / s
            correction, w = draw(t, margins[i] / s) if drawn[i] else win(t, margins[i] / s)
            shift = s * correction
            if i == last:
                final = (m, v, shift, w)
            m0, v0 = means[i], variances[i]
            d = v - va * w
            scale = 1.0 / (d + v0 * w)
            mb = back_mean[i] = (m0 * d + v0 * (ma * w + shift)) * scale
            vb = back_variance[i] = v0 * d * scale
            moved = max(moved, abs(t - differences[i]))
            differences[i] = t
        if last == 0 or moved <= tolerance or before <= moved < _ROUNDING:
            break
    # Update the ends last, with the latest messages from the others.
    if last == 0:
        first = final
    m, v, shift, w = first
    d = v * (1.0 - w) + back_variance[1] * w
    scale = 1.0 / (d + variances[0] * w)
    back_mean[0] = (means[0] * d + variances[0] * ((m + back_mean[1]) * w + shift)) * scale
    back_variance[0] = variances[0] * d * scale
    m, v, shift, w = final
    d = v * (1.0 - w) + front_variance[last] * w
    scale = 1.0 / (d + variances[last + 1] * w)
    front_mean[last + 1] = (
        means[last + 1] * d + variances[last + 1] * ((front_mean[last] - m) * w - shift)
    ) * scale
    front_variance[last + 1] = variances[last + 1] * d * scale
    precision, pull = [0.0 for _ in means], [0.0 for _ in means]
    for i in range(size):
        m0, fv, bv = means[i], front_variance[i], back_variance[i]
        precision[i] = 1.0 / fv + 1.0 / bv - 2.0 / variances[i]
        pull[i] = (front_mean[i] - m0) / fv + (back_mean[i] - m0) / bv
    return precision, pull


def through_layers(
    means: Reals,
    variances: Reals,
    winners: Ints,
    losers: Ints,
    margins: Reals,
    starts: Ints,
    rounds: int,
    tolerance: float,
) -> Evidence:
    """Return the evidence from wins that form a tree, updating all comparisons of a layer at once.

    Passes go through the layers forward and backward. Within a layer, each comparison uses the messages from
    before the pass, so the result does not depend on the listing order, converged or not. `starts` holds the
    first comparison of each layer, followed by n − 1. Each unit is in at most two neighboring layers.
    """
    last = len(starts) - 2
    turns = [(starts[k], starts[k + 1]) for k in range(last + 1)]
    turns += [turns[last - 1 - k] for k in range(last)]
    # Of each unit: precision, and mean times precision. Of each comparison: the same two to winner and loser.
    beliefs = [(1.0 / variances[i], means[i] / variances[i]) for i in range(len(means))]
    messages = [(0.0, 0.0, 0.0, 0.0) for _ in winners]
    changes = messages.copy()
    differences = [inf for _ in winners]
    previous = differences.copy()
    moved = inf
    for _ in range(rounds):
        for start, stop in turns:
            for k in range(start, stop):
                precision_a, weighted_a = beliefs[winners[k]]
                precision_b, weighted_b = beliefs[losers[k]]
                pa, wa, pb, wb = messages[k]
                va, vb = 1.0 / (precision_a - pa), 1.0 / (precision_b - pb)
                ma, mb = (weighted_a - wa) * va, (weighted_b - wb) * vb
                v = va + vb
                s = sqrt(v)
                differences[k] = t = (ma - mb) / s
                correction, w = win(t, margins[k] / s)
                shift = s * correction
                to_a, to_b = 1.0 / (v - va * w), 1.0 / (v - vb * w)
                new_pa, new_wa = w * to_a, (ma * w + shift) * to_a
                new_pb, new_wb = w * to_b, (mb * w - shift) * to_b
                messages[k] = (new_pa, new_wa, new_pb, new_wb)
                changes[k] = (new_pa - pa, new_wa - wa, new_pb - pb, new_wb - wb)
            for k in range(start, stop):
                a, b = winners[k], losers[k]
                pa, wa, pb, wb = changes[k]
                precision_a, weighted_a = beliefs[a]
                precision_b, weighted_b = beliefs[b]
                beliefs[a] = (precision_a + pa, weighted_a + wa)
                beliefs[b] = (precision_b + pb, weighted_b + wb)
        before, moved = moved, 0.0
        for k in range(len(winners)):
            moved = max(moved, abs(differences[k] - previous[k]))
        if len(winners) == 1 or moved <= tolerance or before <= moved < _ROUNDING:
            break
        previous = differences.copy()
    precisions = [beliefs[i][0] - 1.0 / variances[i] for i in range(len(means))]
    return precisions, [beliefs[i][1] - means[i] * beliefs[i][0] for i in range(len(means))]


def jointly(
    means: Reals, variances: Reals, winners: Ints, losers: Ints, margins: Reals, rounds: int, tolerance: float
) -> Evidence:
    """Return the evidence from any set of wins, including cycles, updating all comparisons at once.

    Between truncations, linear algebra keeps the joint Gaussian of all performances exact. For a tree, the
    result is that of `through_layers`. It does not depend on the listing order. Winners come before losers.
    """
    a, b, n, margin = np.array(winners), np.array(losers), len(means), np.array(margins)
    ends = np.concatenate((b, a))
    # Losers of one comparison only, such as all who did not finish, are integrated out one by one.
    alone = np.bincount(ends, None, n)[b] == 1
    lone, rest = np.flatnonzero(alone), np.flatnonzero(~alone)
    winner, loser = a[lone], b[lone]
    # The others meet within a block of units or in the next one. Of a matrix, only blocks on the diagonal, to
    # which their transposes are to be added, and beside it are kept. Units without comparisons fill the last.
    blocks = max(n // np.max(np.append(b[rest] - a[rest], _BLOCK)), 1)
    size = -(-n // blocks)
    count = blocks * size
    shared = ((a // size + b // size) * size + a % size)[rest] * size + (b % size)[rest]
    diagonal = np.arange(count) * (size + 1) + np.arange(count) // size * size * (size - 1)
    # Unknowns are deviations from the prior means. Each comparison has a Gaussian for its difference.
    prior_mean, prior_variance = np.array(means), np.append(np.array(variances), np.ones(count - n))
    expected = prior_mean[a] - prior_mean[b]
    narrowest = _SHARPEST * (prior_variance[a] + prior_variance[b])
    precision, weighted = np.zeros_like(expected), np.zeros_like(expected)
    change, covariance = np.zeros_like(expected), np.zeros_like(expected)
    step, previous = np.full_like(expected, _STEP), np.full_like(expected, np.inf)
    before = moved = inf
    for _ in range(rounds):
        certain = 1.0 / prior_variance + np.bincount(ends, np.concatenate((precision, precision)), count)
        pull = weighted - precision * expected
        deviation: Any = np.bincount(ends, np.concatenate((-pull, pull)), count)
        share = precision[lone] / certain[loser]
        deviation += np.bincount(winner, share * deviation[loser], count)
        matrix = np.zeros(2 * count * size)
        matrix[diagonal] = 0.5 * (certain - np.bincount(winner, share * precision[lone], count))
        matrix[shared] = -precision[rest]
        solve(matrix.reshape(blocks, 2, size, size), deviation.reshape(blocks, size))
        variance = matrix[diagonal]
        deviation[loser] += share * deviation[winner]
        covariance[rest], covariance[lone] = matrix[shared], share * variance[winner]
        variance[loser] += share * share * variance[winner]
        spread = (variance[a] - covariance) - (covariance - variance[b])
        # The cavity is the marginal of the difference without the comparison's message.
        v = spread / (1.0 - spread * precision)
        m = (expected + (deviation[a] - deviation[b]) - spread * weighted) / (1.0 - spread * precision)
        s = np.sqrt(v)
        t = m / s
        correction, w = wins(t, margin / s)
        kept = np.maximum(v * (1.0 - w), narrowest)
        last, change = change, w / kept - precision
        step = np.where(change * last < 0.0, 0.7 * step, np.minimum(1.2 * step, _STEP))
        precision = precision + step * change
        weighted = weighted + step * ((m * w + s * correction) / kept - weighted)
        earlier, before, moved = before, moved, np.max(np.abs(t - previous))
        if moved <= tolerance or earlier <= before <= moved < 10.0 * _ROUNDING:
            break
        previous = t
    return list((1.0 / variance - 1.0 / prior_variance)[:n]), list((deviation / variance)[:n])


def solve(matrix: FloatArray, values: FloatArray) -> None:
    """Replace a matrix of blocks by its inverse in the same places, and values by the inverse times them."""
    last = len(matrix) - 1
    for k in range(last + 1):
        inverse = np.linalg.inv(matrix[k, 0] + matrix[k, 0].T)
        if k < last:
            gain = inverse @ matrix[k, 1]
            matrix[k + 1, 0] -= 0.5 * (matrix[k, 1].T @ gain)
            values[k + 1] -= gain.T @ values[k]
            matrix[k, 1] = gain
        matrix[k, 0] = inverse
    for k in range(last, -1, -1):
        values[k] = matrix[k, 0] @ values[k]
        if k < last:
            gain = matrix[k, 1].copy()
            matrix[k, 1] = -gain @ matrix[k + 1, 0]
            matrix[k, 0] -= matrix[k, 1] @ gain.T
            values[k] -= gain @ values[k + 1]


def wins(t: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return V and W of several wins; see `truncated_normal.win`."""
    x = t - margin
    v = ROOT_TWO_OVER_PI / scipy.special.erfcx(-ROOT_HALF * x)
    # The bound only matters beyond thousands of standard deviations, where V + x has no digits left.
    return v, np.minimum(np.maximum(v * (v + x), 0.0), 1.0)
