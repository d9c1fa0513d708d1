"""Formats numbers and entries for chat."""

from __future__ import annotations

NO_BREAK = "\N{NO-BREAK SPACE}"
WIDEST_ENTRY = 40
"""Longest entry, in characters, to keep on one line; a column of chat is about 45 wide."""


def percent(chance: float) -> str:
    """Write a probability in percent, never claiming certainty: 7%, <1%, >99%."""
    if chance < 0.01:
        return "<1%"
    return ">99%" if chance > 0.99 else f"{chance:.0%}"


def ordinal(number: int) -> str:
    """Write a place in English: 1st, 2nd, 3rd, 11th, 22nd."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def unbroken(entry: str) -> str:
    """Keep an entry on one line of chat, if it fits."""
    return entry.replace(" ", NO_BREAK) if len(entry) <= WIDEST_ENTRY else entry
