"""Time one replay of a season by each model, and sweeps over parameter sets, beside other packages.

    python benchmarks/replay.py [FILE] [--repeats 3] [--candidates 256] [--plain] [--processor-time]

FILE is an archive or JSON saved from the site. Without it, the benchmark invents a season of 855 races with
typical sizes and a typical share of DNFs. All runs share one process, and the best of the repeats counts.
Peers: the `trueskill` package (its default backend), openskill's PlackettLuce, and a plain loop over the
formula of Plackett and Luce. With `--plain`, or without the extra `racebot[fast]`, nothing is compiled.
On a busy machine, --processor-time measures processor time instead, and divides that of compiled sweeps by
the number of cores.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

# Same value as on the command line. numpy reads it on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import openskill.models
import trueskill

from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.ratings import fast, registry
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import declared
from racebot.standings.backfill import read_races
from racebot.study.history import History
from racebot.study.objective import Objective
from racebot.study.paired import tally
from racebot.study.replay import replay

REPLAYED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("trueskill, tie", "trueskill", {"unfinished": "tie"}),
    ("trueskill, censored", "trueskill", {}),
    ("plackett-luce, exact", "plackett-luce", {}),
    ("plackett-luce, independent", "plackett-luce", {"unfinished": "independent"}),
    ("thurstone", "thurstone", {}),
    ("pairwise-elo", "pairwise-elo", {}),
    ("thurstone-hurdle", "thurstone-hurdle", {}),
    ("thurstone-filter", "thurstone-filter", {}),
    ("plackett-luce-hurdle", "plackett-luce-hurdle", {}),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=256)
    parser.add_argument("--plain", action="store_true", help="do not use compiled kernels")
    parser.add_argument("--processor-time", action="store_true", help="ignore time spent waiting")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.processor_time else time.perf_counter
    fast.AVAILABLE = fast.AVAILABLE and not arguments.plain
    fast.FEWEST_RACES = 0
    results = read_races(arguments.file, category="", goal=None) if arguments.file else made_up(855)
    history = History.of(results)
    races = len(history)
    print(f"{races} races, {len(history.players)} players; races per second, best of {arguments.repeats}\n")

    def speed(work: Callable[[], object]) -> float:
        best = math.inf
        for _ in range(arguments.repeats):
            start = clock()
            work()
            best = min(best, clock() - start)
        return races / best

    package = speed(lambda: trueskill_package(history))
    openskill_speed = speed(lambda: openskill_plackett_luce(history))
    plain = speed(lambda: plain_plackett_luce(history))
    print(f"{'one replay':<32}{'races/s':>10}{'trueskill':>11}{'openskill':>11}{'plain loop':>11}")

    def row(name: str, value: float) -> None:
        ratios = "".join(f"{value / peer:>10.1f}×" for peer in (package, openskill_speed, plain))
        print(f"{name:<32}{value:>10,.0f}{ratios}")

    row("package trueskill", package)
    row("package openskill PlackettLuce", openskill_speed)
    row("plain loop of Plackett-Luce", plain)
    known = [each for each in REPLAYED if each[1] in registry.MODELS]
    for label, key, parameters in known:
        model = registry.create(key, parameters)
        row(label, speed(partial(_run, model, history)))

    print(
        f"\n{f'sweep of {arguments.candidates}':<32}{'cand.-races/s':>14}{'trueskill':>11}{'own replay':>11}"
    )
    for label, key, parameters in known:
        model = registry.create(key, parameters)
        many = spread(model, arguments.candidates)
        alone = speed(partial(_run, model, history))
        shared = arguments.processor_time and fast.compiles(many)
        threads = os.cpu_count() or 1 if shared else 1
        swept = threads * arguments.candidates * speed(partial(tally, many, history, Objective.MISORDERED))
        print(f"{label:<32}{swept:>14,.0f}{swept / package:>10.0f}×{swept / alone:>10.1f}×")


def _run(model: RatingModel, history: History) -> None:
    for _ in replay(model, history):
        pass


def spread(model: Any, candidates: int) -> Any:
    """Return the model with each searchable number spread over its range, one value per candidate."""
    rng = np.random.default_rng(1)
    changed: dict[str, Any] = {}
    for field in declared(type(model)):
        value: Any
        bounds, value = field.metadata["search"], getattr(model, field.name)
        if bounds is None or value is None:
            continue
        if isinstance(value, tuple):
            changed[field.name] = tuple(rng.uniform(bounds[0], bounds[1], candidates) for _ in value)
        else:
            changed[field.name] = rng.uniform(bounds[0], bounds[1], candidates)
    return replace(model, **changed)


def trueskill_package(history: History) -> None:
    environment = trueskill.TrueSkill()
    ratings = [environment.create_rating() for _ in history.players]
    for race in history.races:
        groups = [(ratings[player],) for player in race.players]
        for player, (rating,) in zip(
            race.players, environment.rate(groups, ranks=race.outcome.group.tolist()), strict=True
        ):
            ratings[player] = rating


def openskill_plackett_luce(history: History) -> None:
    model = openskill.models.PlackettLuce()
    ratings = [model.rating() for _ in history.players]
    for race in history.races:
        teams = [[ratings[player]] for player in race.players]
        for player, (rating,) in zip(
            race.players, model.rate(teams, ranks=race.outcome.group.tolist()), strict=True
        ):
            ratings[player] = rating


def plain_plackett_luce(history: History, rate: float = 0.32) -> None:
    """Run a straightforward Plackett-Luce, which compares each unfinished player with the finishers only."""
    ratings = np.zeros(len(history.players))
    for race in history.races:
        group = race.outcome.group
        finishers = race.players[~race.outcome.unfinished][np.argsort(-group[~race.outcome.unfinished])]
        unfinished = race.players[race.outcome.unfinished]
        gradient = dict.fromkeys(race.players.tolist(), 0.0)
        strength = {player: math.exp(-ratings[player]) for player in gradient}
        mass = sum(strength[player] for player in finishers.tolist())
        for player in unfinished.tolist():
            share = strength[player] / (strength[player] + mass)
            gradient[player] -= 1 - share
            for other in finishers.tolist():
                gradient[other] += strength[other] / (strength[player] + mass)
        for place, player in enumerate(finishers.tolist()):
            gradient[player] -= 1
            later = finishers[place:].tolist()
            total = sum(strength[other] for other in later)
            for other in later:
                gradient[other] += strength[other] / total
        for player, value in gradient.items():
            ratings[player] += rate * value


def made_up(races: int, seed: int = 1) -> list[RaceResult]:
    """Invent a season of races with about six entrants, one in six of whom does not finish."""
    rng = random.Random(seed)
    skills = [rng.gauss(0, 1) for _ in range(155)]
    weights = [rng.expovariate(1) ** 2 for _ in skills]
    season = []
    for number in range(races):
        size = min(2 + int(rng.expovariate(1 / 3.7)), 20)
        field = list(dict.fromkeys(rng.choices(range(155), weights, k=2 * size)))[: max(size, 2)]
        if len(field) < 2:
            field = rng.sample(range(155), 2)
        entrants = tuple(
            Entrant(
                user_id=f"player{player}",
                name=f"player{player}",
                status=EntrantStatus.DNF if index and rng.random() < 1 / 6 else EntrantStatus.DONE,
                finish_time=round(3.6e9 * math.exp(-0.1 * skills[player] + rng.gauss(0, 0.06))),
            )
            for index, player in enumerate(field)
        )
        ended_at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=10 * number)
        season.append(RaceResult(f"made/up-{number}", "made", "up", ended_at, entrants, recorded=True))
    return season


if __name__ == "__main__":
    main()
