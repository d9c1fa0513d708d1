"""Shrink ratings toward a newcomer's, to carry them over into a new season."""

from __future__ import annotations

from racebot.ratings.model import FloatArray


def shrink_toward(newcomer: FloatArray, values: FloatArray, factor: float) -> FloatArray:
    """Return values shrunk toward a newcomer's: factor 1 keeps them, 0 starts afresh."""
    return newcomer + factor * (values - newcomer)


def shrink_variance(newcomer: FloatArray, variances: FloatArray, factor: float) -> FloatArray:
    """Return the variances of beliefs whose means are shrunk by the same factor.

    The old skill keeps `factor` of its deviation; independent, unknown skill replaces the rest. A newcomer's
    variance does not change.
    """
    return factor**2 * variances + (1.0 - factor**2) * newcomer
