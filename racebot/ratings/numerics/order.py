"""Posterior moments of Gaussian performances, given the order of a race, ties included.

Performances X_i = m_i + s_i Z_i are independent and Gaussian (L. L. Thurstone, "A law of comparative
judgment", https://doi.org/10.1037/h0070288). The places order them in groups; the order within a group is
unknown. Number the groups from the worst. Given the edges of a group, a = the largest performance of the
groups below it and b = the smallest of those above, its members are independent and truncated to (a, b). With
F_i(a, b) the probability that X_i is in (a, b), the density of the largest performance of the first g groups,
in order, follows from that of the first g - 1, and likewise from above:

    l_g(x) = ∫_(-∞)^x l_(g-1)(a) d/dx ∏_(i in g) F_i(a, x) da

For a group of one this is its prior density times the running integral of l_(g-1), and its posterior density
is the prior density times both running integrals. A group of a few is passed one by one, in any order:
`in_any_order`. For a crowd, the sums run over both edges: `without_each`.

All functions are tabulated on one uniform grid, up to a constant factor, and each only where the posterior
needs it (`order_windows`, `order_grid`).

Compiled code runs the same functions, with loops in place of the innermost (`racebot.ratings.compiled`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_grid import (
    MARGIN,
    densities,
    density,
    integral,
    running_integral,
    sums,
    weights,
)
from racebot.ratings.numerics.order_windows import FEW, Windows, find_windows, sorted_ties
from racebot.ratings.numerics.truncated_normal import pair_moments

OUTSIDE = 2**40
"""Grid points to the edges that no performance reaches."""
PART = 64
"""Groups whose densities are computed at once, to save both time and memory."""
SMALL = 128
"""Largest grid that all functions share, which saves the search for windows. See `on_small_grid`."""
SMALL_REACH = 6.0
"""Limits of that grid, in standard deviations beyond the outermost means."""
SMALL_COARSEST, SMALL_STEP = 0.7, 1.3
"""Largest step in the smallest standard deviation, and the same times the root of the number of entrants."""
SMALL_UPSET = 0.5
"""Entrants that one standard deviation of upset (a favorite behind a weaker entrant) counts as."""
SOUND = 1e-10
"""Least product of the two functions at their overlap, relative to their maxima. Rounding error is 1e-16."""
SOUND_STEP = 2.5e-9
"""Least share of a function that may remain after one more entrant."""


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

    It cannot if a crowd shares a place hundreds of standard deviations from where it was expected. Then the
    order within it hardly matters. Equal members still move equally.
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
    # From below: the density of each group's largest performance, given the order of those below it. Of small
    # groups, keep all functions of `in_any_order` but this one. Of others, keep the one below.
    level, start, groups = np.ones(1), -OUTSIDE, len(starts) - 1
    tables = [[level] for _ in range(0)]
    for part in range(0, groups, PART):
        stop = min(part + PART, groups)
        own = densities(windows, starts[part], starts[stop])
        for g in range(part, stop):
            a, b = starts[g], starts[g + 1]
            if b - a <= FEW:
                rest = integral(level, start, windows.low[a], windows.high[a], 1)
                rest *= 1.0 / rest[-1]
                table = in_any_order(own[a - starts[part] : b - starts[part]], rest, 1)
                level = table.pop()
                tables.append(table)
            else:
                tables.append([level])
                if b < len(means):
                    level = crowd_below(windows, a, b, level, start)
            start = windows.low[b - 1]
    # From above, with the moments.
    level, start = np.ones(1), OUTSIDE
    for stop in range(groups, 0, -PART):
        part = max(stop - PART, 0)
        own = densities(windows, starts[part], starts[stop])
        for g in range(stop - 1, part - 1, -1):
            a, b = starts[g], starts[g + 1]
            if b - a <= FEW:
                rest = integral(level, start, windows.low[a], windows.high[a], -1)
                rest *= 1.0 / rest[0]
                members = own[a - starts[part] : b - starts[part]]
                table = in_any_order(members, rest, -1)
                level = table.pop()
                few_moments(windows, a, members, tables.pop(), table, first, second)
            else:
                level = crowd_moments(windows, a, b, tables.pop()[0], level, start, first, second)
            start = windows.low[a]
    return first, second


def few_moments(
    windows: Windows,
    a: int,
    own: list[FloatArray],
    below: list[FloatArray],
    above: list[FloatArray],
    first: list[float],
    second: list[float],
) -> None:
    """Fill in the moments of a small group whose first member is `a`.

    `own` are the densities of its members, and `below` and `above` their functions of `in_any_order`.
    """
    for k in range(len(own)):
        others = len(below) ^ (1 << k)
        chance = below[0] * above[others]
        for members in range(1, others + 1):
            if members & others == members:
                chance = chance + below[members] * above[others ^ members]
        total, linear, square = sums(own[k], chance)
        if total > 0.0:  # no underflow
            fill_moments(windows, a + k, windows.low[a], linear / total, square / total, first, second)


def fill_moments(
    windows: Windows,
    i: int,
    center: int,
    linear: float,
    square: float,
    first: list[float],
    second: list[float],
) -> None:
    """Fill in the moments of one entrant, given those of the grid point of X_i, counted from `center`."""
    k, width = windows.order[i], windows.step / windows.s[i]
    first[k] = (windows.origin + windows.step * center - windows.m[i]) / windows.s[i] + width * linear
    second[k] = width * width * (square - linear * linear)


def in_any_order(own: list[FloatArray], rest: FloatArray, side: int) -> list[FloatArray]:
    """Return P(those before are in order, and they and a subset of a group are below x), for each subset.

    Args:
        own: densities of the members.
        rest: the function of the empty subset.
        side: 1, or -1 for above x instead.

    Returns:
        A function for each subset, by the bits of its members. The last, of all of them, is not integrated.
    """
    table, last, top = [rest], (1 << len(own)) - 1, 0
    for members in range(1, last + 1):
        if members >> (top + 1):
            top += 1
        rise = own[top] * table[members ^ (1 << top)]
        for k in range(top):
            if members >> k & 1:
                rise = rise + own[k] * table[members ^ (1 << k)]
        table.append(rise if members == last else integral(rise, 0, 0, len(rise), side))
    return table


def crowd_below(windows: Windows, a: int, b: int, level: FloatArray, start: int) -> FloatArray:
    """Return the density of the largest performance of a large group, the members from `a` to `b`.

    `level` is the density of the groups below it, known from the point `start`.
    """
    low, high = windows.low[b - 1], windows.high[b - 1]
    own, mass, span = crowd_tables(windows, a, b, 1)
    share, _ = without_each(
        weights(low, high, start, len(level)) * level,
        mass[0][:, low - span : high - span],
        between(mass[0], start - span, len(level)),
    )
    level = (own[:, low - span : high - span] * share).sum(axis=0)
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
) -> FloatArray:
    """Do the same as `few_moments` for a large group, given the densities of the groups below and above."""
    own, mass, span = crowd_tables(windows, a, b, 3)
    from_below = windows.low[a - 1] if a > 0 else -OUTSIDE
    up, down = between(mass, start - span, len(level)), between(mass, from_below - span, len(below))
    edges = weights(start, start + len(level), from_below, len(below)) * below * level[:, np.newaxis]
    to_above, to_below = without_each(edges, up[0], down[0])
    total, linear, square = (up * to_above).sum(axis=-1) - (down * to_below).sum(axis=-1)
    for k in range(b - a):
        middle = windows.center[(a + b) // 2]
        fill_moments(windows, a + k, middle, linear[k] / total[k], square[k] / total[k], first, second)
    if a == 0:
        return level  # nobody is below
    low, high = windows.low[a], windows.high[a]
    edges = weights(start, start + len(level), low, high - low) * level[:, np.newaxis]
    _, share = without_each(edges, up[0], mass[0][:, low - span : high - span])
    level = (own[:, low - span : high - span] * share).sum(axis=0)
    return level / level.max()


def crowd_tables(windows: Windows, a: int, b: int, powers: int) -> tuple[FloatArray, FloatArray, int]:
    """Return the densities of a large group's k members in both of its windows, and their running integrals.

    Those are also of the density times the grid point, and times its square, counted from the group's middle.

    Returns:
        Arrays of shape [k, points] and [powers, k, points], and their first point.
    """
    w = windows
    low, high = min(w.low[a], w.low[b - 1]), max(w.high[a], w.high[b - 1])
    # The edges that are likely, between which each member has a probability of about 1.
    left = min(max(w.center[a - 1] - low, 0), high - low - 2) if a > 0 else 0
    right = max(min(w.center[b] + 1 - low, high - low - 1), left + 1) if b < len(w.m) else high - low - 1
    point = np.arange(low - MARGIN, high + MARGIN)
    mean, scale, peak = (np.array(each[a:b])[:, np.newaxis] for each in (w.m, w.s, w.peak))
    own, inside = density(w, point, mean, scale, peak), slice(MARGIN, -MARGIN)
    mass = np.empty((powers, b - a, high - low))
    for i in range(b - a):
        value = own[i]
        for k in range(powers):
            # Integrate from the side where the density is small, to keep the accuracy of differences.
            if w.m[a + i] > w.origin + w.step * w.peak[a + i]:
                mass[k, i] = running_integral(value)[inside]
            else:
                mass[k, i] = -running_integral(value[::-1])[::-1][inside]
            value = value * (point - w.center[(a + b) // 2])
    scale = 1.0 / (mass[0, :, right] - mass[0, :, left])[:, np.newaxis]
    return own[:, inside] * scale, mass * scale, low


def without_each(weight: FloatArray, above: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum weights times the probabilities that all members but one are between two edges.

    Args:
        weight: shape [rows, columns]; rows are upper edges and columns are lower ones.
        above, below: shapes [k, rows] and [k, columns]; running integrals of the members' densities.

    Returns:
        The sums over columns, without each member: shape [k, rows]; and those over rows: [k, columns].
    """
    product = weight
    for i in range(len(above)):
        product = product * (above[i][:, np.newaxis] - below[i])
    over_columns, over_rows = np.empty_like(above), np.empty_like(below)
    for i in range(len(above)):
        inside = above[i][:, np.newaxis] - below[i]
        # Where the edges are equal, the product is zero and remains so.
        rest = product / (inside + 1e-300)
        over_columns[i], over_rows[i] = rest.sum(axis=1), rest.sum(axis=0)
    return over_columns, over_rows


def between(mass: FloatArray, start: int, count: int) -> FloatArray:
    """Return columns of running integrals from `start`, with those outside as at the ends."""
    return mass[..., np.arange(start, start + count).clip(0, mass.shape[-1] - 1)]
