"""Declare a model's parameters as dataclass fields, read and write them, and broadcast those of a sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from datetime import date
from typing import Any

import numpy as np

from racebot.errors import ModelError
from racebot.ratings.model import FloatArray, Number
from racebot.text.parse import did_you_mean

ParameterValue = bool | float | str | Sequence[float] | None
"""A parameter's value, as JSON or as text. None switches an optional parameter off."""
Parameters = Mapping[str, ParameterValue]
"""Parameters of a model by name."""


def parameter(
    default: Any,
    *,
    help: str,  # noqa: A002 - the usual name, as in argparse and click
    minimum: float | None = None,
    maximum: float | None = None,
    positive: bool = False,
    search: tuple[float, float] | None = None,
    choices: Sequence[str] = (),
    optional: bool = False,
) -> Any:
    """Declare a parameter of a model.

    Args:
        default: a float, a bool, one of `choices`, or a tuple of floats.
        search: the range that tuning searches; None to exclude the parameter from tuning.
        optional: True if None (written `none`) is allowed, which switches the feature off.
    """
    limits = {"minimum": minimum, "maximum": maximum, "positive": positive, "search": search}
    words = {"help": help, "choices": tuple(choices), "optional": optional}
    return field(default=default, metadata=limits | words)


def inherited_from(base: type[Any], name: str, default: Any, **changed: Any) -> Any:
    """Redeclare a base class's parameter with a different default, and other changes such as `search`."""
    return field(default=default, metadata={**base.__dataclass_fields__[name].metadata, **changed})


def unobserved_or_tie() -> Any:
    """Declare the parameter `unfinished` of a model that compares pairs."""
    return parameter(
        "unobserved",
        help="whether players who share a place, such as DNFs, are not compared (unobserved) or drew (tie)",
        choices=("unobserved", "tie"),
    )


def declared(model: type[Any]) -> tuple[Field[Any], ...]:
    """Return the parameters that a model class declares, in order."""
    return tuple(f for f in fields(model) if "help" in f.metadata)


def defaults(model: type[Any]) -> dict[str, ParameterValue]:
    """Return the default of each parameter, as JSON values."""
    return {f.name: _plain(f.default) for f in declared(model) if f.default is not MISSING}


def as_json(model: Any) -> dict[str, ParameterValue]:
    """Return a model's parameters by name, as JSON values. `from_mapping` is the inverse."""
    return {f.name: _plain(getattr(model, f.name)) for f in declared(type(model))}


def from_mapping(model: type[Any], values: Parameters) -> dict[str, Any]:
    """Validate and convert parameters. Numbers may be text, as in environment variables.

    If a name is unknown or a value is invalid, raise a `ModelError` that lists the valid names.
    """
    known, former = {f.name: f for f in declared(model)}, getattr(model, "former", {})
    converted: dict[str, Any] = {}
    for name, value in values.items():
        if name in former and value == former[name]:
            continue  # old ledgers have it
        if name not in known:
            raise ModelError(
                f"{model.key} has no parameter {name!r}{did_you_mean(name, known)}; "
                f"it has: {', '.join(known)}"
            )
        try:
            converted[name] = _value(known[name], value)
        except ValueError as error:
            shown = str(value) if isinstance(value, date) else repr(value)  # a date of a TOML file
            raise ModelError(f"{model.key}: {name}={shown} is not {error}") from None
    return converted


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _value(declaration: Field[Any], value: Any) -> Any:
    """Convert a parameter's value, which may be text. The message of a ValueError says what is allowed."""
    meta, text = declaration.metadata, str(value).strip().lower()
    if value is None or text in {"none", "null"}:
        if meta["optional"]:
            return None
        raise ValueError("allowed: this parameter cannot be left out")
    if meta["choices"]:
        if value in meta["choices"]:
            return value
        raise ValueError("one of " + ", ".join(meta["choices"]))
    if isinstance(declaration.default, bool):
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text in words:
            return words[text]
        raise ValueError("true or false")
    several = isinstance(declaration.default, tuple)
    try:
        numbers = _numbers(value) if several else (float(value),)
    except (TypeError, ValueError):
        raise ValueError("a list of numbers, such as '0 1 2'" if several else "a number") from None
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a finite number")
    if meta["positive"] and min(numbers, default=1) <= 0:
        raise ValueError("greater than 0")
    if meta["minimum"] is not None and min(numbers, default=math.inf) < meta["minimum"]:
        raise ValueError(f"at least {meta['minimum']:g}")
    if meta["maximum"] is not None and max(numbers, default=-math.inf) > meta["maximum"]:
        raise ValueError(f"at most {meta['maximum']:g}")
    return numbers if several else numbers[0]


def _numbers(value: Any) -> tuple[float, ...]:
    if isinstance(value, str):
        text = value.strip()
        value = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
    if isinstance(value, (int, float)):
        value = [value]
    return tuple(float(number) for number in value)


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
    return np.stack(np.broadcast_arrays(*parameters), -1).astype(np.float64)
