"""Measure calibration: events with a forecast of 70 % should happen about 70 % of the time.

Each pair of entrants has a favorite, with a probability of ½ or more. Pairs are binned by this probability,
and each bin compares the mean probability with the share of favorites placed better. The expected
calibration error is the mean absolute difference of the two, weighted by the number of pairs (M. P. Naeini
and others, https://doi.org/10.1609/aaai.v29i1.9602).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racebot.ratings.model import FloatArray

BINS = 10
"""Bins of probabilities, of equal width."""


class Reliability(NamedTuple):
    """Predictions binned by probability, lowest first. Empty bins are NaN and have weight 0.

    Attributes:
        predicted: shape [bins]; mean probability.
        observed: shape [bins]; share of the events that happened.
        weight: shape [bins]; number of predictions.
    """

    predicted: FloatArray
    observed: FloatArray
    weight: FloatArray

    @property
    def error(self) -> float:
        """Return the expected calibration error, or NaN without predictions."""
        total = float(self.weight.sum())
        wrong = np.nansum(self.weight * np.abs(self.predicted - self.observed))
        return float(wrong / total) if total else float("nan")


def of_pairs(chance: FloatArray, weight: FloatArray | None = None) -> Reliability:
    """Return the reliability of pair probabilities, in bins from ½ to 1.

    Args:
        chance: shape [pairs]; forecast probability of the actual result of each pair.
        weight: shape [pairs]; weight of each pair; 1 by default.
    """
    weight = np.ones(chance.size) if weight is None else weight
    favorite = np.maximum(chance, 1.0 - chance)
    happened = (chance > 0.5) + 0.5 * (chance == 0.5)
    number = np.minimum((favorite - 0.5) / 0.5 * BINS, BINS - 1).astype(np.intp)
    total = np.bincount(number, weight, minlength=BINS).astype(np.float64)
    filled = np.where(total > 0, total, np.nan)
    predicted = np.bincount(number, weight * favorite, minlength=BINS)
    observed = np.bincount(number, weight * happened, minlength=BINS)
    return Reliability(predicted / filled, observed / filled, total)
