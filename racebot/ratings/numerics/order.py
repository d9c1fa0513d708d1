"""Posterior moments of Gaussian performances, given the order of a race, ties included.

Performances X_i = m_i + s_i Z_i are independent and Gaussian (L. L. Thurstone, "A law of comparative
judgment", https://doi.org/10.1037/h0070288). The places order them in groups; the order within a group is
unknown. Number the performances from the worst. Without ties, the density of X_i given the order of those
below is its prior density times the running integral of that of X_(i-1), and its posterior density is the
prior density times the running integrals from both sides.

These functions are steep in large fields and after upsets. So tilt them: with any rates r_i of the gaps,

    1 = ∏ e^(r_i (x_(i+1) - x_i)) e^(-r_i (x_(i+1) - x_i))

The first factors move each Gaussian to m_i + s_i² (r_(i-1) - r_i), and the second make the integrals
∫_(-∞)^x e^(-r(x - t)) f(t) dt. With r the slope of the logarithm of the running integral, all functions are
as smooth as the posterior, so that a few dozen points of a uniform grid around each performance suffice
(`order_grid`).

A group of a few is passed one by one, in any order: `in_any_order`. Given the edges of a crowd, which are the
last performance below and the first above, its members are independent and truncated: `crowd_moments`.

Compiled code runs the same functions, with loops in place of the innermost (`racebot.ratings.compiled`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_grid import (
    FEW,
    Windows,
    densities,
    find_windows,
    integral,
    kernels,
    lag_weights,
    sorted_ties,
    sums,
)
from racebot.ratings.numerics.truncated_normal import pair_moments

OUTSIDE = 2**40  # grid points to the edges that no performance reaches
SMALL = 128
"""Largest grid that all functions share, which saves the search for windows. See `on_small_grid`."""
SMALL_REACH = 6.0  # limits of that grid, in standard deviations beyond the outermost means
SMALL_COARSEST, SMALL_STEP = 0.7, 1.3
"""Largest step in the smallest standard deviation, and the same times the root of the number of entrants."""
SMALL_UPSET = 0.5
"""Entrants that one standard deviation of upset (a favorite behind a weaker entrant) counts as."""
SOUND = 1e-10
"""Least product of the two functions at their overlap, relative to their maxima. Rounding error is 1e-16."""
SOUND_STEP = 2.5e-9  # least share of a function that may remain after one more entrant


def posterior_moments(
    means: list[float], scales: list[float], places: list[int]
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the posterior means and variances of the standardized performances Z_i of one race.

    Args:
        means: means of the n ≥ 2 performances, worst placed entrant first.
        scales: standard deviations of the performances, greater than zero.
        places: places of the entrants, of which there are at least two.

    Returns:
        Two sequences of n. They are NaN if the arguments are not finite, or beyond any grid.
    """
    if len(means) == 2:
        return pair_moments(means, scales)
    if len(set(places)) == len(places):
        found = on_small_grid(means, scales)
        if len(found[0]):
            return found
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return at_any_surprise(means, scales, places)


def at_any_surprise(
    means: list[float], scales: list[float], places: list[int]
) -> tuple[list[float], list[float]]:
    """Return the moments of `on_windows`, but order the members of a group by mean if it cannot.

    It cannot if a crowd shares a place hundreds of standard deviations from where it was expected.
    """
    found = on_windows(means, scales, places)
    if math.isfinite(sum(found[0]) + sum(found[1])) or not math.isfinite(sum(means)):
        return found
    order, n = sorted_ties(means, scales, places), len(means)
    first, second = on_windows(
        [means[i] for i in order], [scales[i] for i in order], [n - i for i in range(n)]
    )
    a = 0
    for b in range(1, n + 1):
        i, j = order[a], order[min(b, n - 1)]
        if b == n or (places[i], means[i], scales[i]) != (places[j], means[j], scales[j]):
            for k in range(a, b):
                found[0][order[k]] = sum(first[a:b]) / (b - a)
                found[1][order[k]] = sum(second[a:b]) / (b - a)
            a = b
    return found


def on_small_grid(means: Sequence[float], scales: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the moments of a race without ties on one grid for all functions, or nothing if it will not do.

    The running integral is a matrix. It is nearly exact for smooth functions that vanish at both ends:

        ∫_(-∞)^(x_k) f ≈ h Σ_j f(x_j) (1/2 + Si(π(k-j))/π)

    Source: R. B. Kearfott, "A sinc approximation for the indefinite integral", Math. Comp. 41 (1983),
    https://doi.org/10.1090/S0025-5718-1983-0717703-X. Its error is absolute, so all precision is lost if a
    performance lies in the far tails of both functions, after a great upset or in a large field.
    """
    n = len(means)
    low = min([means[i] - SMALL_REACH * scales[i] for i in range(n)])
    high = max([means[i] + SMALL_REACH * scales[i] for i in range(n)])
    best, upset = means[-1], 0.0
    for mean in means[::-1]:
        if mean > best:
            upset += mean - best
        else:
            best = mean
    smallest = min(scales)
    finest = max(1.0 / SMALL_COARSEST, math.sqrt(n + SMALL_UPSET * upset / smallest) / SMALL_STEP)
    needed = (high - low) * finest / smallest
    if not needed < SMALL:
        return [], []
    points = 4 * math.ceil((needed + 1) / 4)
    step = (high - low) / (points - 1)
    starts = [(low - means[i]) / scales[i] for i in range(n)]
    steps = [step / scale for scale in scales]
    exponents = np.array([(-0.5 * z * z, -z * d, -0.5 * d * d) for z, d in zip(starts, steps, strict=True)])
    integration, powers, columns = _grid(points)
    value = np.exp(exponents.dot(powers))
    # Mirror the functions from above, so that both rise from left to right and use the same integral.
    both = np.empty((n, 2, points))
    both[:, 0] = value
    both[:, 1] = value[::-1, ::-1]
    level = np.empty_like(both)
    level[0] = 1.0
    before, rise = level[0], np.empty_like(both[0])
    multiply, dot = np.multiply, rise.dot
    for own, after in zip(both, level[1:], strict=False):
        multiply(own, before, rise)
        dot(integration, after)
        before = after
    value *= level[:, 0]
    value *= level[::-1, 1, ::-1]
    totals, linears, squares = value.dot(columns).T.tolist()
    below, above = level[:, :, -1].T.tolist()
    for i in range(n):
        if not totals[i] > SOUND * points * below[i] * above[n - 1 - i]:
            return [], []
    for i in range(n - 1):
        if not below[i + 1] * steps[i] > SOUND_STEP * below[i]:
            return [], []
        if not above[i + 1] * steps[n - 1 - i] > SOUND_STEP * above[i]:
            return [], []
    at = [linears[i] / totals[i] for i in range(n)]
    first = [starts[i] + steps[i] * at[i] for i in range(n)]
    return first, [steps[i] * steps[i] * (squares[i] / totals[i] - at[i] * at[i]) for i in range(n)]


@lru_cache(maxsize=SMALL // 4 + 1)
def _grid(points: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the running integral as a matrix to multiply by, and the powers of k as rows and as columns."""
    k = np.arange(points, dtype=np.float64)
    lag = k - k[:, np.newaxis]
    integration = 0.5 + scipy.special.sici(np.pi * lag)[0] / np.pi
    powers = np.stack([np.ones_like(k), k, k * k])
    columns = np.ascontiguousarray(powers.T)
    for array in (integration, powers, columns):
        array.flags.writeable = False
    return integration, powers, columns


def on_windows(means: list[float], scales: list[float], places: list[int]) -> tuple[list[float], list[float]]:
    """Return the moments of `posterior_moments`, from windows around each group's performances."""
    windows = find_windows(means, scales, places)
    first, second, starts = means.copy(), means.copy(), windows.starts
    for i in range(len(means)):
        first[i] = second[i] = math.nan
    if not windows.found:
        return first, second
    weights, own, row, groups = kernels(windows), densities(windows), 0, len(starts) - 1
    # From below. Keep the functions of `in_any_order`, or of a crowd the density below it.
    level, start = np.ones(1), -OUTSIDE
    below, above = [level for _ in range(0)], [level for _ in range(0)]
    for g in range(groups):
        a, b = starts[g], starts[g + 1]
        if b - a <= FEW:
            level = in_any_order(windows, weights, own, row, a, b, level, start, 1, below)
            row += (b - a) * (b - a)
        else:
            below.append(level)
            level = crowd_level(windows, a, b, level, start, 1)
        start = windows.low[b - 1]
    # From above, with the moments.
    level, start = np.ones(1), OUTSIDE
    for g in range(groups - 1, -1, -1):
        a, b = starts[g], starts[g + 1]
        if b - a <= FEW:
            row -= (b - a) * (b - a)
            above.clear()
            level = in_any_order(windows, weights, own, row, a, b, level, start, -1, above)
            few_moments(windows, own, row, a, b, below, above, first, second)
        else:
            crowd_moments(windows, a, b, below.pop(), level, start, first, second)
            level = crowd_level(windows, a, b, level, start, -1)
        start = windows.low[a]
    return first, second


def in_any_order(
    windows: Windows,
    weights: list[FloatArray],
    own: list[FloatArray],
    row: int,
    a: int,
    b: int,
    level: FloatArray,
    start: int,
    side: int,
    table: list[FloatArray],
) -> FloatArray:
    """Append P(those before are in order, and they and a subset of a group are below x), for each subset.

    Args:
        own: tilted densities; from `row` on those of the members from `a` to `b`, by rank and member.
        level: density of the last performance before the group, known from `start`.
        side: 1, or -1 for above x instead.
        table: gets a function for each subset but the whole group, by the bits of its members.

    Returns:
        The density of the last performance of the group.
    """
    low, high, count, base = windows.low[a], windows.high[a], b - a, len(table)
    if a == 0 if side > 0 else b == len(windows.m):
        rest = np.ones(high - low)
    else:
        rest = integral(level, start, weights[a if side > 0 else b], low, high, side)
        rest *= 1.0 / rest[windows.center[a if side > 0 else b - 1] - low]
    table.append(rest)
    if count == 1:
        return own[row] * rest
    last = (1 << count) - 1
    for members in range(1, last + 1):
        rank, rest = -1, np.zeros(high - low)
        for k in range(count):
            rank += members >> k & 1
        for k in range(count):
            if members >> k & 1:
                at = rank if side > 0 else count - 1 - rank
                rest = rest + own[row + at * count + k] * table[base + (members ^ (1 << k))]
        if members < last:
            kernel = weights[a + 1 + rank if side > 0 else b - 1 - rank]
            table.append(integral(rest, 0, kernel, 0, high - low, side))
    return rest


def few_moments(
    windows: Windows,
    own: list[FloatArray],
    row: int,
    a: int,
    b: int,
    below: list[FloatArray],
    above: list[FloatArray],
    first: list[float],
    second: list[float],
) -> None:
    """Fill in the moments of a small group, given its functions of `in_any_order`, and remove those below."""
    count, last = b - a, len(above)
    base = len(below) - last
    for k in range(count):
        others = last ^ (1 << k)
        chance = own[row + k] * below[base] * above[others]
        for members in range(1, others + 1):
            if members & others == members:
                rank = 0
                for j in range(count):
                    rank += members >> j & 1
                share = below[base + members] * above[others ^ members]
                chance = chance + own[row + rank * count + k] * share
        total, linear, square = sums(chance)
        if total > 0.0:  # no underflow
            i, width = a + k, windows.step / windows.s[a + k]
            linear = linear / total
            first[windows.order[i]] = width * (windows.low[a] + linear) - windows.m[i] / windows.s[i]
            second[windows.order[i]] = width * width * (square / total - linear * linear)
    for _ in range(last):
        below.pop()


def crowd_level(windows: Windows, a: int, b: int, level: FloatArray, start: int, side: int) -> FloatArray:
    """Return the density of the last performance of a large group, as `in_any_order` does for a small one."""
    at = b - 1 if side > 0 else a
    edge = np.arange(windows.low[at], windows.high[at])
    other, weight = far_edge(windows, a, b, level, start, side)
    product = weight * lag_weights(side * (edge[:, np.newaxis] - other))
    inside, own = [], []
    for i in range(a, b):
        share, density = tail(windows, a, b, i, edge, side)
        inside.append(share[:, np.newaxis] - tail(windows, a, b, i, other, side)[0])
        own.append(density / windows.s[i])
        product = product * inside[-1]
    # Where the edges are equal, the product is zero and remains so.
    level = sum(p * (product / (q + 1e-300)).sum(axis=1) for p, q in zip(own, inside, strict=True))
    rate = windows.rates[b if side > 0 else a]
    level = level * np.exp(-rate * windows.step * side * (edge - windows.center[at]))
    return level / level.max()


def crowd_moments(
    windows: Windows,
    a: int,
    b: int,
    below: FloatArray,
    level: FloatArray,
    start: int,
    first: list[float],
    second: list[float],
) -> None:
    """Do the same as `few_moments` for a large group, given the densities of the groups below and above."""
    lower, weight = far_edge(windows, a, b, below, windows.low[a - 1] if a > 0 else 0, 1)
    upper, other = far_edge(windows, a, b, level, start, -1)
    product = weight * other[:, np.newaxis] * lag_weights(upper[:, np.newaxis] - lower)
    tables = []
    for i in range(a, b):
        (up, over), (down, under) = tail(windows, a, b, i, upper, 1), tail(windows, a, b, i, lower, 1)
        product = product * (up[:, np.newaxis] - down)
        tables.append((up, over, down, under))
    total = product.sum()
    for i, (up, over, down, under) in zip(range(a, b), tables, strict=True):
        rest = product / (up[:, np.newaxis] - down + 1e-300)
        high, low = rest.sum(axis=1), rest.sum(axis=0)
        z, y = ((windows.step * edge - windows.m[i]) / windows.s[i] for edge in (upper, lower))
        k, mean = windows.order[i], ((under * low).sum() - (over * high).sum()) / total
        first[k] = mean
        second[k] = 1.0 + ((y * under * low).sum() - (z * over * high).sum()) / total - mean * mean


def far_edge(
    windows: Windows, a: int, b: int, level: FloatArray, start: int, side: int
) -> tuple[IntArray, FloatArray]:
    """Return the points of the edge that a large group starts from, and their densities, not tilted."""
    if a == 0 if side > 0 else b == len(windows.m):
        return np.array([-side * OUTSIDE]), np.ones(1)
    point, rate = np.arange(start, start + len(level)), windows.rates[a if side > 0 else b]
    center = windows.center[a - 1 if side > 0 else b]
    return point, level * np.exp(side * rate * windows.step * (point - center))


def tail(
    windows: Windows, a: int, b: int, i: int, point: IntArray, side: int
) -> tuple[FloatArray, FloatArray]:
    """Return distribution function, up to a constant, and density of one performance of a group.

    Both are relative to the density in the group's middle, and computed in the smaller tail.
    """
    middle = 0.5 * (windows.low[a] + windows.high[b - 1])
    z, peak = ((windows.step * each - windows.m[i]) / windows.s[i] for each in (point, middle))
    scale = 0.5 * peak * peak
    sign = -1.0 if peak > 0.0 else 1.0
    share = sign * side * np.exp(scipy.special.log_ndtr(sign * z) + scale)
    return share, np.exp(scale - 0.5 * z * z) / math.sqrt(2.0 * math.pi)
