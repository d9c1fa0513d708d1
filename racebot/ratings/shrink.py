"""Shrink ratings toward a newcomer's, to carry them over into a new season."""

from __future__ import annotations

from racebot.ratings.model import FloatArray


def shrink_toward(newcomer: FloatArray, values: FloatArray, factor: float) -> FloatArray:
    """Shrink values toward a newcomer's. A factor of 1 keeps them, and 0 resets them."""
    return newcomer + factor * (values - newcomer)


def shrink_variance(newcomer: FloatArray, variances: FloatArray, factor: float) -> FloatArray:
    """Return the variances of skills whose means are shrunk by the same factor.

    The new skill is `factor` times the old deviation plus independent noise, chosen so that a newcomer's
    variance does not change.
    """
    return factor**2 * variances + (1.0 - factor**2) * newcomer
