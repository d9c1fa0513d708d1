"""Builds a dataclass from an instance of its base class."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def extended(kind: type[T], base: DataclassInstance, **more: Any) -> T:
    """Make an instance of a subclass from an instance of its base class and the remaining fields."""
    return kind(**{field.name: getattr(base, field.name) for field in fields(base)} | more)
