"""Measure calibration: events with a forecast of 70 % should happen about 70 % of the time.

Each pair of entrants has a favorite, with a probability of ½ or more. Pairs are binned by this probability,
and each bin compares the mean probability with the share of favorites placed better. The expected
calibration error is the mean absolute difference of the two, weighted by the number of pairs (M. P. Naeini
and others, https://doi.org/10.1609/aaai.v29i1.9602).
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import scipy

from racebot.errors import ModelError
from racebot.races.outcome import BoolArray
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.ratings.parameters import Parameters, as_json
from racebot.ratings.registry import create
from racebot.study.history import History, replay

BINS = 10
"""Bins of probabilities, of equal width."""
_CERTAIN = 1e-12


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
        if not total:
            return float("nan")
        distance = np.abs(self.predicted - self.observed)
        return float(np.nansum(self.weight * distance) / total)


def of_pairs(chance: FloatArray, weight: FloatArray | None = None) -> Reliability:
    """Return the reliability of pair probabilities, in bins from ½ to 1.

    Args:
        chance: shape [pairs]; forecast probability of the actual result of each pair.
        weight: shape [pairs]; weight of each pair; 1 by default.
    """
    happened = (chance > 0.5) + 0.5 * (chance == 0.5)
    return reliability(np.maximum(chance, 1.0 - chance), happened, weight, low=0.5)


def reliability(
    probability: FloatArray, happened: FloatArray, weight: FloatArray | None = None, *, low: float = 0.0
) -> Reliability:
    """Bin predictions by probability, and return the reliability.

    Args:
        probability: shape [predictions], from `low` to 1.
        happened: shape [predictions]; 1 if the event happened, 0 if not.
        weight: shape [predictions]; 1 by default.
        low: lower bound of the first bin.
    """
    weight = np.ones(probability.size) if weight is None else weight
    number = np.minimum((probability - low) / (1.0 - low) * BINS, BINS - 1).astype(np.intp)
    total = np.bincount(number, weight, minlength=BINS).astype(np.float64)
    filled = np.where(total > 0, total, np.nan)
    predicted = np.bincount(number, weight * probability, minlength=BINS)
    observed = np.bincount(number, weight * happened, minlength=BINS)
    return Reliability(predicted / filled, observed / filled, total)


class FinishForecast(NamedTuple):
    """The best-fitting finish forecast of a hurdle model.

    Attributes:
        level: value of `finish_level`.
        width: value of `finish_width`.
        log_loss: mean over all entrants of all races, in nats.
        base: log loss of forecasting the overall share of finishers for everyone.
    """

    level: float
    width: float
    log_loss: float
    base: float


def fit_finishes(history: History, key: str, parameters: Parameters | None = None) -> FinishForecast:
    """Fit a hurdle model's finish forecast by maximum likelihood.

    Ratings do not depend on its two parameters, so one replay is enough.

    Args:
        key: key of a model with parameters `finish_level` and `finish_width`.

    Raises:
        ModelError: the model lacks these parameters, or all entrants finished, or none did.
    """
    start = {"finish_level": 0.0, "finish_width": 1.0} | as_json(create(key, parameters))
    states, finished = _entrants(history, create(key, start))
    share = float(finished.mean()) if finished.size else 1.0
    if share in {0.0, 1.0}:
        raise ModelError("no finish forecast to fit: all entrants finished, or none did")

    def cost(x: FloatArray) -> float:
        model = create(key, start | {"finish_level": x[0], "finish_width": np.exp(x[1])})
        chance = np.clip(_finish_chances(model, states), _CERTAIN, 1.0 - _CERTAIN)
        return -float(np.mean(np.log(np.where(finished, chance, 1.0 - chance))))

    level, width = (cast(float, start[name]) for name in ("finish_level", "finish_width"))
    first = np.array([level, np.log(width)])
    found = scipy.optimize.minimize(cost, first, method="Nelder-Mead")
    base = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
    return FinishForecast(float(found.x[0]), float(np.exp(found.x[1])), float(found.fun), float(base))


def _finish_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    if not isinstance(model, PredictsFinish):
        raise ModelError(f"{model.key} does not predict finishes")
    return model.finish_probability(states)


def _entrants(history: History, model: RatingModel) -> tuple[FloatArray, BoolArray]:
    """Return the states of all entrants before each race, and True for each who finished."""
    states = [np.empty((0, len(model.columns)))]
    finished = [np.empty(0, dtype=np.bool_)]
    for step in replay(model, history):
        states.append(step.before)
        finished.append(~step.race.outcome.unfinished)
    return np.concatenate(states), np.concatenate(finished)
