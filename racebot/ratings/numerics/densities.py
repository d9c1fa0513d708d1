"""Probability densities of performances around a rating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from racebot.ratings.model import FloatArray

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Density:
    """A symmetric, log-concave density with mean 0 and variance 1.

    Attributes:
        log: the log-density.
        log_cumulative: logarithm of the cumulative distribution function.
        score: minus the derivative of the log-density.
        reach: distance beyond which the density is negligible.
    """

    log: Function
    log_cumulative: Function
    score: Function
    reach: float


def _gaussian_log(z: FloatArray) -> FloatArray:
    return -0.5 * z * z - 0.9189385332046727


def _gaussian_log_cumulative(z: FloatArray) -> FloatArray:
    from scipy.special import log_ndtr  # noqa: PLC0415 - only shared places and great upsets need it

    value: FloatArray = log_ndtr(z)
    return value


def _gaussian_score(z: FloatArray) -> FloatArray:
    return z


_SLOPE = np.pi / np.sqrt(3)


def _logistic_log(z: FloatArray) -> FloatArray:
    value: FloatArray = np.log(_SLOPE) + _logistic_log_cumulative(z) + _logistic_log_cumulative(-z)
    return value


def _logistic_log_cumulative(z: FloatArray) -> FloatArray:
    from scipy.special import log_expit  # noqa: PLC0415 - see `_gaussian_log_cumulative`

    value: FloatArray = log_expit(_SLOPE * z)
    return value


def _logistic_score(z: FloatArray) -> FloatArray:
    value: FloatArray = _SLOPE * np.tanh(_SLOPE * z / 2)
    return value


GAUSSIAN = Density(_gaussian_log, _gaussian_log_cumulative, _gaussian_score, 8.0)
LOGISTIC = Density(_logistic_log, _logistic_log_cumulative, _logistic_score, 18.0)
