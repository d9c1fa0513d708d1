"""Judge fitted models beside the strongest filters, each tuned on the first half of a file: docs/model.md.

    python benchmarks/filters.py FILE [FILE ...]

Each is tuned by log loss plus misordered pairs on the first half of the races, and judged on the
second. Players are ordered by the mean, or by the mean less one or two deviations: what was best on the first
half counts. Brackets are as in peers.py. DNFs are below all finishers, and not compared with each other. The
filters are small implementations of

- TrueSkill Through Time without its smoothing (https://doi.org/10.18637/jss.v112.i06): Gaussian performances,
  skills that drift with the days away, expectation propagation;
- the rank-ordered logit in state-space form of Glickman and Hennessy (https://doi.org/10.1515/jqas-2014-0076):
  a normal approximation at the posterior mode, each player's variance kept; also reversed, where the worst
  player is eliminated first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from peers import Before, judged, row
from scipy.optimize import minimize

from racebot.files.read import read_races
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import FloatArray
from racebot.ratings.models.trueskill import evidence
from racebot.ratings.registry import create
from racebot.study.fit import fit
from racebot.study.history import History
from racebot.study.paired import Objective, Tally, tallies

DOUBTS = (0.0, 1.0, 2.0)
START = (1.5, 0.05, 0.02, 1.0)
"""A newcomer's deviation, the drift per race and per square root of a day away, and the scale of the odds."""
Update = Callable[[PastRace, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def expectation_propagation(
    race: PastRace, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Update skills whose performances have unit variance, given the order of neighboring groups."""
    order = race.outcome.group.argsort(kind="stable")
    spread, group = variance[order] + 1.0, race.outcome.group[order].tolist()
    found = evidence(mean[order].tolist(), spread.tolist(), [1] * len(group), group, 0.0, tie=False)
    precision, pull = np.array(found)
    new_mean, new_variance = mean.copy(), variance.copy()
    gain = variance[order] / (1.0 + precision * spread)
    new_mean[order] += gain * pull
    new_variance[order] *= 1.0 - gain * precision
    return new_mean, new_variance


def rank_ordered_logit(
    race: PastRace, mean: FloatArray, variance: FloatArray, *, reverse: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Update skills by Newton's method on the posterior of the rank-ordered logit."""
    sign = -1.0 if reverse else 1.0
    order = sign * race.outcome.group
    # Who is chosen last says nothing; of players who did not finish, nobody was chosen before another.
    chosen = np.unique(order)[:-1]
    theta = mean.copy()
    for _ in range(20):
        gradient = -(theta - mean) / variance
        curvature = np.diag(1 / variance)
        for group in chosen:
            left = order >= group
            count = int((order == group).sum())
            weight = np.where(left, np.exp(sign * theta - (sign * theta)[left].max()), 0.0)
            weight /= weight.sum()
            gradient += sign * ((order == group) - count * weight)
            curvature += count * (np.diag(weight) - np.outer(weight, weight))
        step = np.linalg.solve(curvature, gradient)
        theta += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-6:
            break
    return theta, np.diag(np.linalg.inv(curvature)).copy()


def replay(update: Update, values: FloatArray, history: History) -> Iterator[Before]:
    """Rate a history, and yield what is believed before each race."""
    newcomer, per_race, per_day = np.exp(values[:3])
    mean, variance = np.zeros(len(history.players)), np.full(len(history.players), newcomer**2)
    last = np.full(len(history.players), np.nan)
    for race in history.races:
        today = race.ended_at.timestamp() / 86400
        away = np.nan_to_num(today - last[race.players])
        known = ~np.isnan(last[race.players])
        drifted = variance[race.players] + per_race**2 * known + per_day**2 * away
        yield Before(mean[race.players], np.sqrt(drifted))
        mean[race.players], variance[race.players] = update(race, mean[race.players], drifted)
        last[race.players] = today


def tuned(update: Update, history: History, half: int) -> list[Tally]:
    """Tune a filter on the first races, and return its misordered pairs and log loss in the others."""

    def judge(values: FloatArray, races: History) -> tuple[list[Tally], Tally]:
        return judged(replay(update, values, races), races, DOUBTS, 1.0, np.exp(values[3]))

    first = history.split(half / len(history))[0]

    def cost(values: FloatArray) -> float:
        wrong, loss = judge(values, first)
        return min(float(each.mean()) for each in wrong) + float(loss.mean())

    best = minimize(
        cost, np.log(START), method="Nelder-Mead", options={"maxfev": 150, "xatol": 0.05, "fatol": 1e-4}
    )
    wrong, loss = judge(best.x, history)
    order = min(wrong, key=lambda each: float(each.cost[:half].sum() / each.cases[:half].sum()))
    return [order.later(half), loss.later(half)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    for path in parser.parse_args().files:
        history = History.of(read_races(path, category="", goal=None).results)
        half = len(history) // 2
        print(f"\n{path.name}: the last {len(history) - half} of {len(history)} races\n")
        print("| Model | Misordered pairs | Log loss |\n|---|---|---|")
        first: list[Tally] = []
        for key in ("thurstone-hurdle", "thurstone-filter"):
            fitted = fit(history.split(half / len(history))[0], key)
            better = create(fitted.model, fitted.parameters)
            for label, model in ((f"`{key}`, fitted: `{fitted.model}`", better), (f"`{key}`", create(key))):
                found = tallies(model, history, (Objective.MISORDERED, Objective.LOG_LOSS))
                found = [each.later(half) for each in found]
                first = first or found
                row(label, found, first)
        for label, update in (
            ("TrueSkill Through Time, filter", expectation_propagation),
            ("Rank-ordered logit, state space", rank_ordered_logit),
            ("… reversed", partial(rank_ordered_logit, reverse=True)),
        ):
            row(label, tuned(update, history, half), first)


if __name__ == "__main__":
    main()
