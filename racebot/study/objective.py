"""What a search for parameters makes small."""

from __future__ import annotations

from enum import StrEnum


class Objective(StrEnum):
    """What a search makes small: means over all pairs of all races, or over all entrants."""

    MISORDERED = "misordered"
    """The share of pairs in which the lower rated was placed better."""
    LOG_LOSS = "log-loss"
    """The surprise at each pair, from win probabilities."""
    FINISHES = "finishes"
    """The surprise at each entrant's finishing, or not, from chances to finish."""
