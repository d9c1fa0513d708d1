"""Mean and variance of a Gaussian that is cut off: the functions V and W of TrueSkill.

Source: "TrueSkill: A Bayesian Skill Rating System", table 1 and figure 2. With X ~ N(t, 1) and a margin
e ≥ 0, a *win* is the event X > e and a *draw* the event |X| ≤ e; given the event,

    E[X] = t + V(t, e)    Var[X] = 1 − W(t, e)    0 ≤ W ≤ 1

The printed formulas divide two numbers that both vanish a few dozen standard deviations out; here each is
a ratio of Mills' ratios R(z) = Φ(−z)/φ(z), which do not. Every function exists twice, for single floats and
for arrays, since a message-passing sweep over one race spends nearly all its time here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

Value = Any
"""A float, or an array of float64; which of the two, `Arithmetic` decides."""

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_TAIL = 35.0
"""Where the asymptotic series take over, short of the underflow of erfc; W is good to 1e-9 there."""
_POINT = 1e-6
"""A draw with a smaller margin pins the difference to 0: Var[X] < 1e-12."""


def win(t: float, margin: float) -> tuple[float, float]:
    """V and W of the event X > margin, for X ~ N(t, 1)."""
    x = t - margin
    if x > -_TAIL:
        v = _ROOT_TWO_OVER_PI * math.exp(-0.5 * x * x) / math.erfc(-_ROOT_HALF * x)
        return v, v * (v + x)
    # V + x from its own series: the sum would lose all digits, and W could pass 1.
    beyond = -1.0 / x
    square = beyond * beyond
    excess = beyond * (1.0 - square * (2.0 - square * (10.0 - square * 74.0)))
    v = excess - x
    return v, v * excess


def draw(t: float, margin: float) -> tuple[float, float]:
    """V and W of the event |X| ≤ margin, for X ~ N(t, 1)."""
    if margin < _POINT:
        return -t, 1.0
    distance = abs(t)
    near, far = margin - distance, margin + distance
    if near > _TAIL:
        return 0.0, 0.0
    # φ(far) / φ(near); the mass between them is φ(near)·(R(−near) − ratio·R(far)).
    ratio = math.exp(-2.0 * margin * distance)
    mass = mills(-near) - ratio * mills(far)
    v = math.expm1(-2.0 * margin * distance) / mass
    w = v * v + (near + far * ratio) / mass
    return math.copysign(v, -t), min(max(w, 0.0), 1.0)


def win_array(t: Value, margin: Value) -> tuple[Value, Value]:
    """`win` for arrays of any shapes that broadcast."""
    x = t - margin
    v = _ROOT_TWO_OVER_PI / special.erfcx(-_ROOT_HALF * x)
    # The bound takes effect beyond some thousand standard deviations only, where V + x has no digits left.
    return v, np.minimum(np.maximum(v * (v + x), 0.0), 1.0)


def draw_array(t: Value, margin: Value) -> tuple[Value, Value]:
    """`draw` for arrays of any shapes that broadcast."""
    distance = np.abs(t)
    wide = np.maximum(margin, _POINT)
    near, far = wide - distance, wide + distance
    exponent = -2.0 * wide * distance
    ratio = np.exp(exponent)
    mass = _ROOT_HALF_PI * (special.erfcx(-_ROOT_HALF * near) - ratio * special.erfcx(_ROOT_HALF * far))
    v = np.expm1(exponent) / mass
    w = np.minimum(np.maximum(v * v + (near + far * ratio) / mass, 0.0), 1.0)
    point = margin < _POINT
    return np.where(point, -t, np.copysign(v, -t)), np.where(point, 1.0, w)


def normal_cdf(x: float) -> float:
    """Return Φ(x)."""
    return 0.5 * math.erfc(-_ROOT_HALF * x)


def logistic(x: float) -> float:
    """Return 1/(1 + e^(-x))."""
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def mills(z: float) -> float:
    """Φ(−z)/φ(z), for z ≥ −35."""
    if z < _TAIL:
        return _ROOT_HALF_PI * math.exp(0.5 * z * z) * math.erfc(_ROOT_HALF * z)
    square = 1.0 / (z * z)
    return (1.0 - square * (1.0 - square * (3.0 - square * (15.0 - square * 105.0)))) / z


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The operations that differ between floats and arrays; all other operators serve both.

    Attributes:
        sqrt: square root.
        win: V and W of a win, from the standardised difference and margin.
        draw: V and W of a draw, likewise.
        largest_change: the largest absolute difference between two equally long lists of values.
    """

    sqrt: Callable[[Value], Value]
    win: Callable[[Value, Value], tuple[Value, Value]]
    draw: Callable[[Value, Value], tuple[Value, Value]]
    largest_change: Callable[[Sequence[Value], Sequence[Value]], float]


def _largest_change(new: Sequence[float], old: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(new, old, strict=True))


def _largest_change_array(new: Sequence[Value], old: Sequence[Value]) -> float:
    return float(np.max(np.abs(np.subtract(new, old))))


FLOATS = Arithmetic(math.sqrt, win, draw, _largest_change)
ARRAYS = Arithmetic(np.sqrt, win_array, draw_array, _largest_change_array)
