"""Builds a dataclass from an instance of its base class."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from racebot.text.format import field_names

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def extended(kind: type[T], base: DataclassInstance, **more: Any) -> T:
    """Make an instance of a subclass from an instance of its base class and the remaining fields."""
    # A subclass takes the fields of its base class first.
    return kind(*_fields_of(type(base))(base), **more)


@cache
def _fields_of(kind: type) -> Callable[[object], tuple[Any, ...]]:
    """Return a function that reads the fields of an instance. `kind` has at least two."""
    return attrgetter(*field_names(kind))
