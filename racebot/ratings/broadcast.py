"""Broadcast parameters over the candidates of a sweep.

A parameter is a number, or an array of shape [candidates].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from racebot.ratings.model import FloatArray, Number


def broadcast_to(parameter: Number, values: FloatArray) -> FloatArray:
    """Reshape a parameter to broadcast with `values`, whose first axis is the candidates."""
    array = np.asarray(parameter, dtype=np.float64)
    return array.reshape(array.shape + (1,) * (values.ndim - array.ndim)) if array.ndim else array


def per_entrant(parameter: Number) -> FloatArray:
    """Add an axis for entrants to a parameter: shape [1], or [candidates, 1] in a sweep."""
    return np.asarray(parameter, dtype=np.float64)[..., np.newaxis]


def start_state(model: Any, *columns: Number) -> FloatArray:
    """Stack numbers into a newcomer's state: shape [k], or [candidates, k] in a sweep."""
    values = [getattr(model, declaration.name) for declaration in fields(model)]
    flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    shape = np.broadcast_shapes(*(np.shape(item) for item in flat if not isinstance(item, (str, bool))))
    return np.stack([np.broadcast_to(np.asarray(column, dtype=np.float64), shape) for column in columns], -1)


def stack_parameters(parameters: Iterable[Number]) -> FloatArray:
    """Stack parameters into an array: shape [p], or [candidates, p] in a sweep."""
    arrays = [np.asarray(parameter, dtype=np.float64) for parameter in parameters]
    return np.stack(np.broadcast_arrays(*arrays), -1)
