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
from typing import Any, NamedTuple

import numpy as np
import scipy

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.truncated_normal import ROOT_HALF, ROOT_TWO_OVER_PI, draw, win

_STEP, _LONGEST_STEP = 0.5, 0.9
"""Damping in `jointly`, at first and at most. Comparisons that share units overshoot, and step less."""
_NEAR, _MIXED, _EARLIER, _IDLE = 0.3, 0.8, 5, 8
"""Largest change that `jointly` extrapolates, damping of what is left, rounds to extrapolate from, and rounds
in which a small change does not become half as large, since only rounding errors are left."""
_BLOCK = 24  # least number of units in a block of `jointly`
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


class Pairs(NamedTuple):
    """Comparisons, and where a matrix of units keeps their numbers.

    Of the matrix, only blocks on the diagonal, to which their transposes are to be added, and beside it are
    kept. Losers of the `lone` comparisons have no other, such as all who did not finish, and are integrated
    out. The units of all others share a block or are in neighbors: `rest` is at the places `shared`. Places
    on the `diagonal` are of units; more fill the last block.
    """

    winner: IntArray
    loser: IntArray
    lone: IntArray
    rest: IntArray
    shared: IntArray
    diagonal: IntArray
    blocks: int
    size: int


def pairs_in_blocks(winner: IntArray, loser: IntArray, units: int) -> Pairs:
    """Divide units into the smallest blocks that a block tridiagonal matrix allows."""
    alone = (np.bincount(winner, None, units) + np.bincount(loser, None, units))[loser] == 1
    lone, rest = np.flatnonzero(alone), np.flatnonzero(~alone)
    a, b = winner[rest], loser[rest]
    blocks = max(units // _BLOCK, 1)
    while (b // -(-units // blocks) - a // -(-units // blocks) > 1).any():
        blocks -= 1
    size = -(-units // blocks)
    shared = ((a // size + b // size) * size + a % size) * size + b % size
    unit = np.arange(blocks * size)
    diagonal = unit * (size + 1) + unit // size * size * (size - 1)
    return Pairs(winner, loser, lone, rest, shared, diagonal, blocks, size)


def joint_posterior(
    pairs: Pairs, prior_variance: FloatArray, precision: FloatArray, pull: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each unit's deviation from its prior mean and its variance, and each difference's variance."""
    a, b, units, count = pairs.winner, pairs.loser, len(prior_variance), len(pairs.diagonal)
    winner, loser = a[pairs.lone], b[pairs.lone]
    certain = np.append(1.0 / prior_variance, np.ones(count - units))
    certain += np.bincount(a, precision, count) + np.bincount(b, precision, count)
    deviation: Any = np.bincount(a, pull, count) - np.bincount(b, pull, count)
    share = precision[pairs.lone] / certain[loser]
    deviation += np.bincount(winner, share * deviation[loser], count)
    matrix = np.zeros(2 * count * pairs.size)
    matrix[pairs.diagonal] = 0.5 * (certain - np.bincount(winner, share * precision[pairs.lone], count))
    matrix[pairs.shared] = -precision[pairs.rest]
    solve(
        matrix.reshape(pairs.blocks, 2, pairs.size, pairs.size), deviation.reshape(pairs.blocks, pairs.size)
    )
    variance, covariance = matrix[pairs.diagonal], np.empty_like(precision)
    deviation[loser] += share * deviation[winner]
    covariance[pairs.rest], covariance[pairs.lone] = matrix[pairs.shared], share * variance[winner]
    variance[loser] += share * share * variance[winner]
    spread = (variance[a] - covariance) - (covariance - variance[b])
    return deviation[:units], variance[:units], spread


def solve(matrix: FloatArray, values: FloatArray) -> None:
    """Replace a matrix of blocks by its inverse in the same places, and values by the inverse times them."""
    last = len(matrix) - 1
    for k in range(last + 1):
        own, beside = matrix[k, 0], matrix[k, 1]
        own[:] = np.linalg.inv(own + own.T)
        if k < last:
            gain = own @ beside
            matrix[k + 1, 0] -= 0.5 * (beside.T @ gain)
            values[k + 1] -= gain.T @ values[k]
            beside[:] = gain
    for k in range(last, -1, -1):
        own, beside = matrix[k, 0], matrix[k, 1]
        values[k] = own @ values[k]
        if k < last:
            gain = beside.copy()
            beside[:] = -gain @ matrix[k + 1, 0]
            own -= beside @ gain.T
            values[k] -= gain @ values[k + 1]


def jointly(
    means: Reals, variances: Reals, winners: Ints, losers: Ints, margins: Reals, rounds: int, tolerance: float
) -> Evidence:
    """Return the evidence from any set of wins, including cycles, updating all comparisons at once.

    Between truncations, linear algebra keeps the joint Gaussian of all performances exact. For a tree, the
    result is that of `through_layers`. It does not depend on the listing order. Winners come before losers.

    A round replaces each win by the Gaussian likelihood that its cavity gives, and looks for the cavities
    that agree with all of these. For given variances of the cavities, means follow by Newton's method, as in
    M. Seeger, H. Nickisch, "Fast Convergent Algorithms for Expectation Propagation Approximate Bayesian
    Inference" (2011), https://arxiv.org/abs/1012.3584. Variances of comparisons that share units overshoot,
    so that these take smaller steps. When all changes are small, they are extrapolated.
    """
    a, b, margin = np.array(winners), np.array(losers), np.array(margins)
    pairs = pairs_in_blocks(a, b, len(means))
    prior_mean, prior_variance = np.array(means), np.array(variances)
    expected, widest = prior_mean[a] - prior_mean[b], prior_variance[a] + prior_variance[b]
    unit = np.sqrt(widest)
    # Of each cavity: logarithm of the variance, and deviation from the prior mean, in units of the prior.
    cavities, changes, move = np.zeros((2, a.size)), np.zeros((2, a.size)), np.zeros((2, a.size))
    (logarithm, offset), (wider, higher) = cavities, changes
    step, near, least, idle = np.full(a.size, _STEP), False, inf, 0
    moves, turns = np.zeros((_EARLIER, 2 * a.size)), np.zeros((_EARLIER, 2 * a.size))
    for number in range(rounds):
        v, mean = widest * np.exp(logarithm), unit * offset
        s = np.sqrt(v)
        correction, w = wins((expected + mean) / s, margin / s)
        kept = np.maximum(v * (1.0 - w), _SHARPEST * widest)
        precision, pull = w / kept, (mean * w + s * correction) / kept
        deviation, variance, spread = joint_posterior(pairs, prior_variance, precision, pull)
        moved, before = deviation[a] - deviation[b], changes.copy()
        wider[:] = np.log(spread / (v * (1.0 - spread * precision)))
        v *= np.exp(_MIXED * wider)
        higher[:] = (moved + v * (precision * moved - pull) - mean) / unit
        largest = max(np.max(np.abs(wider)), np.max(np.abs(higher) * unit / s))
        least, idle = (largest, 0) if largest < 0.5 * least else (least, idle + 1)
        if largest <= tolerance or (idle == _IDLE and least < 10.0 * _ROUNDING):
            break
        if near:
            turn = changes - before
            scale = 1.0 / (sqrt(np.sum(turn * turn)) + 1e-100)
            moves[number % _EARLIER][:], turns[number % _EARLIER][:] = (
                scale * move.ravel(),
                scale * turn.ravel(),
            )
        near = largest < _NEAR
        if near:
            move = extrapolated(changes, moves, turns)
        else:
            step = np.minimum(step * (1.2 - 0.7 * (wider * before[0] < 0.0)), _LONGEST_STEP)
            move = np.stack((step * wider, higher))
        cavities += move
        logarithm[:] = np.minimum(logarithm, 0.0)  # no cavity is wider than the prior
    return list(1.0 / variance - 1.0 / prior_variance), list(deviation / variance)


def extrapolated(changes: FloatArray, moves: FloatArray, turns: FloatArray) -> FloatArray:
    """Return the next move of cavities by Anderson's method, from earlier `moves` that changed `changes`.

    The move solves what earlier rounds tell of how changes turn with moves, and mixes in the rest. See
    D. G. Anderson, "Iterative Procedures for Nonlinear Integral Equations" (1965),
    https://doi.org/10.1145/321296.321305.
    """
    flat = changes.ravel()
    # These are unit vectors. The small term keeps their products invertible if they depend on each other.
    weights = np.linalg.inv(turns @ turns.T + 1e-12 * np.eye(len(turns))) @ (turns @ flat)
    left = flat - turns.T @ weights
    left[: flat.size // 2] *= _MIXED
    return (left - moves.T @ weights).reshape(changes.shape)


def wins(t: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return V and W of several wins; see `truncated_normal.win`."""
    x = t - margin
    v = ROOT_TWO_OVER_PI / scipy.special.erfcx(-ROOT_HALF * x)
    # The bound only matters beyond thousands of standard deviations, where V + x has no digits left.
    return v, np.minimum(np.maximum(v * (v + x), 0.0), 1.0)
