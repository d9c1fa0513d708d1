"""Numbers as people write them."""

from __future__ import annotations


def signed(change: int) -> str:
    """Write a change of points with its sign: +12, −5, ±0."""
    return f"+{change}" if change > 0 else f"−{-change}" if change < 0 else "±0"
