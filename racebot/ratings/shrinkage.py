"""Carrying ratings from one season into the next: how far each number goes back to a newcomer's."""

from __future__ import annotations

from racebot.ratings.model import FloatArray


def pulled(values: FloatArray, newcomer: FloatArray, factor: float) -> FloatArray:
    """Values moved towards a newcomer's: factor 1 keeps them, 0 starts afresh."""
    return newcomer + factor * (values - newcomer)


def pulled_variance(variances: FloatArray, newcomer: FloatArray, factor: float) -> FloatArray:
    """Variances of beliefs whose means are pulled by that factor.

    What the factor takes from an old skill something new and unknown replaces, of such a variance that a
    newcomer stays a newcomer.
    """
    return factor**2 * variances + (1.0 - factor**2) * newcomer
