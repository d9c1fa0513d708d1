"""Find where the posterior of an order is: windows on a grid around each performance.

See `racebot.ratings.numerics.order` for the functions that are tabulated there. The sequences are lists in
plain Python, and arrays in compiled code.
"""

from __future__ import annotations

import math
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
MOST_POINTS = 2**22
"""Most points of a window, or most pairs of points of two if a group is larger."""


class Windows(NamedTuple):
    """The entrants of a race in groups, worst first, and the points of a grid around their performances.

    Attributes:
        order: entrants, by mean and scale within each group, so that the order of listing does not matter.
        m, s: their means and scales.
        starts: the first member of each group, followed by the number of entrants.
        origin, step: the grid.
        center: the grid point at each position.
        peak: the grid point between those of the group's ends where the prior density is largest.
        low, high: first point and end of each position's window. Up to `FEW` members share theirs.
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
    low: list[int]
    high: list[int]
    found: bool


def find_windows(means: list[float], scales: list[float], places: list[int]) -> Windows:
    """Find the windows; see `order.posterior_moments` for the arguments."""
    n, order = len(means), sorted_ties(means, scales, places)
    m, s = means.copy(), scales.copy()
    for i in range(n):
        m[i], s[i] = means[order[i]], scales[order[i]]
    starts = [i for i in range(n) if i == 0 or places[i] != places[i - 1]]
    starts.append(n)
    center, peak, low, high = order.copy(), order.copy(), order.copy(), order.copy()
    if not (math.isfinite(sum(m)) and (max(m) - min(m)) / min(s) < FARTHEST):
        return Windows(order, m, s, starts, 0.0, 1.0, center, peak, low, high, False)
    at, reach, step = around(m, s)
    left, right = at.copy(), at.copy()
    for i in range(n):
        left[i], right[i] = at[i] - reach[i], at[i] + reach[i]
    crowded = False
    if len(starts) <= n:
        # Members may come in any order, so also look where those of the mean member would be.
        mean, widest = m.copy(), s.copy()
        for g in range(len(starts) - 1):
            a, b = starts[g], starts[g + 1]
            crowded = crowded or b - a > FEW
            for i in range(a, b):
                mean[i], widest[i] = sum(m[a:b]) / (b - a), max(s[a:b])
        other, reach, finer = around(mean, widest)
        step = min(step, finer) * (CROWDED if crowded else 1.0)
        for i in range(n):
            left[i], right[i] = min(left[i], other[i] - reach[i]), max(right[i], other[i] + reach[i])
    origin, most = min(left), 0.0
    for g in range(len(starts) - 1):
        a, b = starts[g], starts[g + 1]
        first, last = int((at[a] - origin) / step), int((at[b - 1] - origin) / step)
        least, largest = min(left[a:b]), max(right[a:b])
        for i in range(a, b):
            if b - a <= FEW:
                left[i], right[i] = least, largest
            most = max(most, (right[i] - left[i]) / step)
            low[i], high[i] = int((left[i] - origin) / step), int((right[i] - origin) / step) + 2
            center[i] = int((at[i] - origin) / step)
            peak[i] = min(max(int((m[i] - origin) / step), first), last)
    found = (most * most if crowded else most) < MOST_POINTS
    return Windows(order, m, s, starts, origin, step, center, peak, low, high, found)


def sorted_ties(means: list[float], scales: list[float], places: list[int]) -> list[int]:
    """Return the entrants, sorted by mean and scale within each place."""
    order = places.copy()
    for i in range(len(order)):
        k = i
        while k > 0 and places[k - 1] == places[i]:
            j = order[k - 1]
            if (means[j], scales[j]) <= (means[i], scales[i]):
                break
            order[k] = j
            k -= 1
        order[k] = i
    return order


def around(m: list[float], s: list[float]) -> tuple[list[float], list[float], float]:
    """Find where the posterior of an order is, roughly.

    The positions x maximise Σ -(x_i - m_i)²/(2 s_i²) + Σ log(x_(i+1) - x_i), by Newton's method. The
    logarithms stand for the volume that the neighbors leave. The distance of two neighbors is then the
    inverse of the force between them, which is the slope of the logarithm of the functions there.

    Returns:
        Positions of the n performances, half the widths of their windows, and the step of the grid.
    """
    n = len(m)
    mean, spread = sum(m) / n, 0.0
    x, hold, pivot, move, below, above = m.copy(), m.copy(), m.copy(), m.copy(), m.copy(), m.copy()
    for i in range(n):
        hold[i] = 1.0 / (s[i] * s[i])
        spread += (m[i] - mean) * (m[i] - mean) + s[i] * s[i]
    spread = 0.6 * math.sqrt(spread / n)
    for i in range(n):
        x[i] = mean + spread * math.log((i + 0.5) / (n - i - 0.5))
    below[0] = above[n - 1] = 0.0
    for _ in range(100):
        # Solve the tridiagonal equations for the Newton step.
        carry = push = 0.0
        for i in range(n):
            if i < n - 1:
                above[i] = below[i + 1] = 1.0 / (x[i + 1] - x[i])
            up, down = above[i], below[i]
            pivot[i] = hold[i] + down * down + up * up - carry
            move[i] = push = push + hold[i] * (m[i] - x[i]) + down - up
            share = up * up / pivot[i]
            carry = share * up * up
            push *= share
        shrink = change = after = 0.0
        for i in range(n - 1, -1, -1):
            up = above[i]
            move[i] = (move[i] + up * up * after) / pivot[i]
            relative = (move[i] - after) * up
            shrink, change = max(shrink, relative), max(change, abs(relative))
            after = move[i]
        damping = 1.0 / (1.0 + shrink)
        for i in range(n):
            x[i] += damping * move[i]
        if change < 0.1:
            break
    # The variances are the diagonal of the inverse of the matrix, from the pivots of both directions.
    narrowest, steepest, carry = math.inf, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        up, down = above[i], below[i]
        deviation = 1.0 / math.sqrt(pivot[i] - carry)
        carry = down * down * down * down / (hold[i] + down * down + up * up - carry)
        strongest, weakest = max(up, down), min(up, down) or max(up, down)
        narrowest, steepest = min(narrowest, deviation), max(steepest, strongest)
        move[i] = min(REACH * s[i], REACH * deviation + TAIL / weakest, FALL / strongest)
    return x, move, min(COARSEST * narrowest, STEEPEST / steepest)
