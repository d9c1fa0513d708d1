"""One formula for the floats of a single race and for arrays over the candidates of a sweep.

A race of a few entrants is rated several times as fast in plain floats as in arrays of a few numbers, while
a sweep wants arrays of shape [candidates]. Models that care about both write their formulas for a `Value`,
which is either, entrant by entrant, and take the operations that differ from an `Elementwise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from racebot.ratings.model import FloatArray, Number
from racebot.ratings.numerics.truncated_normal import Value, win, win_array

_ROOT_HALF = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The operations that differ between floats and arrays; all other operators serve both.

    Attributes:
        exp: exponential.
        sqrt: square root.
        logistic: 1/(1 + e^(-x)).
        cumulative: Φ, of the standard Gaussian.
        win: the functions V and W of `truncated`, of a difference and a margin.
        least: the smaller of two.
        greatest: the larger of two.
    """

    exp: Callable[[Value], Value]
    sqrt: Callable[[Value], Value]
    logistic: Callable[[Value], Value]
    cumulative: Callable[[Value], Value]
    win: Callable[[Value, Value], tuple[Value, Value]]
    least: Callable[[Value, Value], Value]
    greatest: Callable[[Value, Value], Value]


def _logistic(x: float) -> float:
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def _cumulative(x: float) -> float:
    return 0.5 * math.erfc(-_ROOT_HALF * x)


FLOATS = Elementwise(math.exp, math.sqrt, _logistic, _cumulative, win, min, max)
ARRAYS = Elementwise(np.exp, np.sqrt, expit, ndtr, win_array, np.minimum, np.maximum)


class Parameters(NamedTuple):
    """A model's numbers as an update needs them.

    Attributes:
        values: floats, or arrays of shape [candidates].
        single: whether all are floats.
    """

    values: tuple[Number, ...]
    single: bool

    @classmethod
    def of(cls, values: Iterable[Number]) -> Parameters:
        made = tuple(
            np.asarray(value, dtype=np.float64) if np.ndim(value) else float(value) for value in values
        )
        return cls(made, not any(isinstance(value, np.ndarray) for value in made))


class Unpacked(NamedTuple):
    """States and parameters as values.

    Attributes:
        columns: k lists of n values.
        parameters: as many values as were given.
        operations: for the kind of value that they are.
        shape: of the leading axes; () for floats.
    """

    columns: list[list[Value]]
    parameters: Sequence[Value]
    operations: Elementwise
    shape: tuple[int, ...]


def unpack(states: FloatArray, parameters: Parameters) -> Unpacked:
    """States of shape [..., n, k] and parameters, as floats if there is one candidate without an axis."""
    if parameters.single and states.ndim == 2:
        return Unpacked(states.T.tolist(), parameters.values, FLOATS, ())
    aligned = [_aligned(value, states.ndim - 2) for value in parameters.values]
    shape = np.broadcast_shapes(states.shape[:-2], *(array.shape for array in aligned))
    flat = [np.broadcast_to(array, shape).ravel() for array in aligned]
    rows = np.broadcast_to(states, (*shape, *states.shape[-2:])).reshape(-1, *states.shape[-2:])
    return Unpacked([list(np.ascontiguousarray(column)) for column in rows.T], flat, ARRAYS, shape)


def pack(columns: Sequence[Sequence[Value]], shape: tuple[int, ...]) -> FloatArray:
    """The reverse: k columns of n values as states of shape [..., n, k]."""
    states: FloatArray = np.array(columns).T
    return states.reshape(*shape, *states.shape[-2:]) if shape else states


def _aligned(parameter: Number, axes: int) -> FloatArray:
    """A parameter with its candidates along the first of so many leading axes."""
    array = np.asarray(parameter, dtype=np.float64)
    return array.reshape(array.shape + (1,) * max(axes - array.ndim, 0)) if array.ndim else array
