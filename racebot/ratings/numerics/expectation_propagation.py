"""Expectation propagation over comparisons of performances, the core of TrueSkill.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006), sections 2
and 3, https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. Units (players or teams)
have Gaussian performances t_i with prior mean m_i and variance v_i. A comparison of units a and b observes
that the difference t_a − t_b exceeds a margin (a win) or that it is within it (a draw); its message to either
unit is the Gaussian that gives the difference the same mean and variance as the truth does.

Messages are never stored as factors of a graph. With the *cavities* of a and b (what is known of them
without the comparison) of means m_a, m_b and variances v_a, v_b, and v = v_a + v_b, s = √v, the truncated
difference has mean m + s·V and variance v·(1 − W), and row 3 of table 1 simplifies to the messages

    to a:  precision W/(v − v_a·W),  mean times precision (m_a·W + s·V)/(v − v_a·W)
    to b:  precision W/(v − v_b·W),  mean times precision (m_b·W − s·V)/(v − v_b·W)

in which nothing vanishes or overflows, however expected or surprising the comparison was.

All functions serve floats and arrays alike (`arithmetic`): an array holds one value for each
candidate of a parameter sweep.

Three schedules: `along_chain` for units in a row, the source's; `through_layers` where units share a
neighbour but no comparisons close a circle; `jointly` if they do, and messages between single units
would count the same evidence many times over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from racebot.ratings.numerics.arithmetic import Arithmetic, Value, win_array

_STEP = 0.7
"""Share of each correction that `jointly` makes: with whole ones, comparisons that share units overshoot."""
_SHARPEST = 1e-6
"""Least share of its prior variance that `jointly` leaves to a difference: precisions must stay finite."""


class Evidence(NamedTuple):
    """The evidence of the comparisons about one unit's performance, given its prior mean.

    Attributes:
        precision: of the Gaussian likelihood, ≥ 0 up to rounding.
        pull: precision times (likelihood mean − prior mean); positive where the unit did better than
            expected.
    """

    precision: Value
    pull: Value


class Comparison(NamedTuple):
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
    """Evidence on units in a row, each compared with the next.

    The schedule is the source's (figure 1): comparisons from first to last but one, then from last to
    second, until nothing changes.

    Args:
        means: m_i of the n ≥ 2 units, best first.
        variances: v_i > 0.
        margins: of the n − 1 comparisons, ≥ 0.
        drawn: whether a comparison is a draw rather than a win of the earlier unit.
        arithmetic: of floats or arrays, as the other arguments are.
        rounds: passes there and back, at most.
        tolerance: stop when no difference of performances moved by more standard deviations in a round.
    """
    sqrt = arithmetic.sqrt
    corrections = [arithmetic.draw if tie else arithmetic.win for tie in drawn]
    last = len(margins) - 1
    # Cavities toward the next comparison (all that comes from before), and toward the previous one.
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
    # The outermost comparisons update the ends last, with the latest beliefs about the others.
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
    layers: Sequence[Sequence[Comparison]],
    arithmetic: Arithmetic,
    *,
    rounds: int,
    tolerance: float,
) -> list[Evidence]:
    """Evidence from wins that form a tree, layer by layer, the comparisons of a layer all speaking at once.

    Layers are passed from first to last and back until nothing changes. Within a layer each comparison
    hears what the others said before the pass, never during it, so that the order in which they are
    listed has no influence, converged or not.

    Args:
        means: m_i of the n units.
        variances: v_i > 0.
        layers: n − 1 comparisons, each unit being part of two neighbouring layers at most.
        arithmetic: of floats or arrays, as the other arguments are.
        rounds: passes there and back, at most.
        tolerance: stop when no difference of performances moved by more standard deviations in a round.
    """
    sqrt, win = arithmetic.sqrt, arithmetic.win
    precision = [1.0 / v for v in variances]
    weighted = [m / v for m, v in zip(means, variances, strict=True)]
    # Per comparison, its messages to the winner and to the loser: precision, mean times precision.
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
    comparisons: Sequence[Comparison],
    *,
    rounds: int,
    tolerance: float,
) -> list[Evidence]:
    """Evidence from any wins, circles among them included, all comparisons speaking at once.

    Between truncations the joint Gaussian of all performances is exact, by linear algebra; where the
    comparisons form a tree the result is that of `through_layers`. The listing order has no influence.

    Args:
        means: m_i of the n units, floats or arrays of shape [candidates].
        variances: v_i > 0.
        comparisons: f of them.
        rounds: at most so many.
        tolerance: stop when no difference of performances moved by more standard deviations in a round.
    """
    prior_mean, prior_variance = np.stack(means, axis=-1), np.stack(variances, axis=-1)
    margins = np.stack([np.broadcast_to(c.margin, prior_mean.shape[:-1]) for c in comparisons], axis=-1)
    signs = np.zeros((len(comparisons), len(means)))
    for row, comparison in zip(signs, comparisons, strict=True):
        row[comparison.winner], row[comparison.loser] = 1.0, -1.0
    # Unknowns are deviations from the prior means; each comparison's Gaussian stands for its difference.
    expected = prior_mean @ signs.T
    prior_precision = np.eye(len(means)) / prior_variance[..., np.newaxis]
    narrowest = _SHARPEST * (prior_variance @ np.abs(signs.T))
    precision, weighted = np.zeros_like(expected), np.zeros_like(expected)
    previous: Value = np.inf
    for _ in range(rounds):
        covariance = np.linalg.inv(prior_precision + (signs.T * precision[..., np.newaxis, :]) @ signs)
        deviation = np.einsum("...ij,...j->...i", covariance, (weighted - precision * expected) @ signs)
        spread = np.sum((signs @ covariance) * signs, axis=-1)
        # The cavity is the marginal of the difference without what the comparison itself has said.
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
