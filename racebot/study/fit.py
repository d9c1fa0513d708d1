"""Fit a model to a category's history, shrunk toward its defaults, so that a fit never hurts.

A fit has two parts. The odds and the finish forecast move no rating, so their fit is always used. All
parameters together move ratings: they, or another model, are only proposed if they predict races that the fit
did not see better than fitted odds alone, by two paired standard errors. For that, fits to the first quarter,
half and three quarters of the races are each judged on the next quarter.

Every fit minimizes N·L + P/η. L is the mean log loss, and N the number of comparisons: n - 1 for a race of n
entrants, since its pairs are not independent. P is half the squared distance from the defaults, in units of
`SPREADS`, and η the strength of the evidence that it takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import scipy

from racebot.errors import ModelError
from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.parameters import Parameters, ParameterValue, as_json
from racebot.ratings.registry import create
from racebot.study import metrics
from racebot.study.cores import spread
from racebot.study.history import History, replay
from racebot.study.metrics import Tallies, Tally, log_loss, misordered, observed_pairs
from racebot.study.tuning import JudgedPart, dimensions, four_digits, parameters_at
from racebot.text.format import counted

ODDS_FROM = 20  # fewest races to fit the odds and the finish forecast
RATINGS_FROM = 100  # fewest races to fit all parameters, unless there are ten times as many comparisons
ODDS = ("odds_scale", "odds_doubt")
PERFORMANCES = ("performance_scale", "performance_doubt")
FINISHES = ("finish_level", "finish_width")
SPREADS = {
    "newcomer_spread": 0.5,
    "settling": 0.7,
    "level": 2.0,
    "yearly_drift": 0.4,
    "odds_scale": 0.25,
    "odds_doubt": 2.0,
    "performance_scale": 0.25,
    "performance_doubt": 2.0,
    "finish_level": 1.5,
    "finish_width": 0.5,
}
"""Usual distances from the defaults between categories; of the logarithm for parameters above zero.

Others have 0.6 or, with a range that includes zero, a sixth of it.
"""
_BY_MEAN: tuple[str, Parameters] = ("thurstone-filter", {"conservative": 0.0})
ALTERNATIVES = {"thurstone-hurdle": [("thurstone-filter", {}), _BY_MEAN], "thurstone-filter": [_BY_MEAN]}
"""Other models to try, by model, with parameters that are not fitted."""
_STEP = 1e-3
MOST_PAIRS = 100_000  # most pairs of entrants in a fit of odds, which bounds its memory and time

Fitted = dict[str, ParameterValue]
"""All parameters of a model, some of them fitted."""
Before = tuple[Outcome, FloatArray]
"""How a race ended, and its entrants' states before it: shape [n, k]."""
_Start = tuple[str, Fitted, tuple[str, ...]]
"""A model to fit, its parameters, and the names of those that stay."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The proposed model, with parameters fitted to all races if the fit is kept, otherwise with fitted odds.

    `judged` compares fitted odds with the best fit on races after the first quarter, which decides.
    """

    model: str
    races: int
    parameters: Parameters
    judged: JudgedPart
    kept: bool


def fit_odds(races: History | Sequence[Before], key: str, parameters: Parameters | None = None) -> Fitted:
    """Return all parameters, with odds, performances and finish forecast fitted to `ODDS_FROM` races or more.

    The odds use the finish forecast if that gains more than two standard errors forward in time.
    """
    model = create(key, parameters)
    if len(races) < ODDS_FROM:
        return as_json(model)
    steps = _before(model, races) if isinstance(races, History) else races
    seen = _Seen.of(steps)
    found = as_json(_performances(seen, _finish_forecast(seen, model)))
    if ODDS[0] in found:
        plain, through = (create(key, found | {"odds_by_finish": chosen}) for chosen in (False, True))
        before, after = (judged.log_loss for judged in _with_fitted_odds(steps, plain, through))
        found = as_json(_scaled_odds(seen, through if _clearly_better(after, before) else plain))
    return found


def fit(
    history: History,
    key: str,
    parameters: Parameters | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fit:
    """Fit all parameters of a model, and of its alternatives, to a history.

    It must beat the current `parameters` once their odds are fitted. `progress` is called with the number of
    finished searches and their total number. Raise a ModelError if there are fewer than `RATINGS_FROM` races,
    or if the model has nothing to fit.
    """
    comparisons = sum(race.outcome.size - 1 for race in history.races)
    if len(history) < RATINGS_FROM and comparisons < 10 * RATINGS_FROM:
        raise ModelError(f"{counted(len(history), 'race')} so far: a fit needs {RATINGS_FROM}")
    if not dimensions(key, parameters):
        raise ModelError(f"{key} has no parameters to fit")
    found = fit_odds(history, key, parameters)
    starts: list[_Start] = [(key, found, ())]
    for other, fixed in ALTERNATIVES.get(key, []):
        shared = {name: found[name] for name in ("newcomer_points", "odds_by_finish")}
        starts.append((other, as_json(create(other, shared | dict(fixed))), tuple(fixed)))
    current = create(key, found)
    (before,) = _with_fitted_odds(_before(current, history), current)
    tried: list[Tallies] = []
    chosen, best = None, before
    progress(0, len(starts) + 1)
    for start, forward in _with_everything_fitted(history, starts):
        tried.append(forward)
        progress(len(tried), len(starts) + 1)
        if _clearly_better(forward.joint, best.joint):
            chosen, best = start, forward
    if chosen is not None:
        key, found = chosen[0], fit_odds(history, chosen[0], _everything(history, *chosen))
    after = best if chosen else min(tried, key=lambda each: float(each.joint.mean()))
    return Fit(key, len(history), found, JudgedPart.of(before, after), kept=chosen is not None)


def _before(model: RatingModel, history: History) -> list[Before]:
    return [(step.race.outcome, step.before) for step in replay(model, history)]


def _clearly_better(tried: Tally, best: Tally) -> bool:
    return bool(best.mean() - tried.mean() > metrics.ERRORS_REQUIRED * metrics.standard_error(best, tried))


def _cuts(races: int) -> list[int]:
    """Return where the quarters of a number of races end."""
    return [round(races * quarter / 4) for quarter in (1, 2, 3, 4)]


class _Seen(NamedTuple):
    """The states before each of some races: of its observed pairs [pairs, k], and of its entrants.

    `pairs` and `entrants` are their numbers: [races]. Of over `MOST_PAIRS`, it has a share of each race's.
    """

    better: FloatArray
    worse: FloatArray
    both_finished: BoolArray
    states: FloatArray
    finished: BoolArray
    pairs: IntArray
    entrants: IntArray

    @classmethod
    def of(cls, steps: Sequence[Before]) -> _Seen:
        entrants = np.array([outcome.size for outcome, _ in steps])
        every = 1 + int(np.sum(entrants * (entrants - 1) // 2)) // MOST_PAIRS
        of_race = [
            [each[number % every :: every] for each in observed_pairs(outcome)]
            for number, (outcome, _) in enumerate(steps)
        ]
        pairs = np.array([better.size for better, _ in of_race])
        before = np.repeat(np.cumsum(entrants) - entrants, pairs)
        better, worse = (np.concatenate(each) + before for each in zip(*of_race, strict=True))
        states = np.concatenate([states for _, states in steps])
        finished = ~np.concatenate([outcome.unfinished for outcome, _ in steps])
        return cls(states[better], states[worse], finished[worse], states, finished, pairs, entrants)


def _judge(parts: Iterable[tuple[RatingModel, _Seen]]) -> Tallies:
    """Return the costs of forecasts of races that the models did not see."""
    costs: list[tuple[Any, ...]] = []
    for model, seen in parts:
        chance = model.win_probability(seen.better, seen.worse)
        wrong = misordered(model.rating(seen.better), model.rating(seen.worse))
        costs.append((wrong, chance, seen.pairs))
    wrong, chance, pairs = map(np.concatenate, zip(*costs, strict=True))
    race = np.repeat(np.arange(len(pairs)), pairs)
    return Tallies(*(Tally.of(cost, race, len(pairs)) for cost in (wrong, log_loss(chance))))


def _with_fitted_odds(steps: Sequence[Before], *starts: RatingModel) -> list[Tallies]:
    """Fit each model's odds to the first quarter, half and three quarters, each judged on the next."""
    judged = []
    for cut, end in itertools.pairwise(_cuts(len(steps))):
        earlier, later = _Seen.of(steps[:cut]), _Seen.of(steps[cut:end])
        judged.append([(_odds(earlier, start), later) for start in starts])
    return list(map(_judge, zip(*judged, strict=True)))


def _with_everything_fitted(history: History, starts: Sequence[_Start]) -> Iterator[tuple[_Start, Tallies]]:
    """Fit each model to the first quarter, half and three quarters, each judged on the next quarter."""
    cuts = _cuts(len(history))
    parts = [replace(history, races=history.races[:cut]) for cut in cuts]
    fits = spread(_everything, [(part, *start) for start in starts for part in parts[:-1]])
    for start in starts:
        models = (create(start[0], found) for found in itertools.islice(fits, len(parts) - 1))
        ends = zip(models, parts[1:], itertools.pairwise(cuts), strict=True)
        seen = ((model, _Seen.of(_before(model, part)[slice(*cut)])) for model, part, cut in ends)
        yield start, _judge(seen)


def _odds(seen: _Seen, start: RatingModel) -> RatingModel:
    """Fit the odds, and the finish forecast if they use it."""
    by_finish = as_json(start).get("odds_by_finish")
    return _scaled_odds(seen, _finish_forecast(seen, start) if by_finish else start)


def _scaled_odds(seen: _Seen, start: RatingModel) -> RatingModel:
    def loss(model: RatingModel) -> FloatArray:
        chance = model.win_probability(seen.better[np.newaxis], seen.worse[np.newaxis])
        return np.asarray(np.sum(seen.entrants - 1) * log_loss(chance).mean(axis=-1))

    return _fitted(start, ODDS, 0.2, loss)


def _performances(seen: _Seen, start: RatingModel) -> RatingModel:
    """Fit the performances to the order of finishers."""
    both = seen.both_finished
    pairs = seen.better[both][np.newaxis], seen.worse[both][np.newaxis]
    comparisons = int(seen.finished.sum()) - seen.entrants.size

    def loss(model: RatingModel) -> FloatArray:
        (ahead, spread_ahead), (behind, spread_behind) = map(cast(Any, model).performance, pairs)
        chance = scipy.special.ndtr((ahead - behind) / np.hypot(spread_ahead, spread_behind))
        return np.asarray(comparisons * log_loss(chance).mean(axis=-1))

    return _fitted(start, PERFORMANCES if both.any() else (), 0.2, loss)


def _finish_forecast(seen: _Seen, start: RatingModel) -> RatingModel:
    def loss(model: RatingModel) -> FloatArray:
        chance = cast(Any, model).finish_probability(seen.states[np.newaxis])
        return np.asarray(log_loss(np.where(seen.finished, chance, 1.0 - chance)).sum(axis=-1))

    return _fitted(start, FINISHES, 0.3, loss)


def _everything(history: History, key: str, parameters: Parameters, fixed: Collection[str] = ()) -> Fitted:
    """Fit all parameters but the fixed ones, and then the finish forecast if the odds use it."""
    start = create(key, {**parameters, **({"odds_by_finish": False} if ODDS[0] in parameters else {})})
    names = {dimension.parameter for dimension in dimensions(key, parameters)}
    names -= {*FINISHES, *PERFORMANCES, *fixed}
    comparisons = sum(race.outcome.size - 1 for race in history.races)

    def loss(model: RatingModel) -> FloatArray:
        return comparisons * metrics.tallies(model, history).log_loss.mean()

    found = _fitted(start, names, 0.3, loss)
    if not parameters.get("odds_by_finish"):
        return as_json(found)
    through = create(key, as_json(found) | {"odds_by_finish": True})
    return as_json(_odds(_Seen.of(_before(through, history)), through))


def _fitted(
    start: RatingModel, names: Collection[str], strength: float, loss: Callable[[RatingModel], FloatArray]
) -> RatingModel:
    """Return the model with those values of some parameters that minimize N·L + P/η, where η is the strength.

    `loss` returns N·L of each candidate of a sweep: shape [candidates].
    """
    space = [d for d in dimensions(start.key, as_json(start)) if d.parameter in names]
    if not space:
        return start
    usual = {(d.parameter, d.entry): d.start for d in dimensions(start.key)}
    center = np.array([usual.get((d.parameter, d.entry), d.start) for d in space])
    low, high = np.array([d.low for d in space]), np.array([d.high for d in space])
    by_factor = low > 0.0
    usual_spread = np.where(by_factor, 0.6, (high - low) / 6.0)
    spreads = np.array([SPREADS.get(d.parameter, s) for d, s in zip(space, usual_spread, strict=True)])

    def position(values: FloatArray) -> FloatArray:
        at: FloatArray = np.where(by_factor, np.log(np.where(by_factor, values, 1.0)), values) / spreads
        return at

    def values_at(positions: FloatArray) -> FloatArray:
        moved: FloatArray = positions * spreads
        moved[..., by_factor] = np.exp(moved[..., by_factor])
        return moved

    def penalized(at: FloatArray) -> tuple[float, FloatArray]:
        near = np.vstack([at, at + _STEP * np.eye(at.size)])  # for the slope
        model = type(start)(**parameters_at(start, space, values_at(near).T))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            lost = np.nan_to_num(loss(model), nan=1e9, posinf=1e9)
        total = lost + 0.5 * np.sum((near - position(center)) ** 2, axis=1) / strength
        return float(total[0]), (total[1:] - total[0]) / _STEP

    # At zero, a parameter that acts by its square has no slope, so start beside it.
    first = position(center) + np.where(center == low, 0.5, 0.0)
    bounds = scipy.optimize.Bounds(position(low), position(high))
    minimize = cast(Any, scipy.optimize.minimize)
    found = minimize(penalized, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-7})
    best = [min(max(four_digits(v), d.low), d.high) for v, d in zip(values_at(found.x), space, strict=True)]
    return type(start)(**parameters_at(start, space, best))
