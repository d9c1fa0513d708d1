"""Read the query string of an address."""

from __future__ import annotations

from collections.abc import Mapping

MOST = 10**9
"""Largest number in a query."""


class BadQueryError(ValueError):
    """The query string has an invalid or missing parameter."""


def whole_number(
    query: Mapping[str, str], name: str, default: int, *, least: int = 1, most: int = MOST
) -> int:
    """Return a number from the query, or its default.

    Raises:
        BadQueryError: it is not a number in range.
    """
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise BadQueryError(f"{name}: must be a number from {least} to {most}")
    return int(text)
