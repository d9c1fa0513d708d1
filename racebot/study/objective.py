"""The figures that a parameter search can minimize."""

from __future__ import annotations

from enum import StrEnum


class Objective(StrEnum):
    """A figure to minimize, as a mean over all pairs of all races or over all entrants."""

    JOINT = "joint"
    """Log loss plus misordered pairs, to balance calibrated odds and correct order."""
    MISORDERED = "misordered"
    """Share of pairs in which the lower-rated player was placed better."""
    LOG_LOSS = "log-loss"
    """Log loss of win probabilities over pairs, in nats."""
    FINISHES = "finishes"
    """Log loss of finish probabilities over entrants, in nats."""
