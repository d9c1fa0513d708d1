"""Tune parameters on the first part of a history, and judge them on the rest.

The search is differential evolution. Source: R. Storn, K. Price, "Differential evolution",
https://doi.org/10.1023/A:1008202821328.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import scipy

from racebot.errors import ModelError
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.parameters import Parameters, as_json, declared
from racebot.ratings.registry import create
from racebot.study.cores import spread
from racebot.study.history import History, newcomers
from racebot.study.metrics import ERRORS_REQUIRED, Tallies, standard_error, tallies
from racebot.text.parse import did_you_mean

TOGETHER = 32
"""Candidates to replay at once. It is fixed, so that results do not depend on the number of cores."""
STEPS = 9
_ALIKE = 1e-5  # a search ends when the figure's standard deviation over the candidates falls below this


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """Log loss plus misordered pairs, and each, on a part of a history, and the error of `tuned - start`."""

    races: int
    start: float
    start_misordered: float
    start_log_loss: float
    tuned: float
    tuned_misordered: float
    tuned_log_loss: float
    standard_error: float

    @classmethod
    def of(cls, before: Tallies, after: Tallies) -> JudgedPart:
        """Compare the three figures, each per race, over the same races."""
        return cls(
            races=before.joint.cases.size,
            start=float(before.joint.mean()),
            start_misordered=float(before.misordered.mean()),
            start_log_loss=float(before.log_loss.mean()),
            tuned=float(after.joint.mean()),
            tuned_misordered=float(after.misordered.mean()),
            tuned_log_loss=float(after.log_loss.mean()),
            standard_error=standard_error(before.joint, after.joint),
        )

    @property
    def difference(self) -> float:
        """Return the change. Negative is better."""
        return self.tuned - self.start


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of a search that tried `evaluations` sets, judged on races that it saw, and on later ones.

    `parameters` are all, the searched ones rounded to four digits.
    """

    model: str
    parameters: Parameters
    searched: tuple[str, ...]
    earlier: JudgedPart
    later: JudgedPart
    evaluations: int

    @property
    def found_better(self) -> bool:
        """Return True if the search improved on its start."""
        return self.earlier.difference < 0

    @property
    def recommended(self) -> bool:
        """Return True if the parameters are better on both parts, and by two standard errors on the later."""
        return self.found_better and self.later.difference < -ERRORS_REQUIRED * self.later.standard_error


def tune(
    history: History,
    key: str,
    parameters: Parameters | None = None,
    *,
    search: Sequence[str] | None = None,
    effort: Effort | None = None,
    progress: Callable[[int, float], None] = lambda generation, best: None,
) -> Tuned:
    """Search parameters on the first half of the races, then judge them on the second.

    Ratings continue from the first half into the second, for both the initial and the tuned parameters.

    `parameters` and `search` are those of `dimensions`; by default, all that change a prediction are varied.
    `progress` is called after each generation, with its number and the best figure so far. Raise a ModelError
    as `dimensions` does, and if the history is too short to divide or to search.
    """
    earlier, later = history.split(0.5)
    if not (len(earlier) and len(later)):
        raise ModelError("too few races to divide into an earlier and a later part: add races")
    fixed = dict(parameters or {})
    wanted = _Search(key, fixed, dimensions(key, fixed, search))
    if search is None and wanted.space:
        # A search would move dimensions that change no prediction at random.
        moved = wanted.moved(earlier, np.array([(d.start, d.low, d.high) for d in wanted.space]))
        each = zip(wanted.space, moved, strict=True)
        wanted = wanted._replace(space=[d for d, cost in each if not np.allclose(cost, cost[0], rtol=1e-9)])
    if not wanted.space:
        fix = "add races, or choose another model"
        raise ModelError(f"no parameters to search: none of {key} changes a prediction of these races: {fix}")
    found, tried = _find(earlier, wanted, effort or Effort(), progress)
    calls = [(create(key, each), earlier, later) for each in (fixed, found)]
    first, second = map(JudgedPart.of, *spread(_on_parts, calls))
    searched = tuple(dict.fromkeys(d.parameter for d in wanted.space))
    return Tuned(key, found, searched, first, second, tried)


def _on_parts(model: RatingModel, earlier: History, later: History) -> list[Tallies]:
    table = newcomers(model, earlier)
    return [tallies(model, part, table) for part in (earlier, later)]


def along(history: History, found: Tuned) -> list[tuple[str, float, FloatArray, FloatArray]]:
    """Return the figure that a search minimized along each parameter, with the others as found.

    Each has its name, its value as found, that and `STEPS` values over its range, and their figures.
    """
    space = dimensions(found.model, found.parameters, found.searched)
    values = np.sort([[*np.linspace(d.low, d.high, STEPS), d.start] for d in space])
    figures = _Search(found.model, dict(found.parameters), space).moved(history.split(0.5)[0], values)
    names = (d.parameter if d.entry is None else f"{d.parameter}, {d.entry + 1}" for d in space)
    return list(zip(names, (d.start for d in space), values, figures, strict=True))


class Dimension(NamedTuple):
    """A number to search. `entry` is its index, if the parameter is a list of numbers."""

    parameter: str
    entry: int | None
    low: float
    high: float
    start: float


@dataclass(frozen=True, slots=True)
class Effort:
    """The size of a search: at least five sets in a generation, and the most generations."""

    candidates: int = 256
    generations: int = 40
    seed: int = 1


def dimensions(
    key: str, parameters: Parameters | None = None, search: Sequence[str] | None = None
) -> list[Dimension]:
    """Return the numbers that a search of this model varies, starting from these parameters.

    `search` has their names; by default all with a range that are not switched off (None). Raise a ModelError
    for an unknown name, or one without a range.
    """
    model = create(key, parameters)
    ranges = {declaration.name: declaration.metadata["search"] for declaration in declared(type(model))}
    if search is None:
        search = [name for name, limits in ranges.items() if limits and getattr(model, name) is not None]
    found = []
    for name in search:
        if name not in ranges:
            raise ModelError(f"{key} has no parameter {name!r}{did_you_mean(name, ranges)}")
        if ranges[name] is None:
            raise ModelError(f"{key}: {name} has no range to search in")
        (low, high), value = ranges[name], getattr(model, name)
        if isinstance(value, tuple):
            found += [Dimension(name, i, low, high, float(v)) for i, v in enumerate(value)]
        else:
            start = (low + high) / 2 if value is None else float(value)
            found.append(Dimension(name, None, low, high, start))
    return found


class _Search(NamedTuple):
    key: str
    parameters: dict[str, Any]
    space: list[Dimension]

    def costs(self, history: History, x: FloatArray) -> FloatArray:
        """Return each candidate's figure: shape [candidates]. `TOGETHER` are replayed at once."""
        parts = [x[:, first : first + TOGETHER] for first in range(0, x.shape[1], TOGETHER)]
        return np.concatenate(list(spread(_cost, [(history, self, part) for part in parts])))

    def moved(self, history: History, values: FloatArray) -> FloatArray:
        """Return the figures at values of one number at a time, the others as they start: [dimensions, n]."""
        size = values.shape[1]
        x = np.repeat([[d.start] for d in self.space], values.size, axis=1)
        for i, row in enumerate(values):
            x[i, size * i : size * (i + 1)] = row
        return self.costs(history, x).reshape(values.shape)


def _find(
    history: History, search: _Search, effort: Effort, progress: Callable[[int, float], None]
) -> tuple[Parameters, int]:
    """Return all parameters, with the searched ones rounded, and the number of sets tried."""
    space, done = search.space, itertools.count(1)

    def report(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        progress(next(done), float(intermediate_result.fun))

    found = scipy.optimize.differential_evolution(
        cast(Any, partial(search.costs, history)),  # vectorized: takes and returns one number per candidate
        scipy.optimize.Bounds([d.low for d in space], [d.high for d in space]),
        init=_population(space, effort),
        vectorized=True,
        updating="deferred",
        maxiter=effort.generations,
        tol=0.0,
        atol=_ALIKE,
        polish=False,
        rng=np.random.default_rng(effort.seed),
        callback=report,
    )
    best = [min(max(four_digits(v), d.low), d.high) for v, d in zip(found.x, space, strict=True)]
    start, tried = create(search.key, search.parameters), len(found.population) * (1 + found.nit)
    return as_json(create(search.key, {**search.parameters, **parameters_at(start, space, best)})), tried


def parameters_at(start: Any, space: Sequence[Dimension], x: FloatArray | Sequence[float]) -> dict[str, Any]:
    """Return all parameters of the model, with the searched ones from x: shape [dimensions, ...]."""
    values = {declaration.name: getattr(start, declaration.name) for declaration in declared(type(start))}
    for dimension, value in zip(space, x, strict=True):
        if dimension.entry is None:
            values[dimension.parameter] = value
        else:
            entries = list(values[dimension.parameter])
            entries[dimension.entry] = value
            values[dimension.parameter] = tuple(entries)
    return values


def four_digits(value: float) -> float:
    """Round to four significant digits, so that users see exactly the parameters that were judged."""
    return float(f"{value:.4g}")


def _cost(history: History, search: _Search, x: FloatArray) -> FloatArray:
    """Return log loss plus misordered pairs: shape [candidates]. They are infinite if ratings diverge."""
    start = create(search.key, search.parameters)
    model = type(start)(**parameters_at(start, search.space, x))
    table = newcomers(model, history)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = tallies(model, history, table).joint.mean()
    return np.where(np.isfinite(found) & np.isfinite(table).all(axis=(1, 2)), found, np.inf)


def _population(space: Sequence[Dimension], effort: Effort) -> FloatArray:
    """Return the first generation: the start, candidates near it, and as many from the whole ranges."""
    rng = np.random.default_rng([effort.seed, len(space)])
    low, high = np.array([d.low for d in space]), np.array([d.high for d in space])
    start = np.clip([d.start for d in space], low, high)
    others = effort.candidates - 1
    near = start + 0.1 * (high - low) * rng.standard_normal((others // 2, len(space)))
    anywhere = rng.uniform(low, high, (others - others // 2, len(space)))
    return np.asarray(np.clip(np.vstack([start, near, anywhere]), low, high))
