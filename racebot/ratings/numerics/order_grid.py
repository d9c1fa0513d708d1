"""Functions on the grid of `racebot.ratings.numerics.order`: densities, and their integrals.

Integrals are sums with central difference corrections, which keep the relative accuracy of steep tails:
E. T. Whittaker, G. Robinson, "The Calculus of Observations" (1924), chapter 7,
https://archive.org/details/calculusofobserv031400mbp.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_windows import Windows

MARGIN = 8
"""Points on either side that a correction uses. With more, steep tails would amplify rounding errors."""
WIDE = 128
"""Largest window whose integral is a product with a matrix, which is faster for the usual ones."""


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


def weights(low: int, high: int, start: int, count: int) -> FloatArray:
    """Return the weights of `count` points from `start` (columns) in the integrals up to points (rows)."""
    lag = np.arange(low, high)[:, np.newaxis] - np.arange(start, start + count)
    return WEIGHTS[(lag + MARGIN + 1).clip(0, 2 * MARGIN + 2)]


def densities(windows: Windows, a: int, b: int) -> list[FloatArray]:
    """Return the densities of the performances from a to b, each in its window."""
    w, low, sizes = windows, np.array(windows.low[a:b]), np.subtract(windows.high[a:b], windows.low[a:b])
    ends = sizes.cumsum()
    points = np.arange(ends[-1]) + np.repeat(low - ends + sizes, sizes)
    found = density(w, points, *(np.repeat(each[a:b], sizes) for each in (w.m, w.s, w.peak)))
    return [found[end - size : end] for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)]


def density(
    windows: Windows, point: IntArray, mean: FloatArray, scale: FloatArray, peak: IntArray
) -> FloatArray:
    """Return Gaussian densities at grid points, relative to those at the points `peak`."""
    z, least = ((windows.origin + windows.step * each - mean) / scale for each in (point, peak))
    return np.exp(np.minimum(0.5 * (least * least - z * z), 600.0))


def sums(density: FloatArray, other: FloatArray) -> tuple[float, float, float]:
    """Return the sums of p, p·k and p·k², with p the product of two functions, and k = 0, 1, ..."""
    points = len(density)
    total, linear, square = (density * other).dot(_powers(max(points, WIDE))[:points]).tolist()
    return total, linear, square


@lru_cache(maxsize=4)
def _powers(points: int) -> FloatArray:
    """Return 1, k and k² for k = 0, 1, ...: shape [points, 3]."""
    found = np.vander(np.arange(points, dtype=np.float64), 3, increasing=True)
    found.flags.writeable = False
    return found


def running_integral(values: FloatArray) -> FloatArray:
    """Return the integral up to each grid point, in units of the step."""
    return values.cumsum() + np.convolve(values, _STENCIL)[MARGIN:-MARGIN]


def integral(values: FloatArray, start: int, low: int, high: int, side: int) -> FloatArray:
    """Integrate a function, known from `start`, up to the points from `low` to `high`; from above for -1."""
    points, lag, size = len(values), low - start, high - low
    if points <= WIDE and size <= WIDE and -WIDE <= lag <= WIDE:
        return values.dot(_integration()[int(side > 0), :points, WIDE + lag : WIDE + lag + size])
    if side < 0:
        return integral(values[::-1], -start - points, -high, -low, 1)[::-1]
    running = running_integral(values)
    before, known = min(max(-lag, 0), size), min(max(points - lag, 0), size)
    found = np.zeros(size)
    found[before:known] = running[before + lag : known + lag]
    found[known:] = running[-1]
    return found


@lru_cache(maxsize=1)
def _integration() -> FloatArray:
    """Return weights of point j in the integrals from above and up to point k - `WIDE`: shape [2, j, k]."""
    up = weights(-WIDE, 2 * WIDE, 0, WIDE).T
    found = np.stack([1.0 - up, up])
    found.flags.writeable = False
    return found
