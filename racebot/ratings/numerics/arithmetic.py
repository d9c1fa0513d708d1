"""Operations on floats, for one race, and on arrays, for the candidates of a sweep.

`expectation_propagation` is written once in terms of `Value`, which is either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from racebot.ratings.numerics.truncated_normal import (
    POINT,
    ROOT_HALF,
    ROOT_HALF_PI,
    ROOT_TWO_OVER_PI,
    draw,
    win,
)

Value = Any
"""A float, or a float64 array with one number per candidate."""


def win_array(t: Value, margin: Value) -> tuple[Value, Value]:
    """Return V and W of a win, for arrays that broadcast."""
    x = t - margin
    v = ROOT_TWO_OVER_PI / scipy.special.erfcx(-ROOT_HALF * x)
    # The bound only matters beyond thousands of standard deviations, where V + x has no digits left.
    return v, np.minimum(np.maximum(v * (v + x), 0.0), 1.0)


def draw_array(t: Value, margin: Value) -> tuple[Value, Value]:
    """Return V and W of a draw, for arrays that broadcast."""
    distance = np.abs(t)
    wide = np.maximum(margin, POINT)
    near, far = wide - distance, wide + distance
    exponent = -2.0 * wide * distance
    ratio = np.exp(exponent)
    mass = ROOT_HALF_PI * (
        scipy.special.erfcx(-ROOT_HALF * near) - ratio * scipy.special.erfcx(ROOT_HALF * far)
    )
    v = np.expm1(exponent) / mass
    w = np.minimum(np.maximum(v * v + (near + far * ratio) / mass, 0.0), 1.0)
    point = margin < POINT
    return np.where(point, -t, np.copysign(v, -t)), np.where(point, 1.0, w)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The operations that differ between floats and arrays. All other operators work on both.

    Attributes:
        sqrt: square root.
        win: V and W of a win, from the standardised difference and margin.
        draw: V and W of a draw, from the same arguments.
        largest_change: the largest absolute difference between two lists of the same length.
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
