"""Simulate for every model how ratings move over years, and how players could exploit them.

    python benchmarks/dynamics.py [--model thurstone-hurdle]

The simulator and its seeds are fixed. Every player has a lasting skill; a performance is the skill plus
N(0, 1), and better players finish more often: one start in seven is a DNF. All start as newcomers, shown with
1,000 points for every model. Prints the table in docs/dynamics.md, which explains it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.registry import MODELS, create
from racebot.study.cores import cores, spread

PLAYERS = 150
SPREAD, SLOPE, LEVEL = 1.3, 0.8, logit(0.86)
DUELS_ONLY = {"elo-exponential", "elo-gaussian"}
RACES_A_DAY = 2.0
LARGEST = 60


class World:
    """Players with their skills, and their states in one model."""

    def __init__(self, model: RatingModel, seed: int) -> None:
        self.model = model
        self.rng = np.random.default_rng(seed)
        self.skill = SPREAD * self.rng.standard_normal(PLAYERS)
        self.states = np.tile(model.initial(), (PLAYERS, 1))
        self.races = 0

    def join(self, skills: FloatArray) -> NDArray[np.intp]:
        """Add newcomers with these skills, and return their indices."""
        numbers = np.arange(self.skill.size, self.skill.size + skills.size)
        self.skill = np.concatenate([self.skill, skills])
        self.states = np.concatenate([self.states, np.tile(self.model.initial(), (skills.size, 1))])
        return numbers

    def race(self, entrants: NDArray[np.intp], *, unfinished: Sequence[int] = ()) -> None:
        """Simulate and rate a race. The players in `unfinished` do not finish."""
        skill = self.skill[entrants]
        done = self.rng.random(entrants.size) < expit(SLOPE * skill + LEVEL)
        done &= ~np.isin(entrants, list(unfinished))
        performance = np.where(done, skill + self.rng.standard_normal(entrants.size), -np.inf)
        order = np.argsort(-performance)
        self.result(entrants[order], int(done.sum()))

    def result(self, order: NDArray[np.intp], finishers: int) -> None:
        """Rate a race with this order, in which only the first `finishers` finished."""
        self.races += 1
        day = 19_723.0 + self.races / RACES_A_DAY
        outcome = Outcome.of(range(finishers), unfinished=order.size - finishers, day=day)
        self.states[order] = self.model.rate(self.states[order], outcome)

    def run(self, races: int, *, without: Sequence[int] = ()) -> None:
        """Simulate races of six players on average."""
        for _ in range(races):
            size = 2 + self.rng.poisson(4)
            self.race(self.rng.choice(self.others(*without), size, replace=False))

    def others(self, *players: int) -> NDArray[np.intp]:
        """Return all players but these."""
        return np.delete(np.arange(self.skill.size), players)

    def points(self, players: NDArray[np.intp] | int) -> NDArray[np.intp]:
        """Return points, shifted so that a newcomer has 1,000."""
        newcomer = int(self.model.points(self.model.initial()[np.newaxis])[0])
        return 1000 + self.model.points(self.states[np.atleast_1d(players)]) - newcomer


def closed_world(key: str) -> list[str]:
    """Return the mean of all points after 300 races and after 6,000, and their spread then."""
    world = World(create(key), seed=1)
    world.run(300)
    early = world.points(world.others()).mean()
    world.run(5700)
    points = world.points(world.others())
    return [f"{early:.0f} → {points.mean():.0f}", f"{points.std():.0f}"]


def tricks(key: str) -> list[str]:
    """Return what each trick that a player might try does to points or places."""
    veterans = World(create(key), seed=2)
    veterans.run(1500)
    strong = int(np.argsort(-veterans.skill[:PLAYERS])[5])
    weak = int(np.argsort(veterans.skill[:PLAYERS])[10])

    def copy() -> World:
        world = World(create(key), seed=3)
        world.skill, world.states, world.races = veterans.skill.copy(), veterans.states.copy(), veterans.races
        return world

    # A hundred wins over one weak player.
    world = copy()
    shown = [int(world.points(strong)[0])]
    for _ in range(100):
        world.result(np.array([strong, weak]), 2)
    cells = [f"{world.points(strong)[0] - shown[0]:+d}"]
    # Ten fresh accounts; one of them wins three races.
    world = copy()
    ring = world.join(np.zeros(10))
    for _ in range(3):
        world.result(ring, 10)
    cells.append(f"{world.points(int(ring[0]))[0] - 1000:+d}")
    # The place of a leader who stops racing, after 1,000 races by others.
    world = copy()
    leader = int(np.argmax(world.model.rating(world.states)))
    world.run(1000, without=[leader])
    rating = world.model.rating(world.states)
    cells.append(str(1 + int(np.sum(rating > rating[leader]))))
    # Twenty deliberate forfeits, then forty honest races.
    world = copy()
    for given_up, races in ((True, 20), (False, 40)):
        for _ in range(races):
            others = world.rng.choice(world.others(strong), 5, replace=False)
            world.race(np.append(others, strong), unfinished=[strong] if given_up else [])
        shown.append(int(world.points(strong)[0]))
    cells.append(f"{shown[1] - shown[0]:+d}, {shown[2] - shown[0]:+d}")
    # Races until a strong player's second account is within 50 points of the first.
    world = copy()
    (smurf,) = world.join(world.skill[[strong]]).tolist()
    races = 0
    while races < 200 and world.points(smurf)[0] < world.points(strong)[0] - 50:
        world.race(np.append(world.rng.choice(world.others(smurf), 5, replace=False), smurf))
        races += 1
    cells.append(str(races) if races < 200 else "over 200")
    return cells


def figures(key: str) -> list[str]:
    """Return a model's row of the table, with what the first and last of many newcomers who finish gain."""
    many = World(create(key), seed=4)
    many.result(np.arange(LARGEST), LARGEST)
    first, *_, last = (many.points(np.arange(LARGEST)) - 1000).tolist()
    return [f"`{key}`", *closed_world(key), *tricks(key), f"{first:+d}, {last:+d}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", help="key of a model; repeatable")
    keys = parser.parse_args().model or [key for key in MODELS if key not in DUELS_ONLY]
    headings = "Model | Mean | Spread | Farming | Fresh accounts | Parking | Forfeits | Second account"
    print(f"| {headings} | First and last of {LARGEST} |")
    print("|---" * (headings.count("|") + 2) + "|")
    with cores():
        for row in spread(figures, [(key,) for key in keys]):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
