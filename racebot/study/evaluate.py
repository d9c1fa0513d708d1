"""Evaluate models on a history, and compare them in pairs."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from datetime import datetime
from importlib import resources
from typing import NamedTuple

import numpy as np

from racebot.errors import ModelError
from racebot.races.outcome import BoolArray
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.parameters import Parameters, as_json
from racebot.ratings.registry import create
from racebot.study import metrics
from racebot.study.complaints import Complaints, checked_again
from racebot.study.cores import spread
from racebot.study.history import Earlier, History, at_start, replay
from racebot.study.metrics import Field, Figures, Predictions, Tallies, Tally, log_loss, misordered

VIEWED, BEST_RACES, FREQUENT_RACES = 20, 10, 100
"""Players in a view, and how many of their first races count, of the best (who have more) and most frequent.

After Dehpanah et al., https://arxiv.org/abs/2008.06787, section V, who viewed 1,000 of two million players.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model to evaluate: its label, its key, and the parameters that differ from its defaults.

    A model that is not in the registry is its `own`, in place of the key and the parameters.
    """

    label: str
    model: str
    parameters: Parameters = dataclass_field(default_factory=dict)
    own: RatingModel | None = None


class Preset(NamedTuple):
    """A row of the source's tables: its share of misordered pairs, and that of its program when run today."""

    title: str
    model: str
    parameters: Parameters
    published: float
    rerun: float


_ROWS = tomllib.loads(resources.files(__package__).joinpath("presets.toml").read_text(encoding="utf-8"))
PRESETS = {name: Preset(**row) for name, row in _ROWS.items()}
"""Published figures to compare with, by name. `presets.toml` has their source."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one model with all its parameters, and the reliability of its odds.

    `views` are `all`, `best`, `frequent`, and `bin 1` (the best fifth of each race) to `bin 5`.
    """

    label: str
    model: str
    parameters: Parameters
    complaints: Complaints
    views: Mapping[str, Figures]
    reliability: metrics.Reliability

    @property
    def figures(self) -> Figures:
        """Return the figures for all players."""
        return self.views["all"]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Two models, named by their labels, compared on the same races.

    Attributes:
        betting: points that the first model wins from the second by betting on every pair.
        first_right, second_right: pairs with different predicted winners in which this model was right.
        first_misordered, second_misordered: this model's share of misordered pairs in all races.
        first_challenged, second_challenged: its share in the races that the other finds tightest.
    """

    first: str
    second: str
    betting: float
    first_right: int
    second_right: int
    first_misordered: float
    second_misordered: float
    first_challenged: float
    second_challenged: float


class Margin(NamedTuple):
    """A figure's difference to the same figure of the best model, and its standard error over races."""

    difference: float
    error: float

    @property
    def level(self) -> bool:
        """Return True if the two models cannot be told apart: the difference is within two errors."""
        return not self.difference > metrics.ERRORS_REQUIRED * self.error


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an evaluation, with the number of judged races, and of all players.

    `margins` has, by label, the differences to the `best` model's misordered pairs and log loss.
    """

    races: int
    players: int
    evaluations: tuple[Evaluation, ...]
    comparisons: tuple[ModelComparison, ...]
    best: str
    margins: Mapping[str, tuple[Margin, Margin]]


def evaluate(
    histories: Sequence[History],
    entries: Sequence[Entry],
    *,
    since: datetime | None = None,
    earlier: Earlier | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Report]:
    """Evaluate every entry on every history, and return a report for each history.

    Args:
        entries: the models, with distinct labels.
        since: judge races that ended at this time or later; earlier ones only train. By default all count.
        earlier: races from which ratings carry over. Their players count as new in a history's first race.
        progress: called with the number of finished replays and their total number.

    Raise a ModelError for a model that is unknown, or cannot rate a race or carry ratings over.
    """
    calls = [(history, entry, since, earlier) for history in histories for entry in entries]
    runs = []
    for run in spread(_run, calls):
        runs.append(run)
        progress(len(runs), len(calls))
    size = len(entries)
    return [_report(each, runs[i * size : (i + 1) * size], since) for i, each in enumerate(histories)]


def _report(history: History, runs: Sequence[_Run], since: datetime | None) -> Report:
    whole, first = Field.of(history), _first_judged(history, since)
    race, of_runs = whole.pair_race(), dict[str, Tallies]()
    for run in runs:
        rating, loss = run.predictions.rating, log_loss(run.predictions.probability)
        costs = misordered(rating[whole.better], rating[whole.worse]), loss
        by_race = (Tally.of(cost, race, whole.races).later(first) for cost in costs)
        of_runs[run.evaluation.label] = Tallies(*by_race)
    best = min(of_runs, key=lambda label: of_runs[label].misordered.cost.sum())
    fewest = of_runs[best]
    margins: dict[str, tuple[Margin, Margin]] = {}
    for label, own in of_runs.items():
        margins[label] = _margin(fewest.misordered, own.misordered), _margin(fewest.log_loss, own.log_loss)
    evaluations = tuple(run.evaluation for run in runs)
    compared = tuple(_compare(whole, a, b, first) for a, b in itertools.combinations(runs, 2))
    return Report(len(history) - first, len(history.players), evaluations, compared, best, margins)


def _first_judged(history: History, since: datetime | None) -> int:
    return 0 if since is None else sum(race.ended_at < since for race in history.races)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """One entry's replay, and its `tightness`: how close a race should be, NaN if not judged: shape [races].

    It is the match quality, or minus the mean distance of ratings.
    """

    evaluation: Evaluation
    predictions: Predictions
    tightness: FloatArray


def _run(history: History, entry: Entry, since: datetime | None, earlier: Earlier | None) -> _Run:
    model = entry.own or create(entry.model, entry.parameters)
    whole, first = Field.of(history), _first_judged(history, since)
    table = at_start(model, history, earlier)
    steps = list(replay(model, history, table))
    ratings, probabilities = [np.empty(0)], [np.empty(0)]
    tightness = np.full(len(history), np.nan)
    for number, (race, before, _) in enumerate(steps):
        better, worse = metrics.observed_pairs(race.outcome)
        probabilities.append(model.win_probability(before[better], before[worse]))
        ratings.append(model.rating(before))
        if number >= first and isinstance(model, TrueSkill):
            tightness[number] = model.match_quality(before, race.outcome.team)
        elif number >= first:
            tightness[number] = -np.abs(ratings[-1][:, np.newaxis] - ratings[-1]).mean()
    rating, probability = np.concatenate(ratings), np.concatenate(probabilities)
    if not (np.isfinite(rating).all() and np.isfinite(probability).all()):
        fix = "diverge with these parameters: choose smaller ones"
        raise ModelError(f"{entry.label}: the ratings of {entry.model} {fix}")
    predictions, final = Predictions.of(whole, rating, probability), model.rating(table)
    evaluation = Evaluation(
        label=entry.label,
        model=entry.model,
        parameters={} if entry.own else as_json(model),
        complaints=Complaints.of(model, steps[first:], every=checked_again(history)),
        views=_views(history, whole, predictions, final, first),
        reliability=metrics.reliability(probability[whole.pair_race() >= first]),
    )
    return _Run(evaluation, predictions, tightness)


def _views(
    history: History, field: Field, predictions: Predictions, final: FloatArray, first: int
) -> dict[str, Figures]:
    judged = field.race >= first
    raced = history.races_of_players()
    best = np.flatnonzero(raced > BEST_RACES)
    best = best[np.argsort(-final[best], kind="stable")][:VIEWED]
    frequent = np.argsort(-raced, kind="stable")[:VIEWED]
    counted: dict[str, BoolArray] = {
        "all": judged,
        "best": judged & np.isin(field.player, best) & (field.earlier < BEST_RACES),
        "frequent": judged & np.isin(field.player, frequent) & (field.earlier < FREQUENT_RACES),
    }
    bins = field.bins()
    counted |= {f"bin {number + 1}": judged & (bins == number) for number in range(metrics.BINS)}
    return {name: metrics.figures(field, predictions, mask) for name, mask in counted.items()}


def _margin(best: Tally, other: Tally) -> Margin:
    difference = float((other.cost - best.cost).sum() / max(best.cases.sum(), 1))
    return Margin(difference, metrics.standard_error(best, other))


def _compare(whole: Field, a: _Run, b: _Run, first: int) -> ModelComparison:
    race = whole.pair_race()
    judged = race >= first

    def share(run: _Run, pairs: BoolArray) -> float:
        rating = run.predictions.rating
        wrong = misordered(rating[whole.better[pairs]], rating[whole.worse[pairs]])
        return float(np.mean(wrong)) if wrong.size else math.nan

    chance_a, chance_b = a.predictions.probability[judged], b.predictions.probability[judged]
    return ModelComparison(
        first=a.evaluation.label,
        second=b.evaluation.label,
        betting=metrics.betting(chance_a, chance_b),
        first_right=metrics.right_alone(chance_a, chance_b),
        second_right=metrics.right_alone(chance_b, chance_a),
        first_misordered=share(a, judged),
        second_misordered=share(b, judged),
        first_challenged=share(a, metrics.tightest(b.tightness)[race]),
        second_challenged=share(b, metrics.tightest(a.tightness)[race]),
    )
