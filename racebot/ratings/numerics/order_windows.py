"""Find where the posterior of an order is: windows on a grid around each performance.

See `racebot.ratings.numerics.order` for the functions that are tabulated there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

STEEPEST = 0.8
"""Largest step times slope of the logarithm of a function. Beyond 0.93, errors grow from group to group."""
COARSEST = 0.6
"""Largest step, in posterior standard deviations."""
REACH = 5.6
"""Least reach of a window to either side, in posterior standard deviations."""
TAIL = 5.0
"""Further reach, in distances to the neighbors, since the tails near the ends are exponential.

With these constants, the moments of 2 to 1,000 entrants in expected or reversed order are within 1e-6.
"""
FALL = 320.0
"""Largest fall of the logarithm of a function from the middle of its window. Floats underflow at 708.

More than about 7,000 entrants, or great upsets of many, would need more, and lose accuracy.
"""
FEW = 3
"""Largest group whose members are passed in any order, one by one: 2^k functions for k members."""
CROWDED = 0.75
"""Factor of the step if a group is larger, since its integrals have two edges."""
FARTHEST = 1e4
"""Largest distance of two means, in the smallest standard deviation."""
MOST_PAIRS = 2**22
"""Most points of a window, and most pairs of points of the edges of a larger group."""


class Windows(NamedTuple):
    """The entrants of a race in groups, worst first, and the points of a grid around their performances.

    Attributes:
        order: entrants, by mean and scale within each group, so that the order of listing does not matter.
        m, s: their means and scales.
        starts: the first member of each group, followed by the number of entrants.
        origin, step: the grid.
        center: the grid point at each position.
        peak: the grid point between those of the group's ends where the prior density is largest.
        near, far: first point and end of the windows of each group's smallest and largest performance. They
            are the same for groups of up to `FEW`.
        found: False if the means are not finite or too far apart.
    """

    order: list[int]
    m: list[float]
    s: list[float]
    starts: list[int]
    origin: float
    step: float
    center: list[int]
    peak: list[int]
    near: list[tuple[int, int]]
    far: list[tuple[int, int]]
    found: bool


def find_windows(means: Sequence[float], scales: Sequence[float], places: Sequence[int]) -> Windows:
    """Find the windows; see `order.posterior_moments` for the arguments."""
    n = len(means)
    order = sorted_ties(means, scales, places)
    m, s = [means[i] for i in order], [scales[i] for i in order]
    starts = [k for k in range(n) if k == 0 or places[order[k]] != places[order[k - 1]]]
    groups = len(starts)
    starts.append(n)
    if not (math.isfinite(sum(m)) and (max(m) - min(m)) / min(s) < FARTHEST):
        nowhere = [(0, 0)]
        return Windows(order, m, s, starts, 0.0, 1.0, order, order, nowhere, nowhere, False)
    at, reach, step = around(m, s)
    lows, highs = [at[i] - reach[i] for i in range(n)], [at[i] + reach[i] for i in range(n)]
    crowded = max([starts[g + 1] - starts[g] for g in range(groups)]) > FEW
    if groups < n:
        # Members may come in any order, so also look where those of the mean member would be.
        other, wider, finer = around(*pooled(m, s, starts))
        step = min(step, finer) * (CROWDED if crowded else 1.0)
        for i in range(n):
            lows[i], highs[i] = min(lows[i], other[i] - wider[i]), max(highs[i], other[i] + wider[i])
    for g in range(groups):
        a, b = starts[g], starts[g + 1]
        if b - a <= FEW:
            lows[a] = lows[b - 1] = min(lows[a:b])
            highs[a] = highs[b - 1] = max(highs[a:b])
    origin = min(lows)
    points = [(int((lows[i] - origin) / step), int((highs[i] - origin) / step) + 2) for i in range(n)]
    center = [int((x - origin) / step) for x in at]
    peak = center.copy()
    for g in range(groups):
        a, b = starts[g], starts[g + 1] - 1
        for i in range(a, b + 1):
            peak[i] = min(max(int((m[i] - origin) / step), center[a]), center[b])
    sizes = [(highs[i] - lows[i]) / step for i in range(n)]
    pairs = max(sizes)
    for g in range(groups):
        a, b = starts[g], starts[g + 1]
        if b - a > FEW:
            below, above = sizes[a - 1] if a > 0 else 0.0, sizes[b] if b < n else 0.0
            pairs = max(
                pairs,
                below * above,
                below * sizes[b - 1] if b < n else 0.0,
                above * sizes[a] if a > 0 else 0.0,
            )
    return Windows(
        order,
        m,
        s,
        starts,
        origin,
        step,
        center,
        peak,
        [points[starts[g]] for g in range(groups)],
        [points[starts[g + 1] - 1] for g in range(groups)],
        pairs < MOST_PAIRS,
    )


def sorted_ties(means: Sequence[float], scales: Sequence[float], places: Sequence[int]) -> list[int]:
    """Return the entrants, sorted by mean and scale within each place."""
    order = [i for i in range(len(means))]  # noqa: C416 - for Numba
    for i in range(1, len(order)):
        k = i
        while k > 0 and places[order[k - 1]] == places[i]:
            j = order[k - 1]
            if (means[j], scales[j]) <= (means[i], scales[i]):
                break
            order[k] = j
            k -= 1
        order[k] = i
    return order


def pooled(m: list[float], s: list[float], starts: list[int]) -> tuple[list[float], list[float]]:
    """Return the mean of the means and the largest scale of each entrant's group."""
    means, scales = m.copy(), s.copy()
    for g in range(len(starts) - 1):
        a, b = starts[g], starts[g + 1]
        mean = sum(m[a:b]) / (b - a)
        for i in range(a, b):
            means[i], scales[i] = mean, max(s[a:b])
    return means, scales


def around(m: Sequence[float], s: Sequence[float]) -> tuple[list[float], list[float], float]:
    """Find where the posterior of an order is, roughly.

    The positions x maximise Σ -(x_i - m_i)²/(2 s_i²) + Σ log(x_(i+1) - x_i), by Newton's method. The
    logarithms stand for the volume that the neighbors leave. The distance of two neighbors is then the
    inverse of the force between them, which is the slope of the logarithm of the functions there.

    Returns:
        Positions of the n performances, half the widths of their windows, and the step of the grid.
    """
    n = len(m)
    mean = sum(m) / n
    spread = 0.6 * math.sqrt(sum([(m[i] - mean) * (m[i] - mean) + s[i] * s[i] for i in range(n)]) / n)
    x = [mean + spread * math.log((i + 0.5) / (n - i - 0.5)) for i in range(n)]
    hold = [1.0 / (scale * scale) for scale in s]
    force, pivot, move = [0.0 for _ in range(n + 1)], hold.copy(), hold.copy()
    for _ in range(100):
        # Solve the tridiagonal equations for the Newton step.
        carry = push = 0.0
        for i in range(n):
            if i < n - 1:
                force[i + 1] = 1.0 / (x[i + 1] - x[i])
            below, above = force[i] * force[i], force[i + 1] * force[i + 1]
            pivot[i] = hold[i] + below + above - carry
            push += hold[i] * (m[i] - x[i]) + force[i] - force[i + 1]
            move[i] = push
            share = above / pivot[i]
            carry = share * above
            push *= share
        shrink = change = after = 0.0
        for i in range(n - 1, -1, -1):
            move[i] = (move[i] + force[i + 1] * force[i + 1] * after) / pivot[i]
            relative = (move[i] - after) * force[i + 1]
            shrink, change = max(shrink, relative), max(change, abs(relative))
            after = move[i]
        damping = 1.0 / (1.0 + shrink)
        for i in range(n):
            x[i] += damping * move[i]
        if change < 0.1:
            break
    # The variances are the diagonal of the inverse of the matrix, from the pivots of both directions.
    reach, narrowest, carry = x.copy(), math.inf, 0.0
    for i in range(n - 1, -1, -1):
        below, above = force[i] * force[i], force[i + 1] * force[i + 1]
        deviation = 1.0 / math.sqrt(pivot[i] - carry)
        narrowest = min(narrowest, deviation)
        carry = below * below / (hold[i] + below + above - carry)
        strongest = max(force[i], force[i + 1])
        weakest = min(force[i], force[i + 1]) or strongest
        reach[i] = min(REACH * s[i], REACH * deviation + TAIL / weakest, FALL / strongest)
    return x, reach, min(COARSEST * narrowest, STEEPEST / max(force))
