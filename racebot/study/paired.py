"""Compute the figures that a search minimizes, and paired standard errors of their differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from racebot.races.outcome import IntArray, TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings.model import FloatArray, RatingModel
from racebot.scoring.rules import Rules
from racebot.scoring.table import score_race
from racebot.study.history import History, replay
from racebot.study.metrics import log_loss, misordered, observed_pairs

ERRORS_REQUIRED = 2.0
"""Standard errors by which one model must be better than another to be called better."""


class Objective(StrEnum):
    """A figure to minimize, as a mean over all pairs of all races."""

    JOINT = "joint"
    """Log loss plus misordered pairs, to balance calibrated odds and correct order."""
    MISORDERED = "misordered"
    """Share of pairs in which the lower-rated player was placed better."""
    LOG_LOSS = "log-loss"
    """Log loss of win probabilities over pairs, in nats."""


class Tally(NamedTuple):
    """An objective per race.

    Attributes:
        cost: shape [races], or [races, candidates]; sum over the race's cases, such as pairs.
        cases: shape [races]; number of cases.
    """

    cost: FloatArray
    cases: IntArray

    @classmethod
    def of(cls, cost: FloatArray, race: IntArray, races: int) -> Tally:
        """Add up the costs of cases by race: shapes [cases]."""
        total = np.bincount(race, cost, minlength=races).astype(np.float64)
        return cls(total, np.bincount(race, minlength=races))

    def later(self, first: int) -> Tally:
        """Return the races from this index on."""
        return Tally(self.cost[first:], self.cases[first:])

    def mean(self) -> FloatArray:
        """Return the mean over the cases of all races: shape [], or [candidates]."""
        mean: FloatArray = self.cost.sum(axis=0) / self.cases.sum()
        return mean


def tallies(
    model: RatingModel, history: History, objectives: Sequence[Objective], table: FloatArray | None = None
) -> list[Tally]:
    """Replay a history once, and return objectives of every race. See `replay` for `model` and `table`."""
    costs: list[list[FloatArray]] = [[] for _ in objectives]
    pairs = []
    for step in replay(model, history, table):
        before, (better, worse) = step.before, observed_pairs(step.race.outcome)
        found: dict[Objective, FloatArray] = {}
        if set(objectives) != {Objective.LOG_LOSS}:
            rating = model.rating(before)
            found[Objective.MISORDERED] = misordered(rating[..., better], rating[..., worse])
        if set(objectives) != {Objective.MISORDERED}:
            chance = model.win_probability(before[..., better, :], before[..., worse, :])
            found[Objective.LOG_LOSS] = log_loss(chance)
        for sums, objective in zip(costs, objectives, strict=True):
            cost: Any = sum(found.values()) if objective is Objective.JOINT else found[objective]
            sums.append(cost.sum(axis=-1))
        pairs.append(better.size)
    return [Tally(np.array(sums), np.array(pairs, dtype=np.intp)) for sums in costs]


def standard_error(before: Tally, after: Tally) -> float:
    """Return the standard error of the difference between two means over the same races.

    Races are independent, but pairs within a race are not. This is the usual estimate for a ratio of sums
    (W. G. Cochran, "Sampling Techniques", third edition, section 6.4).

    It is NaN for fewer than two races.
    """
    races, cases = before.cases.size, before.cases.sum()
    if races < 2 or not cases:
        return float("nan")
    difference = after.cost - before.cost
    rest = difference - difference.sum() / cases * before.cases
    return float(np.sqrt(races / (races - 1) * np.sum(rest**2)) / cases)


def compare(
    history: History, results: Iterable[RaceResult], model: RatingModel, rules: Rules, least: int = 3
) -> tuple[Tally, Tally]:
    """Return the misordered pairs of each race by rating and by mean score, from the races before it.

    Only pairs count whose players both have `least` earlier races. `results` are those of the history.
    """
    scored = {each.name: score_race(each, rules, TeamPolicy.INDIVIDUAL) for each in results}
    total, count = np.zeros(len(history.players)), np.zeros(len(history.players))
    costs, cases = [], []
    for race, before, _ in replay(model, history):
        better, worse = observed_pairs(race.outcome)
        kept = (count[race.players] >= least)[[better, worse]].all(axis=0)
        better, worse = better[kept], worse[kept]
        orders = model.rating(before), (total / np.maximum(count, 1))[race.players]
        costs.append([misordered(order[better], order[worse]).sum() for order in orders])
        cases.append(len(better))
        if (found := scored[race.name]) is not None:
            total[race.players] += [found.scores[history.players[player]].score for player in race.players]
            count[race.players] += 1
    by_rating, by_score = np.array(costs).T
    pairs = np.array(cases, dtype=np.intp)
    return Tally(by_rating, pairs), Tally(by_score, pairs)
