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
needs it (`order_windows`). Integrals are sums with central difference corrections, which keep the relative
accuracy of steep tails: E. T. Whittaker, G. Robinson, "The Calculus of Observations" (1924), chapter 7,
https://archive.org/details/calculusofobserv031400mbp.

Compiled code runs the same functions, with loops in place of the innermost (`racebot.ratings.compiled`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_windows import FEW, Windows, find_windows, sorted_ties
from racebot.ratings.numerics.truncated_normal import pair_moments

MARGIN = 8
"""Points on either side that a correction uses. With more, steep tails would amplify rounding errors."""
OUTSIDE = 2**40
"""Grid points to the edges that no performance reaches."""
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


def _corrections() -> FloatArray:
    """Return the weights of f(x - d) - f(x + d), for d from 1, that correct the trapezoid rule.

    For sin(w·x), their sum agrees with 1/w - cot(w/2)/2 in the first derivatives at w = 0.
    """
    d = np.arange(1.0, MARGIN + 1)
    powers = 2 * np.arange(1, MARGIN + 1)
    bernoulli = np.abs(np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]))
    factorials = np.array([math.factorial(p) for p in powers.tolist()], dtype=np.float64)
    signs = np.where(powers % 4, 2.0, -2.0)
    matrix = signs[:, np.newaxis] * d ** (powers[:, np.newaxis] - 1) * (powers / factorials)[:, np.newaxis]
    return np.linalg.solve(matrix, bernoulli / factorials)


CORRECTIONS = _corrections()
WEIGHTS = np.concatenate([[0.0], -CORRECTIONS[::-1], [0.5], 1.0 + CORRECTIONS, [1.0]])
"""Weights of f(x - d) in the integral up to x, for d from -MARGIN - 1, where they are 0, to MARGIN + 1."""
_STENCIL = np.concatenate([-CORRECTIONS[::-1], [-0.5], CORRECTIONS])


def posterior_moments(
    means: Sequence[float], scales: Sequence[float], places: Sequence[int]
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
    means: Sequence[float], scales: Sequence[float], places: Sequence[int]
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


def on_windows(
    means: Sequence[float], scales: Sequence[float], places: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Return the moments of `posterior_moments`, from windows around each group's performances."""
    first, second = [math.nan for _ in means], [math.nan for _ in means]
    windows = find_windows(means, scales, places)
    if not windows.found:
        return first, second
    starts, groups = windows.starts, len(windows.starts) - 1
    # From below: the density of each group's largest performance, given the order of those below it. Of small
    # groups, keep all functions of `in_any_order`.
    level, start = np.ones(1), -OUTSIDE
    tables, froms = [[level]], [start]
    for g in range(groups):
        low, high = windows.far[g]
        table = [level]
        if starts[g + 1] - starts[g] <= FEW:
            table = in_any_order(densities(windows, g), total_below(level, start, low, high))
        elif g < groups - 1:
            table = [crowd_below(windows, g, level, start)]
        level, start = table[-1], low
        tables.append(table)
        froms.append(low)
    # From above, with the moments.
    level, start = np.ones(1), OUTSIDE
    for g in range(groups - 1, -1, -1):
        if starts[g + 1] - starts[g] <= FEW:
            level = few_moments(windows, g, tables[g + 1], level, start, first, second)
        else:
            level = crowd_moments(windows, g, tables[g][-1], froms[g], level, start, first, second)
        start = windows.near[g][0]
    return first, second


def densities(windows: Windows, g: int) -> list[FloatArray]:
    """Return the densities of the members of a small group in its window."""
    w, (low, high), members = windows, windows.near[g], range(windows.starts[g], windows.starts[g + 1])
    return [density(w.m[i], w.s[i], w.origin, w.step, low, high, w.peak[i]) for i in members]


def few_moments(
    windows: Windows,
    g: int,
    below: list[FloatArray],
    level: FloatArray,
    start: int,
    first: list[float],
    second: list[float],
) -> FloatArray:
    """Fill in the moments of a small group, and return the density of its smallest performance, from above.

    `below` are the functions of `in_any_order` from below. `level` is the density of the group above, known
    from the point `start`.
    """
    low, high = windows.near[g]
    own = densities(windows, g)
    rest = total_below(level[::-1].copy(), -start - len(level), -high, -low)[::-1].copy()
    above = in_any_order(own, rest, -1)
    a, everyone = windows.starts[g], len(below) - 1
    for k in range(len(own)):
        others = everyone ^ (1 << k)
        chance = below[0] * above[others]
        for members in range(1, others + 1):
            if members & others == members:
                chance = chance + below[members] * above[others ^ members]
        total, linear, square = sums(own[k], chance, low - windows.center[a])
        if total > 0.0:  # no underflow
            fill_moments(windows, a + k, windows.center[a], linear / total, square / total, first, second)
    return above[-1]


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


def in_any_order(own: list[FloatArray], rest: FloatArray, side: int = 1) -> list[FloatArray]:
    """Return P(those before are in order, and they and a subset of a group are below x), for each subset.

    Args:
        own: densities of the members.
        rest: the function of the empty subset.
        side: -1 for above x instead.

    Returns:
        A function for each subset, by the bits of its members. The last, of all of them, is not integrated.
    """
    table = [rest]
    for members in range(1, 1 << len(own)):
        rise = np.zeros_like(rest)
        for k in range(len(own)):
            if members >> k & 1:
                rise = rise + own[k] * table[members ^ (1 << k)]
        if members < (1 << len(own)) - 1:
            rise = running_integral(rise) if side > 0 else running_integral(rise[::-1].copy())[::-1].copy()
        table.append(rise)
    return table


def crowd_below(windows: Windows, g: int, level: FloatArray, start: int) -> FloatArray:
    """Return the density of a large group's largest performance, given that of the groups below."""
    low, high = windows.far[g]
    own, mass, span = crowd_tables(windows, g, 1)
    share, _ = without_each(
        weights(low, high, start, len(level)) * level,
        mass[0][:, low - span : high - span],
        between(mass[0], start - span, len(level)),
    )
    level = (own[:, low - span : high - span] * share).sum(axis=0)
    return level / level.max()


def crowd_moments(
    windows: Windows,
    g: int,
    below: FloatArray,
    below_start: int,
    level: FloatArray,
    start: int,
    first: list[float],
    second: list[float],
) -> FloatArray:
    """Do the same as `few_moments` for a large group, given the density of the groups below."""
    (low, high), a, b = windows.near[g], windows.starts[g], windows.starts[g + 1]
    own, mass, span = crowd_tables(windows, g, 3)
    up, down = between(mass[0], start - span, len(level)), between(mass[0], below_start - span, len(below))
    edges = weights(start, start + len(level), below_start, len(below)) * below * level[:, np.newaxis]
    to_above, to_below = without_each(edges, up, down)
    found = np.empty((3, b - a))
    for k in range(3):
        ends = between(mass[k], start - span, len(level)), between(mass[k], below_start - span, len(below))
        found[k] = (ends[0] * to_above).sum(axis=1) - (ends[1] * to_below).sum(axis=1)
    middle = (windows.center[a] + windows.center[b - 1]) // 2
    for k in range(b - a):
        linear, square = found[1, k] / found[0, k], found[2, k] / found[0, k]
        fill_moments(windows, a + k, middle, linear, square, first, second)
    if g == 0:
        return level  # nobody is below
    edges = weights(start, start + len(level), low, high - low) * level[:, np.newaxis]
    _, share = without_each(edges, up, mass[0][:, low - span : high - span])
    level = (own[:, low - span : high - span] * share).sum(axis=0)
    return level / level.max()


def crowd_tables(windows: Windows, g: int, powers: int) -> tuple[FloatArray, FloatArray, int]:
    """Return the densities of a large group's k members in both of its windows, and their running integrals.

    Those are also of the density times the grid point, and times its square, counted from the group's middle.

    Returns:
        Arrays of shape [k, points] and [powers, k, points], and their first point.
    """
    w, start, stop = windows, windows.starts[g], windows.starts[g + 1]
    low, high = min(w.near[g][0], w.far[g][0]), max(w.near[g][1], w.far[g][1])
    middle = (w.center[start] + w.center[stop - 1]) // 2
    # The edges that are likely, between which each member has a probability of about 1.
    a = min(max(w.center[start - 1] - low, 0), high - low - 2) if start > 0 else 0
    b = max(min(w.center[stop] + 1 - low, high - low - 1), a + 1) if stop < len(w.m) else high - low - 1
    own = np.empty((stop - start, high - low))
    mass = np.empty((powers, stop - start, high - low))
    point = np.arange(low - MARGIN - middle, high + MARGIN - middle)
    for i in range(start, stop):
        value = density(w.m[i], w.s[i], w.origin, w.step, low - MARGIN, high + MARGIN, w.peak[i])
        own[i - start] = value[MARGIN:-MARGIN]
        for k in range(powers):
            # Integrate from the side where the density is small, to keep the accuracy of differences.
            if w.m[i] > w.origin + w.step * w.peak[i]:
                mass[k, i - start] = running_integral(value)[MARGIN:-MARGIN]
            else:
                mass[k, i - start] = -running_integral(value[::-1].copy())[::-1][MARGIN:-MARGIN]
            value = value * point
        scale = 1.0 / (mass[0, i - start, b] - mass[0, i - start, a])
        own[i - start] *= scale
        mass[:, i - start] *= scale
    return own, mass, low


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
    last = mass.shape[1] - 1
    return mass[:, np.minimum(np.maximum(np.arange(start, start + count), 0), last)]


def weights(low: int, high: int, start: int, count: int) -> FloatArray:
    """Return the weights of `count` points from `start` (columns) in the integrals up to points (rows)."""
    lag = np.arange(low, high)[:, np.newaxis] - np.arange(start, start + count)
    index = np.minimum(np.maximum(lag + MARGIN + 1, 0), 2 * MARGIN + 2)
    return WEIGHTS[index.ravel()].reshape(index.shape)


def density(
    mean: float, scale: float, origin: float, step: float, low: int, high: int, peak: int
) -> FloatArray:
    """Return the Gaussian density at grid points, relative to that at the point `peak`."""
    z = (origin + step * np.arange(low, high) - mean) / scale
    least = (origin + step * peak - mean) / scale
    return np.exp(np.minimum(0.5 * (least * least - z * z), 600.0))


def sums(density: FloatArray, other: FloatArray, start: int) -> tuple[float, float, float]:
    """Return the sums of p, p·k and p·k², with p the product of two functions and k = `start`, ..."""
    chance = density * other
    point = np.arange(start, start + len(chance))
    weighted = chance * point
    return float(chance.sum()), float(weighted.sum()), float((weighted * point).sum())


def running_integral(values: FloatArray) -> FloatArray:
    """Return the integral up to each grid point, in units of the step."""
    return values.cumsum() + np.convolve(values, _STENCIL)[MARGIN:-MARGIN]


def total_below(level: FloatArray, start: int, low: int, high: int) -> FloatArray:
    """Integrate a function known from `start` up to the points from `low` to `high`; 1 at the end."""
    values = running_integral(level)
    a = min(max(start - low, 0), high - low)
    b = min(max(start + len(values) - low, 0), high - low)
    found = np.zeros(high - low)
    found[a:b] = values[a + low - start : b + low - start]
    found[b:] = values[-1]
    return found / values[-1]
