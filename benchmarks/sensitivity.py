"""Evaluate rating models on many kinds of invented categories, against the best possible forecast.

    python benchmarks/sensitivity.py [--seeds 10] [--races 800] [--only "many DNFs"] [--tune] [--jobs 2]

Every player has a skill, a performance is the skill plus N(0, 1), and finishes are drawn by the category's
rule. Models have default parameters, predict each race before rating it, and are judged on the second half of
the races. `truth` knows the current skills and the rule, so no model can do better except by luck.

Prints means over seeds as a Markdown table: misordered pairs and log loss, with the best in bold. The last
column is the largest standard error of the difference in log loss between the first model and another.
`--tune` adds the first model with parameters tuned on the first half, as `racebot tune` does it. Histories
are spread over all cores, or with `--dask tcp://SCHEDULER:8786` over a cluster.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.registry import create
from racebot.study.cores import cores, spread
from racebot.study.history import History, PastRace
from racebot.study.metrics import log_loss, misordered, observed_pairs
from racebot.study.replay import replay
from racebot.study.search import Effort
from racebot.study.tuning import tune

START = datetime(2024, 1, 1, tzinfo=UTC)
DAY = 86_400.0
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "thurstone-hurdle": ("thurstone-hurdle", {}),
    "thurstone-filter": ("thurstone-filter", {}),
    "plackett-luce-hurdle": ("plackett-luce-hurdle", {}),
    "plackett-luce": ("plackett-luce", {}),
    "trueskill": ("trueskill", {}),
    "trueskill, tie": ("trueskill", {"unfinished": "tie"}),
}


@dataclass(frozen=True)
class Category:
    """The properties of an invented category.

    Attributes:
        players: number of players.
        spread: standard deviation of their skills.
        entrants: mean number of entrants in a race, at least 2.
        unfinished: approximate share of entrants who do not finish.
        slope: effect of skill on finishing; 0 is pure luck.
        quitters: share of the field, from last place up, that forfeits.
        learning: skill that a player gains over the first dozen races.
        drift: standard deviation of the change of each skill over the whole history.
        apart: share of the races within one of two groups; None if there is a single group.
        lead: mean skill of the second group minus that of the first.
        activity: 0 if all players race equally often; above 0, a few race much more.
    """

    players: int = 150
    spread: float = 1.3
    entrants: float = 6.0
    unfinished: float = 0.14
    slope: float = 0.8
    quitters: float = 0.0
    learning: float = 0.0
    drift: float = 0.0
    apart: float | None = None
    lead: float = 0.0
    activity: float = 1.0


BASE = Category()
CATEGORIES = {
    "as season 1": BASE,
    "few DNFs": replace(BASE, unfinished=0.02),
    "many DNFs": replace(BASE, unfinished=0.45),
    "many DNFs, by luck": replace(BASE, unfinished=0.45, slope=0.0),
    "the last third gives up": replace(BASE, unfinished=0.02, quitters=0.34),
    "20 players": replace(BASE, players=20),
    "2,000 players": replace(BASE, players=2000),
    "two at a time": replace(BASE, entrants=2.0),
    "thirty at a time": replace(BASE, entrants=30.0),
    "nearly equal players": replace(BASE, spread=0.3),
    "improving players": replace(BASE, learning=2.0),
    "drifting players": replace(BASE, drift=1.5),
    "two groups, seldom together": replace(BASE, apart=0.97, lead=1.5),
}


@dataclass(frozen=True)
class Simulated:
    """A history and its true parameters.

    Attributes:
        history: the races.
        truth: for each race, its entrants' skills and their probabilities of finishing: shapes [n], [n].
        mixed: for each race, True if both groups took part.
    """

    history: History
    truth: list[tuple[FloatArray, FloatArray]]
    mixed: list[bool]


def simulate(category: Category, races: int, rng: np.random.Generator) -> Simulated:
    """Draw races, and redraw any without two different places."""
    names = tuple(str(player) for player in range(category.players))
    skill = rng.normal(0.0, category.spread, category.players)
    group = np.arange(category.players) % 2
    skill += category.lead * (group if category.apart is not None else 0)
    weight = rng.pareto(2.0, category.players) + 0.05 if category.activity else np.ones(category.players)
    raced = np.zeros(category.players)
    past: list[PastRace] = []
    truth, mixed = [], []
    level = threshold(category, skill)
    while len(past) < races:
        skill += category.drift / math.sqrt(races) * rng.standard_normal(category.players)
        chance = weight.copy()
        if category.apart is not None and rng.random() < category.apart:
            chance *= group == rng.integers(2)
        size = min(2 + rng.poisson(category.entrants - 2), int((chance > 0).sum()))
        entrants = rng.choice(category.players, size, replace=False, p=chance / chance.sum())
        today = skill[entrants] + category.learning * (-np.exp(-raced[entrants] / 6.0))
        finishes = expit(category.slope * today - level)
        done = rng.random(size) < finishes
        performance = today + rng.standard_normal(size)
        if category.quitters:
            rank = np.argsort(np.argsort(-performance))
            done &= rank < math.ceil(size * (1.0 - category.quitters))
        order = np.argsort(np.argsort(-np.where(done, performance, -np.inf)))
        places = np.where(done, order, done.sum())
        outcome = Outcome(
            group=places.astype(np.intp),
            unfinished=~done,
            last_group=int(places.max()),
            last_unfinished=bool((~done).any()),
            day=19_723.0 + 0.5 * len(past),
        )
        if not outcome.rateable:
            continue
        ended = START + timedelta(seconds=0.5 * DAY * len(past))
        past.append(PastRace(f"r{len(past)}", ended, entrants.astype(np.intp), outcome))
        truth.append((today, finishes))
        mixed.append(bool(group[entrants].any() and not group[entrants].all()))
        raced[entrants] += 1
    return Simulated(History(names, names, tuple(past)), truth, mixed)


def threshold(category: Category, skill: FloatArray) -> float:
    """Find the level of the finish rule that yields the category's share of finishers."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        if expit(category.slope * skill - middle).mean() > 1.0 - category.unfinished:
            low = middle
        else:
            high = middle
    return low


def judged(simulated: Simulated, only_mixed: bool) -> Iterator[int]:
    """Yield the races to judge: the second half, optionally only those with both groups."""
    for number in range(len(simulated.history) // 2, len(simulated.history)):
        if simulated.mixed[number] or not only_mixed:
            yield number


def by_model(model: RatingModel, simulated: Simulated, *, only_mixed: bool) -> tuple[float, float]:
    """Return a model's misordered pairs and log loss."""
    counted = set(judged(simulated, only_mixed))
    wrong, loss = [], []
    for number, step in enumerate(replay(model, simulated.history)):
        if number in counted:
            better, worse = observed_pairs(step.race.outcome)
            rating = model.rating(step.before)
            wrong.append(misordered(rating[better], rating[worse]))
            loss.append(log_loss(model.win_probability(step.before[better], step.before[worse])))
    return float(np.mean(np.concatenate(wrong))), float(np.mean(np.concatenate(loss)))


def by_truth(simulated: Simulated, *, only_mixed: bool) -> tuple[float, float]:
    """Return misordered pairs and log loss of the true probabilities, given that the places differ."""
    wrong, loss = [], []
    for number in judged(simulated, only_mixed):
        today, finishes = simulated.truth[number]
        better, worse = observed_pairs(simulated.history.races[number].outcome)
        faster = ndtr((today[better] - today[worse]) / math.sqrt(2))
        a, b = finishes[better], finishes[worse]
        won = a * (1 - b) + a * b * faster
        lost = b * (1 - a) + a * b * (1 - faster)
        wrong.append(misordered(today[better], today[worse]))
        loss.append(log_loss(won / (won + lost)))
    return float(np.mean(np.concatenate(wrong))), float(np.mean(np.concatenate(loss)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--races", type=int, default=800)
    parser.add_argument("--only", help="one category by name")
    parser.add_argument("--tune", action="store_true", help="takes a quarter of a minute for each history")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--dask")
    arguments = parser.parse_args()
    columns = [*MODELS, *(["tuned"] if arguments.tune else []), "truth", "±"]
    print(f"| Category | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    with cores(arguments.jobs, arguments.dask):
        for name, category in CATEGORIES.items():
            if arguments.only not in {None, name}:
                continue
            calls = [(category, arguments.races, seed, arguments.tune) for seed in range(arguments.seeds)]
            found = list(spread(figures, calls))
            row(name, np.array([everything for everything, _ in found]))
            if category.apart is not None:
                row("… their meetings", np.array([meetings for _, meetings in found]))


def figures(category: Category, races: int, seed: int, tune: bool) -> tuple[FloatArray, FloatArray]:
    """Return both figures of every model and of the truth, on all judged races and on mixed ones.

    Returns:
        Two arrays of shape [models + 1, 2]; the second is empty for categories with a single group.
    """
    simulated = simulate(category, races, np.random.default_rng(seed))
    models = [create(key, parameters) for key, parameters in MODELS.values()]
    if tune:
        models.append(tuned(simulated))
    both = [
        np.array(
            [
                *(by_model(model, simulated, only_mixed=mixed) for model in models),
                by_truth(simulated, only_mixed=mixed),
            ]
        )
        for mixed in ([False] if category.apart is None else [False, True])
    ]
    return both[0], both[1] if len(both) > 1 else np.empty((0, 2))


def tuned(simulated: Simulated) -> RatingModel:
    """Return the first model with parameters tuned on the first half of the races."""
    found = tune(
        simulated.history,
        "thurstone-hurdle",
        effort=Effort(96, 15),
    )
    return create(found.model, found.parameters)


def row(name: str, found: FloatArray) -> None:
    """Print a category's figures.

    Args:
        name: of the category.
        found: shape [seeds, models + 1, 2], the truth last.
    """
    seeds = len(found)
    mean = found.mean(0)
    best = mean[:-1].argmin(0)
    cells = []
    for number, (wrong, loss) in enumerate(mean.tolist()):
        texts = [f"{wrong:.3f}"[1:], f"{loss:.3f}".removeprefix("0")]
        cells.append(" ".join(f"**{t}**" if number == best[i] else t for i, t in enumerate(texts)))
    relative = found[:, :-1, 1] - found[:, [0], 1]
    error = float((relative.std(0, ddof=1) / math.sqrt(seeds)).max()) if seeds > 1 else math.nan
    print(f"| {name} | {' | '.join(cells)} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
