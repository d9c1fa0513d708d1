"""Searching a model's parameters on the earlier part of a history, and judging them on the later part."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

from racebot.errors import ModelError
from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.ratings.parameters import as_json, declared, did_you_mean
from racebot.ratings.registry import create
from racebot.study.history import History
from racebot.study.metrics import log_loss, misordered, observed_pairs
from racebot.study.objective import Objective
from racebot.study.replay import Step, newcomers, replay

_DIGITS = 4
"""Significant digits of a tuned parameter: what is given out is what was judged."""
_ALIKE = 1e-5
"""A search ends when the objective's standard deviation over the candidates is less."""
_RESAMPLES = 2000


class Dimension(NamedTuple):
    """One number that is searched.

    Attributes:
        parameter: its name.
        entry: position, where the parameter is a list of numbers; None where it is a single one.
        low: smallest value looked at.
        high: largest value looked at.
        start: value before the search.
    """

    parameter: str
    entry: int | None
    low: float
    high: float
    start: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is.

    Attributes:
        generation: generations done.
        generations: generations at most.
        best: the best value of the objective so far, on the earlier part.
        parameters: those that gave it.
    """

    generation: int
    generations: int
    best: float
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search found. All figures are values of the objective.

    Attributes:
        model: key of the model.
        parameters: all parameters, the tuned ones rounded to four digits.
        searched: names of those that were searched.
        objective: what was made small.
        earlier_races: races that the search saw.
        later_races: races that it did not see.
        earlier_start: figure on the earlier races before the search.
        earlier_tuned: figure on them after it.
        later_start: figure on the later races before the search.
        later_tuned: figure on them after it.
        standard_error: of `later_tuned - later_start`, by resampling races.
        evaluations: parameter sets that were tried.
    """

    model: str
    parameters: Mapping[str, Any]
    searched: tuple[str, ...]
    objective: Objective
    earlier_races: int
    later_races: int
    earlier_start: float
    earlier_tuned: float
    later_start: float
    later_tuned: float
    standard_error: float
    evaluations: int

    @property
    def difference(self) -> float:
        """How much the tuning changed the figure on the later races; below zero is better."""
        return self.later_tuned - self.later_start

    @property
    def found_better(self) -> bool:
        """Whether anything was better on the earlier races than where the search started."""
        return self.earlier_tuned < self.earlier_start

    @property
    def recommended(self) -> bool:
        """Whether they are better on both parts, and on the later races by more than one standard error."""
        return self.found_better and self.difference < -self.standard_error


class Tally(NamedTuple):
    """The objective race by race, to be added up or resampled.

    Attributes:
        cost: shape [races], or [races, candidates]; sum over the race's pairs, or entrants.
        pairs: shape [races]; number of them.
    """

    cost: FloatArray
    pairs: IntArray

    def mean(self) -> FloatArray:
        """Mean over all pairs of all races: shape [], or [candidates]."""
        mean: FloatArray = self.cost.sum(axis=0) / self.pairs.sum()
        return mean


def dimensions(
    key: str,
    parameters: Mapping[str, Any] | None = None,
    search: Mapping[str, tuple[float, float]] | Sequence[str] | None = None,
) -> list[Dimension]:
    """The numbers that a search of this model varies.

    Args:
        key: of the model.
        parameters: where they differ from the defaults; the search starts from them.
        search: names to vary, within the ranges that the model declares or those given here. By default
            all that have a declared range, except those that are left out of the model (None).

    Raises:
        ModelError: a name that the model does not have or that has no range, or a range that is none.
    """
    model = create(key, parameters)
    declarations = {declaration.name: declaration for declaration in declared(type(model))}
    if search is None:
        search = [
            name
            for name, declaration in declarations.items()
            if declaration.metadata["search"] and getattr(model, name) is not None
        ]
    found = []
    for name in search:
        if name not in declarations:
            raise ModelError(f"{key} has no parameter {name!r}{did_you_mean(name, declarations)}")
        given = search[name] if isinstance(search, Mapping) else declarations[name].metadata["search"]
        if given is None:
            raise ModelError(f"{key}: no range is known in which to search {name}")
        low, high = given
        if not low < high:
            raise ModelError(f"{key}: the range {low:g} to {high:g} of {name} is empty")
        value = getattr(model, name)
        if isinstance(value, tuple):
            found += [Dimension(name, i, low, high, float(v)) for i, v in enumerate(value)]
        else:
            found.append(
                Dimension(name, None, low, high, (low + high) / 2 if value is None else float(value))
            )
    return found


def tune(
    history: History,
    key: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    search: Mapping[str, tuple[float, float]] | Sequence[str] | None = None,
    objective: Objective = Objective.LOG_LOSS,
    share: float = 0.7,
    candidates: int = 64,
    generations: int = 40,
    rng: np.random.Generator,
    progress: Callable[[Progress], None] | None = None,
) -> Tuned:
    """Search parameters by differential evolution on the earlier races, then judge them on the later ones.

    The later races are not looked at before the search is over. Ratings carry over from the earlier races
    into the later ones, for the parameters at the start as for the tuned ones.

    Args:
        history: the races.
        key: of the model.
        parameters: where they differ from the model's defaults; the search starts from them.
        search: what to vary; see `dimensions`. By default all that the objective hangs on; for finishes
            without what moves ratings.
        objective: what to make small.
        share: of the races that the search sees.
        candidates: parameter sets of a generation, about; all are replayed at once.
        generations: at most; the search ends sooner where all candidates have become alike.
        rng: source of chance.
        progress: told after each generation.

    Raises:
        ModelError: see `dimensions`; also a history too short to divide, or finishes of a model that does
            not predict them.
    """
    earlier, later = history.split(share)
    if not (len(earlier) and len(later)):
        raise ModelError(f"{len(history)} races cannot be divided into an earlier and a later part")
    space = dimensions(key, parameters, search)
    fixed = dict(parameters or {})
    start = create(key, fixed)
    if objective is Objective.FINISHES and not isinstance(start, PredictsFinish):
        raise ModelError(f"{key} does not predict who finishes")
    if search is None:
        space = _that_matter(start, earlier, objective, space)
        if objective is Objective.FINISHES:
            moving = _that_matter(start, earlier, Objective.LOG_LOSS, space)
            space = [dimension for dimension in space if dimension not in moving]
    if not space:
        raise ModelError(f"{key} has no parameters to search")

    tried = 0

    def cost(x: FloatArray) -> FloatArray:
        nonlocal tried
        tried += x.shape[1]
        model = type(start)(**_named(start, space, x))
        table = newcomers(model, earlier)
        # A candidate whose ratings run away is no candidate; that is found out below.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = tally(model, earlier, objective, table).mean()
        return np.where(np.isfinite(found) & np.isfinite(table).all(axis=(1, 2)), found, np.inf)

    done = 0

    def report(intermediate_result: OptimizeResult) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            best = _rounded(intermediate_result.x, space)
            progress(Progress(done, generations, float(intermediate_result.fun), _named(start, space, best)))

    found = differential_evolution(
        cast(Any, cost),  # vectorized, it takes and gives one number for each candidate
        Bounds([d.low for d in space], [d.high for d in space]),
        x0=np.array([min(max(d.start, d.low), d.high) for d in space]),
        vectorized=True,
        updating="deferred",
        popsize=max(math.ceil(candidates / len(space)), 1),
        maxiter=generations,
        tol=0.0,
        atol=_ALIKE,
        polish=False,
        rng=rng,
        callback=report,
    )
    tuned = create(key, fixed | _named(start, space, _rounded(found.x, space)))
    before, after = (_judged(model, earlier, later, objective) for model in (start, tuned))
    return Tuned(
        model=key,
        parameters=as_json(tuned),
        searched=tuple(dict.fromkeys(d.parameter for d in space)),
        objective=objective,
        earlier_races=len(earlier),
        later_races=len(later),
        earlier_start=float(before[0].mean()),
        earlier_tuned=float(after[0].mean()),
        later_start=float(before[1].mean()),
        later_tuned=float(after[1].mean()),
        standard_error=standard_error(before[1], after[1], rng),
        evaluations=tried,
    )


def _that_matter(
    start: Any, earlier: History, objective: Objective, space: Sequence[Dimension]
) -> list[Dimension]:
    """Those dimensions that change the objective: a search would draw the others by lot."""
    ends = np.array([[d.start, *(d.start for _ in range(2 * len(space)))] for d in space])
    for i, dimension in enumerate(space):
        ends[i, 1 + 2 * i : 3 + 2 * i] = dimension.low, dimension.high
    if not space:
        return []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = tally(type(start)(**_named(start, space, ends)), earlier, objective).mean()
    return [
        d for i, d in enumerate(space) if not np.allclose(found[1 + 2 * i : 3 + 2 * i], found[0], rtol=1e-9)
    ]


def tally(
    model: RatingModel, history: History, objective: Objective, table: FloatArray | None = None
) -> Tally:
    """Replay a history and note the objective of every race.

    Args:
        model: with single parameters or with arrays of candidates.
        history: the races.
        objective: what to note.
        table: states to start from, updated in place; see `replay`.
    """
    costs, pairs = [], []
    for step in replay(model, history, table):
        cost = _costs(model, step, objective)
        costs.append(cost.sum(axis=-1))
        pairs.append(cost.shape[-1])
    return Tally(np.array(costs), np.array(pairs, dtype=np.intp))


def _costs(model: RatingModel, step: Step, objective: Objective) -> FloatArray:
    """The objective of each observed pair of a race, or of each entrant: shape [..., cases]."""
    before = step.before
    if objective is Objective.FINISHES and isinstance(model, PredictsFinish):
        chance = model.finish_probability(before)
        return log_loss(np.where(step.race.outcome.unfinished, 1.0 - chance, chance))
    better, worse = observed_pairs(step.race.outcome)
    if objective is Objective.MISORDERED:
        rating = model.rating(before)
        return misordered(rating[..., better], rating[..., worse])
    return log_loss(model.win_probability(before[..., better, :], before[..., worse, :]))


def standard_error(before: Tally, after: Tally, rng: np.random.Generator) -> float:
    """Bootstrap standard error of the difference of two means over the same races, drawn as a whole.

    Args:
        before: of the one model, shape [races].
        after: of the other.
        rng: source of chance.
    """
    races = before.pairs.size
    drawn = rng.multinomial(races, np.full(races, 1.0 / races), size=_RESAMPLES)
    pairs = drawn @ before.pairs
    change = (drawn @ (after.cost - before.cost))[pairs > 0] / pairs[pairs > 0]
    return float(np.std(change, ddof=1))


def _judged(
    model: RatingModel, earlier: History, later: History, objective: Objective
) -> tuple[Tally, Tally]:
    table = newcomers(model, earlier)
    return tally(model, earlier, objective, table), tally(model, later, objective, table)


def _named(start: Any, space: Sequence[Dimension], x: FloatArray) -> dict[str, Any]:
    """All parameters of the model, those of the search taken from x: shape [dimensions, ...]."""
    values = {declaration.name: getattr(start, declaration.name) for declaration in declared(type(start))}
    for dimension, value in zip(space, x, strict=True):
        if dimension.entry is None:
            values[dimension.parameter] = value
        else:
            entries = list(values[dimension.parameter])
            entries[dimension.entry] = value
            values[dimension.parameter] = tuple(entries)
    return values


def _rounded(x: FloatArray, space: Sequence[Dimension]) -> FloatArray:
    rounded = [float(f"{value:.{_DIGITS}g}") for value in x]
    return np.array([min(max(v, d.low), d.high) for v, d in zip(rounded, space, strict=True)])
