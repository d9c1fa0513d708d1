"""What a search for parameters makes small."""

from __future__ import annotations

from enum import StrEnum


class Objective(StrEnum):
    """What a search makes small; both are means over all pairs of all races."""

    MISORDERED = "misordered"
    """The share of pairs in which the lower rated was placed better."""
    LOG_LOSS = "log-loss"
    """The surprise at each pair, from win probabilities."""
