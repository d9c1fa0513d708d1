"""The figures that a search for parameters can minimize."""

from __future__ import annotations

from enum import StrEnum


class Objective(StrEnum):
    """A figure to minimize: a mean over all pairs of all races, or over all entrants."""

    JOINT = "joint"
    """Log loss plus misordered pairs: honest odds that do not cost the right order."""
    MISORDERED = "misordered"
    """The share of pairs in which the lower rated player was placed better."""
    LOG_LOSS = "log-loss"
    """The surprise at each pair, from win probabilities, in nats."""
    FINISHES = "finishes"
    """The surprise at each entrant's finish or DNF, from finish probabilities, in nats."""
