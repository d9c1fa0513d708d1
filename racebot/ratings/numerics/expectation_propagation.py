"""Expectation propagation over comparisons of performances, the core of TrueSkill.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006), sections 2 and
3, https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. Units (players or teams) have
Gaussian performances t_i with prior mean m_i and variance v_i. A comparison of units a and b observes that
the difference t_a − t_b exceeds a margin (a win) or is within it (a draw). Its message to either unit is the
Gaussian that gives the difference the same mean and variance as the exact posterior.

There is no explicit factor graph. Let the *cavities* of a and b (their distributions without the comparison)
have means m_a, m_b and variances v_a, v_b, and let v = v_a + v_b and s = √v. The truncated difference has
mean m + s·V and variance v·(1 − W), and row 3 of table 1 simplifies to the messages

    to a:  precision W/(v − v_a·W),  mean times precision (m_a·W + s·V)/(v − v_a·W)
    to b:  precision W/(v − v_b·W),  mean times precision (m_b·W − s·V)/(v − v_b·W)

which neither underflow nor overflow, however expected or surprising the comparison was.

All functions accept floats, or arrays with one value per candidate of a sweep (see `arithmetic`).

There are three schedules: `along_chain` for units in a row, as in the source; `through_layers` for
comparisons that form a tree; and `jointly` for comparisons with cycles, where messages between single units
would count the same evidence repeatedly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from racebot.ratings.numerics.arithmetic import Arithmetic, Value, win_array

_STEP = 0.7
"""Damping in `jointly`. Without it, comparisons that share units overshoot."""
_SHARPEST = 1e-6
"""Least share of the prior variance that `jointly` leaves to a difference, to keep precisions finite."""


class Evidence(NamedTuple):
    """The evidence from the comparisons about one unit's performance, relative to its prior mean.

    Attributes:
        precision: precision of the Gaussian likelihood, ≥ 0 up to rounding.
        pull: precision times (likelihood mean − prior mean); positive if the unit did better than expected.
    """

    precision: Value
    pull: Value


class PairComparison(NamedTuple):
    """Unit `winner` was better than unit `loser` by more than `margin`."""

    winner: int
    loser: int
    margin: Value


def along_chain(
    means: Sequence[Value],
    variances: Sequence[Value],
    margins: Sequence[Value],
    drawn: Sequence[bool],
    arithmetic: Arithmetic,
    *,
    rounds: int,
    tolerance: float,
) -> list[Evidence]:
    """Return the evidence for units in a row, each compared with the next.

    The schedule is that of the source (figure 1): forward from the first comparison to the last but one, then
    backward from the last to the second, until convergence.

    Args:
        means: m_i of the n ≥ 2 units, best first.
        variances: v_i > 0.
        margins: margins of the n − 1 comparisons, ≥ 0.
        drawn: True for each comparison that is a draw rather than a win of the earlier unit.
        arithmetic: operations on floats or arrays, to match the other arguments.
        rounds: most forward and backward passes.
        tolerance: stop when no difference changes by more standard deviations than this in a round.
    """
    sqrt = arithmetic.sqrt
    corrections = [arithmetic.draw if tie else arithmetic.win for tie in drawn]
    last = len(margins) - 1
    # Cavities toward the next comparison, with all messages from before it, and toward the previous one.
    front_mean, front_variance = list(means), list(variances)
    back_mean, back_variance = list(means), list(variances)
    first = final = (0.0, 1.0, 0.0, 0.0)
    differences: list[Value] = []
    for _ in range(rounds):
        ma, va = means[0], variances[0]
        for i in range(last):
            j = i + 1
            mb, vb = back_mean[j], back_variance[j]
            m, v = ma - mb, va + vb
            s = sqrt(v)
            correction, w = corrections[i](m / s, margins[i] / s)
            shift = s * correction
            if i == 0:
                first = m, v, shift, w
            m0, v0 = means[j], variances[j]
            d = v - vb * w
            scale = 1.0 / (d + v0 * w)
            ma = front_mean[j] = (m0 * d + v0 * (mb * w - shift)) * scale
            va = front_variance[j] = v0 * d * scale
        previous, differences = differences, []
        mb, vb = means[-1], variances[-1]
        for i in range(last, 0 if last else -1, -1):
            ma, va = front_mean[i], front_variance[i]
            m, v = ma - mb, va + vb
            s = sqrt(v)
            t = m / s
            correction, w = corrections[i](t, margins[i] / s)
            shift = s * correction
            if i == last:
                final = m, v, shift, w
            m0, v0 = means[i], variances[i]
            d = v - va * w
            scale = 1.0 / (d + v0 * w)
            mb = back_mean[i] = (m0 * d + v0 * (ma * w + shift)) * scale
            vb = back_variance[i] = v0 * d * scale
            differences.append(t)
        if last == 0 or (previous and arithmetic.largest_change(differences, previous) <= tolerance):
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
    d = v * (1.0 - w) + front_variance[-2] * w
    scale = 1.0 / (d + variances[-1] * w)
    front_mean[-1] = (means[-1] * d + variances[-1] * ((front_mean[-2] - m) * w - shift)) * scale
    front_variance[-1] = variances[-1] * d * scale
    return [
        Evidence(1.0 / fv + 1.0 / bv - 2.0 / v0, (fm - m0) / fv + (bm - m0) / bv)
        for m0, v0, fm, fv, bm, bv in zip(
            means, variances, front_mean, front_variance, back_mean, back_variance, strict=True
        )
    ]


def through_layers(
    means: Sequence[Value],
    variances: Sequence[Value],
    layers: Sequence[Sequence[PairComparison]],
    arithmetic: Arithmetic,
    *,
    rounds: int,
    tolerance: float,
) -> list[Evidence]:
    """Return the evidence from wins that form a tree, updating all comparisons of a layer at once.

    Passes go through the layers forward and backward until convergence. Within a layer, each comparison uses
    the messages from before the pass, so the result does not depend on the listing order, converged or not.

    Args:
        means: m_i of the n units.
        variances: v_i > 0.
        layers: n − 1 comparisons. Each unit is in at most two neighbouring layers.
        arithmetic: operations on floats or arrays, to match the other arguments.
        rounds: most forward and backward passes.
        tolerance: stop when no difference changes by more standard deviations than this in a round.
    """
    sqrt, win = arithmetic.sqrt, arithmetic.win
    precision = [1.0 / v for v in variances]
    weighted = [m / v for m, v in zip(means, variances, strict=True)]
    # The messages of each comparison to winner and loser: precision, and mean times precision.
    messages: list[list[tuple[Value, Value, Value, Value]]]
    messages = [[(0.0, 0.0, 0.0, 0.0) for _ in layer] for layer in layers]
    differences: list[list[Value]] = [[] for _ in layers]
    there_and_back = [*range(len(layers)), *range(len(layers) - 2, -1, -1)]
    previous: list[Value] = []
    for _ in range(rounds):
        for k in there_and_back:
            said = []
            differences[k] = []
            for (a, b, margin), (pa, wa, pb, wb) in zip(layers[k], messages[k], strict=True):
                va, vb = 1.0 / (precision[a] - pa), 1.0 / (precision[b] - pb)
                ma, mb = (weighted[a] - wa) * va, (weighted[b] - wb) * vb
                v = va + vb
                s = sqrt(v)
                t = (ma - mb) / s
                correction, w = win(t, margin / s)
                shift = s * correction
                to_a, to_b = 1.0 / (v - va * w), 1.0 / (v - vb * w)
                said.append((w * to_a, (ma * w + shift) * to_a, w * to_b, (mb * w - shift) * to_b))
                differences[k].append(t)
            for (a, b, _), old, new in zip(layers[k], messages[k], said, strict=True):
                precision[a] = precision[a] + (new[0] - old[0])
                weighted[a] = weighted[a] + (new[1] - old[1])
                precision[b] = precision[b] + (new[2] - old[2])
                weighted[b] = weighted[b] + (new[3] - old[3])
            messages[k] = said
        current = [t for layer in differences for t in layer]
        if len(current) == 1 or (previous and arithmetic.largest_change(current, previous) <= tolerance):
            break
        previous = current
    return [
        Evidence(p - 1.0 / v, w - m * p)
        for m, v, p, w in zip(means, variances, precision, weighted, strict=True)
    ]


def jointly(
    means: Sequence[Value],
    variances: Sequence[Value],
    comparisons: Sequence[PairComparison],
    *,
    rounds: int,
    tolerance: float,
) -> list[Evidence]:
    """Return the evidence from any set of wins, including cycles, updating all comparisons at once.

    Between truncations, linear algebra keeps the joint Gaussian of all performances exact. For a tree, the
    result is that of `through_layers`. It does not depend on the listing order.

    Args:
        means: m_i of the n units, floats or arrays of shape [candidates].
        variances: v_i > 0.
        comparisons: the wins.
        rounds: most rounds.
        tolerance: stop when no difference changes by more standard deviations than this in a round.
    """
    prior_mean, prior_variance = np.stack(means, axis=-1), np.stack(variances, axis=-1)
    margins = np.stack([np.broadcast_to(c.margin, prior_mean.shape[:-1]) for c in comparisons], axis=-1)
    signs = np.zeros((len(comparisons), len(means)))
    for row, comparison in zip(signs, comparisons, strict=True):
        row[comparison.winner], row[comparison.loser] = 1.0, -1.0
    # Unknowns are deviations from the prior means. Each comparison has a Gaussian for its difference.
    expected = prior_mean @ signs.T
    prior_precision = np.eye(len(means)) / prior_variance[..., np.newaxis]
    narrowest = _SHARPEST * (prior_variance @ np.abs(signs.T))
    precision, weighted = np.zeros_like(expected), np.zeros_like(expected)
    previous: Value = np.inf
    for _ in range(rounds):
        covariance = np.linalg.inv(prior_precision + (signs.T * precision[..., np.newaxis, :]) @ signs)
        deviation = np.einsum("...ij,...j->...i", covariance, (weighted - precision * expected) @ signs)
        spread = np.sum((signs @ covariance) * signs, axis=-1)
        # The cavity is the marginal of the difference without the comparison's message.
        v = spread / (1.0 - spread * precision)
        m = (expected + deviation @ signs.T - spread * weighted) / (1.0 - spread * precision)
        s = np.sqrt(v)
        t = m / s
        correction, w = win_array(t, margins / s)
        kept = np.maximum(v * (1.0 - w), narrowest)
        precision = precision + _STEP * (w / kept - precision)
        weighted = weighted + _STEP * ((m * w + s * correction) / kept - weighted)
        if np.max(np.abs(t - previous)) <= tolerance:
            break
        previous = t
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    return [
        Evidence(1.0 / variance[..., i] - 1.0 / prior_variance[..., i], deviation[..., i] / variance[..., i])
        for i in range(len(means))
    ]
