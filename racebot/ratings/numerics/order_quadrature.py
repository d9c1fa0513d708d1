"""Posterior moments of Gaussian performances, in time linear in the size of the grid. For compiled code.

The recursion is that of `order_statistics`, in plain loops that Numba compiles. Its integrals are local and
keep their relative accuracy in the tails, so that it needs no logarithms after an upset. Uncompiled, it is
far slower than `order_statistics`.

Shared places are exact. With A_S(x) the probability that all worse performances are in order and, together
with those of a subset S of the group that shares a place, below x in any order,

    A_S(x) = Σ_(k in S) ∫_(-∞)^x f_k(y) A_(S without k)(y) dy

Every integrand is positive, so nothing cancels. A group of m needs 2^m - 1 integrals from either side.

Integrals use the trapezoid rule with central difference corrections up to seventh order, which span nine
points: -1/12 μδ + 11/720 μδ³ - 191/60480 μδ⁵ + 2497/3628800 μδ⁷. Source: E. T. Whittaker, G. Robinson, "The
Calculus of Observations" (1924), chapter 7, https://archive.org/details/calculusofobserv031400mbp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from racebot.ratings.model import FloatArray

REACH = 6.0
"""Limits of the grid, in standard deviations beyond the outermost means."""
STEP = 0.85
"""Step in units of the smallest standard deviation, times the square root of the number of entrants."""
UPSET = 3.0
"""Number of entrants that one standard deviation of upset counts as; see `order_statistics`."""
CROWD = 0.45
"""The step times the number of entrants is at most the inverse of this.

With these constants the moments are within 1e-5 for the seasons of sweeps, and within 1e-3 for 60 entrants
in a random order whose ratings are many standard deviations apart.
"""
MOST_POINTS = 6000
"""Largest grid."""
MOST_TIED = 8
"""Largest group that shares a place. Time and memory grow with its number of subsets."""
TINY = 1e-250
"""Least probability of the order that is certain not to suffer from underflow."""
_MARGIN = 4
"""Zeros on both sides of an integrand, as many as the corrections reach."""
_C1, _C2, _C3, _C4 = 252769 / 3628800, -68119 / 3628800, 1469 / 403200, -2497 / 7257600
"""The corrections, as weights of the differences between points at these distances."""


def order_moments(
    means: Sequence[float], scales: Sequence[float], places: Sequence[int]
) -> tuple[FloatArray, FloatArray, bool]:
    """Return the posterior moments of the standardized performances of one race.

    Args:
        means: means of the n ≥ 2 performances, worst first.
        scales: standard deviations of these performances, greater than zero.
        places: places of these performances. The order within a shared place is unknown.

    Returns:
        Means of shape [n], variances of shape [n], and False if these must not be used, because the grid
        would be too large, the order too unlikely, or a shared place too crowded.
    """
    n = len(means)
    first, second = np.zeros(n), np.zeros(n)
    low, step, points = grid(means, scales)
    # Each group's first entrant, and its first row: one for each subset, by the bits of its members. The last
    # row, for the whole group, is the next group's first.
    starts, rows = np.zeros(n + 1, dtype=np.intp), np.zeros(n + 1, dtype=np.intp)
    groups = 0
    for i in range(1, n + 1):
        if i == n or places[i] != places[i - 1]:
            size = i - starts[groups]
            if size > MOST_TIED:
                return first, second, False
            groups += 1
            starts[groups] = i
            rows[groups] = rows[groups - 1] + (1 << size) - 1
    if points == 0:
        return first, second, False
    # From above, grid and groups are mirrored.
    value, mirrored = np.empty((n, points)), np.empty((n, points))
    for i in range(n):
        fill_density(value[i], (low - means[i]) / scales[i], step / scales[i])
        mirror(value[i], mirrored[i])
    rise = np.zeros(points + 2 * _MARGIN)
    count = rows[groups]
    below, above = np.empty((count + 1, points)), np.empty((count + 1, points))
    below[0] = above[0] = 1.0
    for turn in range(groups):
        g, h = turn, groups - 1 - turn
        if h == 0 and starts[1] == 1 and starts[g] == n - 1:
            break  # only those who share the first or the last place need the last turn
        if not (
            pass_group(value[starts[g] : starts[g + 1]], below[rows[g] : rows[g + 1] + 1], rise)
            and pass_group(
                mirrored[starts[h] : starts[h + 1]], above[count - rows[h + 1] : count - rows[h] + 1], rise
            )
        ):
            return first, second, False
    other = np.empty(points)
    for g in range(groups):
        everyone = (1 << (starts[g + 1] - starts[g])) - 1
        for i in range(starts[g], starts[g + 1]):
            rest = everyone ^ (1 << (i - starts[g]))
            total = linear = square = 0.0
            for members in range(rest + 1):
                if members & rest != members:
                    continue
                mirror(above[count - rows[g + 1] + (rest ^ members)], other)
                a, b, c = sums(value[i], below[rows[g] + members], other)
                total, linear, square = total + a, linear + b, square + c
            if not total > TINY:
                return first, second, False
            at, width = linear / total, step / scales[i]
            first[i] = (low - means[i]) / scales[i] + width * at
            second[i] = width * width * (square / total - at * at)
    return first, second, True


def pass_group(value: FloatArray, level: FloatArray, rise: FloatArray) -> bool:
    """Fill A_S of all subsets S of a group, given that of the empty one. Return False if one vanishes.

    The m members' densities have shape [m, points]. `level` has a row for each subset, by the bits of its
    members. `rise` is a workspace; see `integrate`.
    """
    for members in range(1, len(level)):
        added = 0
        for k in range(len(value)):
            if members >> k & 1:
                add_product(value[k], level[members ^ (1 << k)], rise, added > 0)
                added += 1
        # Rescale the whole group only, since sums compare its subsets.
        if not integrate(rise, level[members], members == len(level) - 1):
            return False
    return True


def add_product(value: FloatArray, level: FloatArray, rise: FloatArray, added: bool) -> None:
    """Add value·level to `rise` if `added` is set, otherwise replace `rise` by it."""
    if added:
        for k in range(len(value)):
            rise[k + _MARGIN] += value[k] * level[k]
    else:
        for k in range(len(value)):
            rise[k + _MARGIN] = value[k] * level[k]


def grid(means: Sequence[float], scales: Sequence[float]) -> tuple[float, float, int]:
    """Return start, step and number of points of the grid; 0 if it would be too large."""
    n = len(means)
    low, high, smallest = math.inf, -math.inf, math.inf
    for i in range(n):
        low = min(low, means[i] - REACH * scales[i])
        high = max(high, means[i] + REACH * scales[i])
        smallest = min(smallest, scales[i])
    lowest, upset = means[n - 1], 0.0
    for i in range(n - 1, -1, -1):
        upset += max(means[i] - lowest, 0.0)
        lowest = min(lowest, means[i])
    step = smallest * min(STEP / math.sqrt(n + UPSET * upset / smallest), 1.0 / (CROWD * n))
    needed = (high - low) / step
    return low, step, 2 * math.ceil((needed + 1) / 2) if needed < MOST_POINTS else 0


def fill_density(value: FloatArray, start: float, step: float) -> None:
    """Fill `value` with exp(-z²/2) on a grid from `start`, by recurrences outward from the peak."""
    peak = min(max(int(-start / step), 0), len(value) - 1)
    z, bend = start + step * peak, math.exp(-step * step)
    density, grow = math.exp(-0.5 * z * z), math.exp(-step * (z + 0.5 * step))
    for k in range(peak, len(value)):
        value[k] = density
        density, grow = density * grow, grow * bend
    grow = math.exp(step * (z - 0.5 * step))
    density = math.exp(-0.5 * z * z)
    for k in range(peak - 1, -1, -1):
        density, grow = density * grow, grow * bend
        value[k] = density


def integrate(rise: FloatArray, after: FloatArray, rescaled: bool) -> bool:
    """Fill `after` with the running integral of `rise`, over its end if `rescaled`. Return False if it is 0.

    `rise` has shape [points + 8], with zeros at its first and last four entries.
    """
    points = len(after)
    # Separate views let the compiler use vector instructions.
    before1, after1, before2, after2 = rise[3:], rise[5:], rise[2:], rise[6:]
    before3, after3, after4 = rise[1:], rise[7:], rise[8:]
    total = 0.0
    for k in range(points):
        total += rise[k + _MARGIN]
        after[k] = total
    if not total > TINY:
        return False
    share = 1.0 / total if rescaled else 1.0
    at = rise[4:]
    for k in range(points):
        correction = _C1 * (before1[k] - after1[k]) + _C2 * (before2[k] - after2[k])
        correction += _C3 * (before3[k] - after3[k]) + _C4 * (rise[k] - after4[k])
        after[k] = (after[k] - 0.5 * at[k] + correction) * share
    return True


def mirror(values: FloatArray, mirrored: FloatArray) -> None:
    points = len(values)
    for k in range(points):
        mirrored[k] = values[points - 1 - k]


def sums(value: FloatArray, below: FloatArray, above: FloatArray) -> tuple[float, float, float]:
    """Return the sums of p, p·k and p·k², where p is the product of the arguments at grid point k."""
    total = linear = square = 0.0
    for k in range(len(value)):
        p = value[k] * below[k] * above[k]
        total += p
        linear += p * k
        square += p * k * k
    return total, linear, square
