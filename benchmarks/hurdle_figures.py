"""Print the figures in docs/model.md that no other command prints.

    python benchmarks/hurdle_figures.py FILE

FILE is an archive, JSON saved from the site, or CSV. Prints the log loss of pairs under alternative
definitions of the odds, the quality of finish and winner forecasts, and seasons with and without carry-over.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from racebot.ratings.forecast import win_chances
from racebot.ratings.model import FloatArray
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.standings.backfill import read_races
from racebot.study.calibration import fit_finishes, of_finishes, reliability
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.metrics import log_loss, observed_pairs
from racebot.study.replay import Earlier, replay


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    history = History.of(read_races(parser.parse_args().file, category="", goal=None))
    model = ThurstoneHurdle()
    pairs(history, model)
    finishes(history, model)
    winners(history, model)
    seasons(history)


def pairs(history: History, model: ThurstoneHurdle) -> None:
    """Print the log loss of odds with and without finish probabilities, given at least one finisher."""
    own = replace(model, finish_level=model.level, finish_width=model.width)
    losses: dict[str, list[FloatArray]] = {}
    for step in replay(model, history):
        better, worse = observed_pairs(step.race.outcome)
        faster = model.win_probability(step.before[better], step.before[worse])
        found = {"performance alone": faster}
        for name, forecast in (("forecast of finishes", model), ("hurdle's own chances", own)):
            chance = forecast.finish_probability(step.before)
            a, b = chance[better], chance[worse]
            won, lost = a * (1 - b) + a * b * faster, b * (1 - a) + a * b * (1 - faster)
            found[f"with the {name}"] = won / (won + lost)
        for name, value in found.items():
            losses.setdefault(name, []).append(log_loss(value))
    print("Log loss of pairs")
    for name, parts in losses.items():
        print(f"  {name:<32}{np.mean(np.concatenate(parts)):.4f}")


def finishes(history: History, model: ThurstoneHurdle) -> None:
    """Print the finish forecast's two parameters, fitted on the whole history and on its first half."""
    print("Forecast of finishes")
    for name, part in (("whole", history), ("first half", history.split(0.5)[0])):
        print(f"  {name:<12}{fit_finishes(part, model.key)}")
    print(f"  calibration error {of_finishes(history, model).error:.4f}")
    states, finished = [], []
    for step in replay(model, history):
        states.append(step.before)
        finished.append(~step.race.outcome.unfinished)
    rows, done = np.concatenate(states), np.concatenate(finished)
    chance = ndtr((rows[:, 0] - model.level) / np.sqrt(model.width**2 + model.skill_variance(rows)))
    print(f"  log loss by the hurdle itself {np.mean(log_loss(np.where(done, chance, 1 - chance))):.4f}")


def winners(history: History, model: ThurstoneHurdle) -> None:
    """Print the quality of win forecasts. Several winners share a win."""
    chances, won = [], []
    for step in replay(model, history):
        group = step.race.outcome.group
        first = group == group.min()
        chances.append(win_chances(model, step.before))
        won.append(first / first.sum())
    chance, share = np.concatenate(chances), np.concatenate(won)
    surprise = share * log_loss(chance) + (1 - share) * log_loss(1 - chance)
    even = np.concatenate([np.full(each.size, 1 / each.size) for each in won])
    base = share * log_loss(even) + (1 - share) * log_loss(1 - even)
    print("Forecast of winners")
    print(f"  log loss {surprise.mean():.4f}, with even chances for all {base.mean():.4f}")
    print(f"  calibration error {reliability(chance, share).error:.4f}")


def seasons(history: History) -> None:
    """Print the second half, starting from newcomers and from the ratings of the first half."""
    first, second = history.split(0.5)
    print("Second half: misordered pairs, log loss")
    for factor in (None, 1.0, 0.9, 0.7, 0.5):
        earlier = None if factor is None else Earlier(first, factor)
        figures = evaluate(second, [Entry("", ThurstoneHurdle.key)], earlier=earlier).evaluations[0].figures
        name = "afresh" if factor is None else f"factor {factor:g}"
        print(f"  {name:<12}{figures.misordered:.4f}  {figures.log_loss:.4f}")


if __name__ == "__main__":
    main()
