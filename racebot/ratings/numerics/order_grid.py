"""Functions on the grid of `racebot.ratings.numerics.order`: tilted densities, and their tilted integrals.

The integral with a tilt of rate r is ∫_(-∞)^x e^(-r(x - t)) f(t) dt. On a grid of step h, it is the sum of
e^(-μd) f(x - dh) over d ≥ 0, with μ = rh and half the first weight, plus corrections c_d for |d| ≤ `MARGIN`.
For f(t) = e^(iωt), these should add up to

    1/(μ + iω) - coth((μ + iω)/2)/2

and do so by least squares at low frequencies ω, which smooth functions consist of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_windows import FEW, Windows

MARGIN = 6
"""Points on either side that a correction uses."""
FREQUENCIES = np.linspace(0.1, 2.0, 12)
"""Radians per step."""
WIDE = 256
"""Most points for which an integral is a sum over all others, which is faster for the usual windows."""
POWERS = np.vander(np.arange(1.0 * WIDE), 3, increasing=True)
"""1, k and k², for k = 0, 1, ..."""


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
