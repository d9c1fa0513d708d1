"""The grid of `racebot.ratings.numerics.order`: a window around each performance, and functions there.

The integral with a tilt of rate r is ∫_(-∞)^x e^(-r(x - t)) f(t) dt. On a grid of step h, it is the sum of
e^(-μd) f(x - dh) over d ≥ 0, with μ = rh and half the first weight, plus corrections c_d for |d| ≤ `MARGIN`.
For f(t) = e^(iωt), these should add up to

    1/(μ + iω) - coth((μ + iω)/2)/2

and do so by least squares at low frequencies ω, which smooth functions consist of. The sequences are lists in
plain Python, and arrays in compiled code.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray

COARSEST = 0.6  # largest step, in posterior standard deviations
REACH = 5.6  # least reach of a window to either side, in posterior standard deviations
TAIL = 5.0
"""Further reach, in distances to the neighbors, since the tails near the ends are exponential.

With these constants, the moments of 2 to 1,000 entrants in expected or reversed order are within 1e-6.
"""
FEW = 3  # largest group whose members are passed in any order, one by one: 2^k functions for k members
STEEPEST = 0.5
"""Largest step times slope of the logarithm of a member's tilted density, in any of its group's ranks."""
CROWDED = 0.45
"""Largest step near a larger group, in distances to the neighbors: its integrals are not tilted."""
FARTHEST = 1e4  # largest distance of two means, in the smallest standard deviation
MOST_POINTS, MOST_SHARED = 2**20, 2**11  # most points of a window, and most if any place is shared
MARGIN = 6  # points on either side that a correction uses
FREQUENCIES = np.linspace(0.1, 2.0, 12)  # radians per step
WIDE = 256
"""Most points for which an integral is a sum over all others, which is faster for the usual windows."""
POWERS = np.vander(np.arange(1.0 * WIDE), 3, increasing=True)
"""1, k and k², for k = 0, 1, ..."""


class Windows(NamedTuple):
    """The entrants of a race in groups, worst first, and the points of a grid around their performances.

    Attributes:
        order: entrants, by mean and scale within each group, so that the order of listing does not matter.
        m, s: their means, less the mean of all, and scales.
        starts: the first member of each group, followed by the number of entrants.
        step: distance of the grid's points, which are its multiples.
        rates: rate of the tilt between each position and the one before, followed by 0.
        center: the grid point at each position.
        low, high: first point and end of each position's window. Up to `FEW` members share theirs.
        found: False if the means are not finite or too far apart.
    """

    order: list[int]
    m: list[float]
    s: list[float]
    starts: list[int]
    step: float
    rates: list[float]
    center: list[int]
    low: list[int]
    high: list[int]
    found: bool


def find_windows(means: list[float], scales: list[float], places: list[int]) -> Windows:
    """Find the windows; see `order.posterior_moments` for the arguments."""
    n, order = len(means), sorted_ties(means, scales, places)
    m, s = means.copy(), scales.copy()
    for i in range(n):
        m[i], s[i] = means[order[i]], scales[order[i]]
    middle = sum(m) / n
    for i in range(n):
        m[i] -= middle
    starts = [i for i in range(n) if i == 0 or places[i] != places[i - 1]]
    starts.append(n)
    center, low, high, rates = order.copy(), order.copy(), order.copy(), [0.0 for _ in range(n + 1)]
    if not (math.isfinite(sum(m)) and (max(m) - min(m)) / min(s) < FARTHEST):
        return Windows(order, m, s, starts, 1.0, rates, center, low, high, False)
    at, reach, force, narrowest = around(m, s)
    left, right = at.copy(), at.copy()
    for i in range(n):
        left[i], right[i] = at[i] - reach[i], at[i] + reach[i]
    if len(starts) <= n:
        # Members may come in any order, so also look where those of the mean member would be.
        mean, wide = m.copy(), s.copy()
        for g in range(len(starts) - 1):
            a, b = starts[g], starts[g + 1]
            for i in range(a, b):
                mean[i], wide[i] = sum(m[a:b]) / (b - a), max(s[a:b])
        other, reach, _, least = around(mean, wide)
        narrowest = min(narrowest, least)
        for i in range(n):
            left[i], right[i] = min(left[i], other[i] - reach[i]), max(right[i], other[i] + reach[i])
    step, most = COARSEST * narrowest, 0.0
    for i in range(1, n):
        rates[i] = force[i - 1]
    for g in range(len(starts) - 1):
        a, b = starts[g], starts[g + 1]
        if b - a > FEW:
            step = min(step, CROWDED / max(rates[a : b + 1]))
        elif b - a > 1:
            for rank in range(a, b):
                for i in range(a, b):
                    pull = (m[i] - at[rank]) / (s[i] * s[i]) + rates[rank] - rates[rank + 1]
                    step = min(step, STEEPEST / max(abs(pull), 1e-9))
    for g in range(len(starts) - 1):
        a, b = starts[g], starts[g + 1]
        least, largest = min(left[a:b]), max(right[a:b])
        for i in range(a, b):
            if b - a <= FEW:
                left[i], right[i] = least, largest
            most = max(most, (right[i] - left[i]) / step)
            center[i], low[i] = math.floor(at[i] / step), math.floor(left[i] / step)
            high[i] = math.floor(right[i] / step) + 2
    found = most < (MOST_POINTS if len(starts) > n else MOST_SHARED)
    return Windows(order, m, s, starts, step, rates, center, low, high, found)


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


def around(m: list[float], s: list[float]) -> tuple[list[float], list[float], list[float], float]:
    """Find where the posterior of an order is, roughly.

    The positions x maximise Σ -(x_i - m_i)²/(2 s_i²) + Σ log(x_(i+1) - x_i), by Newton's method.

    Returns:
        Positions of the n performances, half the widths of their windows, the force between each and the
        next (the inverse of their distance), and the least standard deviation.
    """
    n = len(m)
    mean, spread = sum(m) / n, 0.0
    x, hold, pivot, move, force = m.copy(), m.copy(), m.copy(), m.copy(), m.copy()
    for i in range(n):
        hold[i] = 1.0 / (s[i] * s[i])
        spread += (m[i] - mean) * (m[i] - mean) + s[i] * s[i]
    spread = 0.6 * math.sqrt(spread / n)
    for i in range(n):
        x[i] = mean + spread * math.log((i + 0.5) / (n - i - 0.5))
    for _ in range(100):
        # Solve the tridiagonal equations for the Newton step.
        carry = push = down = 0.0
        for i in range(n):
            up = force[i] = 1.0 / (x[i + 1] - x[i]) if i < n - 1 else 0.0
            square = up * up
            pivot[i] = hold[i] + down * down + square - carry
            move[i] = push = push + hold[i] * (m[i] - x[i]) + down - up
            share = square / pivot[i]
            carry = share * square
            push *= share
            down = up
        shrink = change = after = 0.0
        for i in range(n - 1, -1, -1):
            up = force[i]
            move[i] = (move[i] + up * up * after) / pivot[i]
            relative = (move[i] - after) * up
            shrink, change = max(shrink, relative), max(change, abs(relative))
            after = move[i]
        damping = 1.0 / (1.0 + shrink)
        for i in range(n):
            x[i] += damping * move[i]
        if change < 0.01:
            break
    # The variances are the diagonal of the inverse of the matrix, from the pivots of both directions.
    narrowest, carry = math.inf, 0.0
    for i in range(n - 1, -1, -1):
        up, down = force[i], force[i - 1] if i > 0 else 0.0
        deviation = 1.0 / math.sqrt(pivot[i] - carry)
        carry = down * down * down * down / (hold[i] + down * down + up * up - carry)
        weakest = min(up, down) or max(up, down)
        narrowest = min(narrowest, deviation)
        move[i] = min(REACH * s[i], REACH * deviation + TAIL / weakest)
    return x, move, force, narrowest


class Tilted(NamedTuple):
    """A Gaussian in a window of `size` points from `low`: its peak, standard deviation, and log height."""

    size: int
    low: int
    peak: float
    scale: float
    height: float


def _fit() -> FloatArray:
    """Return the matrix from real and imaginary parts at the frequencies to corrections."""
    weight = np.exp(-3.0 * FREQUENCIES**2)
    waves = np.exp(-1j * FREQUENCIES[:, np.newaxis] * np.arange(-MARGIN, MARGIN + 1)) * weight[:, np.newaxis]
    inverse = np.linalg.pinv(np.concatenate([waves.real, waves.imag]), 1e-13)
    return np.ascontiguousarray((inverse * np.tile(weight, 2)).T)


FIT = _fit()


def corrections(rates: FloatArray) -> FloatArray:
    """Return the corrections for rates per step: shape [rates, 2 * `MARGIN` + 1]."""
    rate, decay = rates.reshape(-1, 1), np.exp(-rates).reshape(-1, 1)
    square = rate * rate + FREQUENCIES * FREQUENCIES
    sine, less = np.sin(FREQUENCIES) * decay, 1.0 - 2.0 * decay * np.cos(FREQUENCIES) + decay * decay
    real = rate / square - 0.5 * (1.0 - decay * decay) / less
    return np.concatenate((real, sine / less - FREQUENCIES / square), axis=1) @ FIT


def kernels(windows: Windows) -> list[FloatArray]:
    """Return the weights of the tilted integrals below each position, of f(x - d) for d from -`MARGIN`."""
    low, high, rates = windows.low, windows.high, windows.step * np.array(windows.rates)
    most = min(max([high[i] - low[max(i - 1, 0)] for i in range(len(low))]), WIDE)
    found = np.zeros((len(rates), MARGIN + max(most, MARGIN + 1)))
    np.exp(-rates[:, np.newaxis] * np.arange(found.shape[1] - MARGIN), out=found[:, MARGIN:])
    found[:, MARGIN] = 0.5
    found[:, : 2 * MARGIN + 1] += corrections(rates)
    return list(found)


def integral(
    values: FloatArray, start: int, kernel: FloatArray, low: int, high: int, side: int
) -> FloatArray:
    """Return the tilted integral of a function, known from `start`, at points from `low` to `high`.

    The integral is from below, or from above if `side` is -1.
    """
    if side < 0:
        return integral(values[::-1], -start - len(values), kernel, -high, -low, 1)[::-1]
    first, stop = low - start + MARGIN, high - start + MARGIN
    if stop <= len(kernel):
        found = np.convolve(values, kernel[:stop])[max(first, 0) : stop]
    else:
        # Of a wide window: sum over 2, 4, 8, ... points, and correct the nearest.
        known, rate = np.zeros(stop), kernel[2 * MARGIN + 1] ** (1.0 / (MARGIN + 1))
        known[: len(values)] = values[:stop]
        nearest = kernel[: 2 * MARGIN + 1].copy()
        nearest[MARGIN:] -= rate ** np.arange(MARGIN + 1)
        found, span = np.convolve(known, nearest)[:stop], 1
        while span < stop:
            known[span:] = known[span:] + rate**span * known[:-span]
            span *= 2
        found[MARGIN:] += known[: stop - MARGIN]
        found = found[max(first, 0) :]
    return found if first >= 0 else np.concatenate([np.zeros(high - low - len(found)), found])


def lag_weights(lag: IntArray) -> FloatArray:
    """Return the weights of f(x - d) in the integral without a tilt up to x, for each distance d."""
    weights = np.concatenate([[0.0], corrections(np.zeros(1))[0], [0.0]])
    weights[MARGIN + 1] += 0.5
    weights[MARGIN + 2 :] += 1.0
    return weights[(lag + MARGIN + 1).clip(0, 2 * MARGIN + 2)]


def tilted(windows: Windows) -> list[Tilted]:
    """Return the tilted densities: of each group, for each rank within it, those of all members.

    A member of rank r has the density N(m, s²)·e^(δx), where δ is the rate below r less that above. Its peak
    is at m + s²δ, and its height is relative to the highest of that rank. Crowds have none.
    """
    w, found = windows, [Tilted(0, 0, 0.0, 1.0, 0.0) for _ in range(0)]
    for g in range(len(w.starts) - 1):
        a, b = w.starts[g], w.starts[g + 1]
        if b - a > FEW:
            continue
        for rank in range(a, b):
            tilt, x, most = w.rates[rank] - w.rates[rank + 1], w.step * w.center[rank], -np.inf
            for i in range(a, b):
                most = max(most, tilt * (w.m[i] - x + 0.5 * w.s[i] * w.s[i] * tilt))
            for i in range(a, b):
                rise = w.s[i] * w.s[i] * tilt
                height = tilt * (w.m[i] - x + 0.5 * rise) - most
                found.append(Tilted(w.high[a] - w.low[a], w.low[a], w.m[i] + rise, w.s[i], height))
    return found


def densities(windows: Windows) -> list[FloatArray]:
    """Tabulate the densities of `tilted` in their windows."""
    table = np.array(tilted(windows)).reshape(-1, 5)
    sizes = table[:, 0].astype(np.int64)
    ends = sizes.cumsum()
    low, peak, scale, height = np.repeat(table[:, 1:].T, sizes, axis=1)
    z = (windows.step * (np.arange(len(low)) - np.repeat(ends - sizes, sizes) + low) - peak) / scale
    return np.split(np.exp(height - 0.5 * z * z), ends[:-1])


def sums(values: FloatArray) -> tuple[float, float, float]:
    """Return the sums of p, p·k and p·k², for k = 0, 1, ..."""
    points = len(values)
    powers = POWERS[:points] if points <= WIDE else np.vander(np.arange(1.0 * points), 3, increasing=True)
    total, linear, square = values.dot(powers).tolist()
    return total, linear, square
