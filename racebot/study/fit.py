"""Fit a model to a category's history, and keep the fit only if it is clearly better.

From 100 races on, only the scale of the odds is fitted; from 300 on, so is every parameter that moves
ratings. The fit uses the first half of the races and is judged on the second. If it gains more than two
paired standard errors, it is repeated on all races and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy

from racebot.errors import ModelError
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.ratings.parameters import Parameters, as_json, declared
from racebot.ratings.registry import create
from racebot.study.calibration import of_pairs
from racebot.study.history import History, newcomers, replay
from racebot.study.metrics import log_loss, observed_pairs
from racebot.study.paired import ERRORS_REQUIRED, Objective
from racebot.study.search import Dimension, Effort, Progress, dimensions, four_digits, search
from racebot.study.tuning import Judged, judged
from racebot.text.format import counted

ODDS_FROM = 100
"""Fewest races to fit the scale of the odds."""
EVERYTHING_FROM = 300
"""Fewest races to also fit the parameters that move ratings."""
ODDS = ("odds_scale", "odds_doubt")
FORECAST = ("finish_level", "finish_width")
EFFORT = Effort(candidates=64, generations=30)


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a fit.

    Attributes:
        parameters: all parameters: fitted on all races if the fit was kept, unchanged otherwise.
        fitted: names of the fitted parameters.
        judged: the second half, before and after the fit on the first half.
        calibration: expected calibration error of the odds on the second half, before and after the fit.
        kept: True if the fit gains more than two standard errors on the second half.
    """

    model: str
    races: int
    parameters: Parameters
    fitted: tuple[str, ...]
    judged: Judged
    calibration: tuple[float, float]
    kept: bool


def fit(
    history: History,
    key: str,
    parameters: Parameters | None = None,
    *,
    effort: Effort = EFFORT,
    progress: Callable[[str, Progress], None] | None = None,
) -> Fit:
    """Fit a model to a history.

    Args:
        parameters: the current parameters. The fit starts from them and must beat them.
        progress: called with the part of the history and the state of its search.

    Raises:
        ModelError: there are fewer than `ODDS_FROM` races, or the model has nothing to fit.
    """
    if len(history) < ODDS_FROM:
        raise ModelError(f"{counted(len(history), 'race')} so far: a fit needs {ODDS_FROM}")
    start = create(key, parameters)
    names = [f.name for f in declared(type(start)) if f.metadata["search"]]
    odds = [name for name in ODDS if name in names]
    moving = [d for d in dimensions(key, parameters) if d.parameter not in {*ODDS, *FORECAST}]
    if len(history) < EVERYTHING_FROM:
        moving = []
    if not (odds or moving):
        raise ModelError(f"{key} has no parameters to fit to {len(history)} races")
    first, second = history.split(0.5)

    def best(part: History, title: str, moving: Sequence[Dimension], given: Parameters) -> Any:
        """Return the best-fitting parameters for a part of the history."""
        found = dict(given)
        if moving:
            space = [*moving, *(d for d in dimensions(key, found) if d.parameter in odds)]
            told = None if progress is None else lambda state: progress(title, state)
            found = search(part, key, found, space, Objective.JOINT, effort, told).parameters
        if odds:
            found |= _fitted_odds(part, key, found, odds)
        return found

    before = as_json(start)
    # If a fit of everything is no better, one of the odds alone may be.
    for searched in [moving, []] if moving and odds else [moving]:
        fitted = create(key, best(first, "first half", searched, before))
        _, later = judged(start, fitted, first, second, Objective.JOINT)
        if kept := later.difference < -ERRORS_REQUIRED * later.standard_error:
            break
    calibration = _calibration(start, first, second), _calibration(fitted, first, second)
    found = before
    if kept:
        found = best(history, "all races", searched, as_json(fitted))
        found |= finish_forecast(history, key, found)
    changed = tuple(name for name, value in found.items() if value != before[name])
    return Fit(key, len(history), found, changed, later, calibration, kept)


def _fitted_odds(
    history: History, key: str, parameters: Parameters, names: Sequence[str]
) -> dict[str, float]:
    """Return the odds parameters with the smallest log loss. They move no rating, so one replay is enough."""
    space = [d for d in dimensions(key, parameters) if d.parameter in names]
    model = create(key, parameters)
    better, worse = _pair_states(model, history)

    def cost(x: FloatArray) -> float:
        values = dict(zip((d.parameter for d in space), x.tolist(), strict=True))
        scaled = create(key, {**parameters, **values})
        return float(np.mean(log_loss(scaled.win_probability(better, worse))))

    found = scipy.optimize.minimize(
        cost,
        np.array([min(max(d.start, d.low), d.high) for d in space]),
        method="Nelder-Mead",
        bounds=scipy.optimize.Bounds([d.low for d in space], [d.high for d in space]),
    )
    return {d.parameter: four_digits(v) for d, v in zip(space, found.x.tolist(), strict=True)}


def finish_forecast(history: History, key: str, parameters: Parameters) -> dict[str, float]:
    """Return the most likely parameters of the finish forecast, which moves no rating."""
    model = create(key, parameters)
    steps = [(step.before, ~step.race.outcome.unfinished) for step in replay(model, history)]
    states, finished = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    if not set(FORECAST) <= set(parameters) or finished.all() or not finished.any():
        return {}

    def given(x: FloatArray) -> dict[str, float]:
        return dict(zip(FORECAST, (four_digits(x[0]), four_digits(np.exp(x[1]))), strict=True))

    def cost(x: FloatArray) -> float:
        model = cast(PredictsFinish, create(key, {**parameters, **given(x)}))
        chance = model.finish_probability(states)
        return float(np.mean(log_loss(np.where(finished, chance, 1.0 - chance))))

    level, width = (cast(float, parameters[name]) for name in FORECAST)
    return given(scipy.optimize.minimize(cost, [level, np.log(width)], method="Nelder-Mead").x)


def _pair_states(
    model: RatingModel, history: History, table: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the states of the better and worse placed player of each observed pair: shapes [pairs, k]."""
    better, worse = [], []
    for step in replay(model, history, table):
        first, second = observed_pairs(step.race.outcome)
        better.append(step.before[first])
        worse.append(step.before[second])
    return np.concatenate(better), np.concatenate(worse)


def _calibration(model: RatingModel, first: History, second: History) -> float:
    """Return the expected calibration error of the odds on the second part."""
    table = newcomers(model, first)
    for _ in replay(model, first, table):
        pass
    return of_pairs(model.win_probability(*_pair_states(model, second, table))).error
