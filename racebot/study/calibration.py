"""Whether probabilities are honest: of what was given 70 %, about 70 % should happen.

A pair of entrants counts for the one whom the model favoured, at ½ or more. Pairs fall into bins of that
probability, and in each the mean probability is held against the share of pairs that went so. The
expected calibration error is the mean distance of the two, a bin weighing as much as its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from racebot.errors import ModelError
from racebot.races.outcome import BoolArray
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.ratings.parameters import as_json
from racebot.ratings.registry import create
from racebot.study.history import History
from racebot.study.replay import replay

BINS = 10
_CERTAIN = 1e-12


class Reliability(NamedTuple):
    """Predictions by bins of their probability, the lowest first; an empty bin has NaN and weight 0.

    Attributes:
        predicted: mean probability: shape [bins].
        observed: share that happened: shape [bins].
        weight: number of predictions: shape [bins].
    """

    predicted: FloatArray
    observed: FloatArray
    weight: FloatArray

    @property
    def error(self) -> float:
        """The expected calibration error; NaN without any prediction."""
        total = float(self.weight.sum())
        if not total:
            return float("nan")
        distance = np.abs(self.predicted - self.observed)
        return float(np.nansum(self.weight * distance) / total)


def of_pairs(chance: FloatArray, weight: FloatArray | None = None, bins: int = BINS) -> Reliability:
    """Reliability of pair probabilities, in bins from ½ to 1.

    Args:
        chance: shape [pairs], probabilities given to what happened.
        weight: likewise, how much each pair counts; 1 if left out.
        bins: how many, all of one width.
    """
    happened = (chance > 0.5) + 0.5 * (chance == 0.5)
    return reliability(np.maximum(chance, 1.0 - chance), happened, weight, low=0.5, bins=bins)


def of_finishes(history: History, model: RatingModel, bins: int = BINS) -> Reliability:
    """Reliability of a model's chances to finish, each race predicted before it was rated.

    Raises:
        ModelError: a model that does not predict who finishes.
    """
    states, finished = _entrants(history, model)
    return reliability(_finish_chances(model, states), finished.astype(np.float64), bins=bins)


def reliability(
    probability: FloatArray,
    happened: FloatArray,
    weight: FloatArray | None = None,
    *,
    low: float = 0.0,
    bins: int = BINS,
) -> Reliability:
    """Predictions in bins.

    Args:
        probability: shape [predictions], from `low` to 1.
        happened: likewise, 1 where it did and 0 where it did not.
        weight: likewise; 1 if left out.
        low: where the first bin begins.
        bins: how many, all of one width.
    """
    weight = np.ones(probability.size) if weight is None else weight
    number = np.minimum((probability - low) / (1.0 - low) * bins, bins - 1).astype(np.intp)
    total = np.bincount(number, weight, minlength=bins).astype(np.float64)
    filled = np.where(total > 0, total, np.nan)
    predicted = np.bincount(number, weight * probability, minlength=bins)
    observed = np.bincount(number, weight * happened, minlength=bins)
    return Reliability(predicted / filled, observed / filled, total)


class FinishForecast(NamedTuple):
    """The forecast parameters of a hurdle model that fit a history's finishes best.

    Attributes:
        level: for `finish_level`.
        width: for `finish_width`.
        log_loss: mean over entrants of all races, with these, in nats.
        base: the same, were everybody given the share of all entrants that finished.
    """

    level: float
    width: float
    log_loss: float
    base: float


def fit_finishes(history: History, key: str, parameters: Mapping[str, Any] | None = None) -> FinishForecast:
    """Fit a hurdle model's forecast of finishes, by the likelihood of who did and who did not.

    Ratings do not depend on these two parameters, so that one replay serves.

    Args:
        history: the races, each predicted before it is rated.
        key: of a model with parameters `finish_level` and `finish_width`.
        parameters: where they differ from the model's defaults.

    Raises:
        ModelError: a model without them, or a history in which all or none finished.
    """
    start = {"finish_level": 0.0, "finish_width": 1.0} | as_json(create(key, parameters))
    states, finished = _entrants(history, create(key, start))
    share = float(finished.mean()) if finished.size else 1.0
    if share in {0.0, 1.0}:
        raise ModelError("there is nothing to fit: all finished, or none did")

    def cost(x: FloatArray) -> float:
        model = create(key, start | {"finish_level": x[0], "finish_width": np.exp(x[1])})
        chance = np.clip(_finish_chances(model, states), _CERTAIN, 1.0 - _CERTAIN)
        return -float(np.mean(np.log(np.where(finished, chance, 1.0 - chance))))

    first = np.array([start["finish_level"], np.log(start["finish_width"])])
    found = minimize(cost, first, method="Nelder-Mead")
    base = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
    return FinishForecast(float(found.x[0]), float(np.exp(found.x[1])), float(found.fun), float(base))


def _finish_chances(model: RatingModel, states: FloatArray) -> FloatArray:
    if not isinstance(model, PredictsFinish):
        raise ModelError(f"{model.key} does not predict who finishes")
    return model.finish_probability(states)


def _entrants(history: History, model: RatingModel) -> tuple[FloatArray, BoolArray]:
    """States before each race of all its entrants, and whether they finished."""
    states = [np.empty((0, len(model.columns)))]
    finished = [np.empty(0, dtype=np.bool_)]
    for step in replay(model, history):
        states.append(step.before)
        finished.append(~step.race.outcome.unfinished)
    return np.concatenate(states), np.concatenate(finished)
