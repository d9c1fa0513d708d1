"""Simulate for every model how ratings move over years, and how players could exploit them.

    python benchmarks/dynamics.py [--races 6000] [--model thurstone-hurdle] [--jobs 2]

The simulator and its seeds are fixed. Every player has a lasting skill; a performance is the skill plus
N(0, 1), and better players finish more often. All start as newcomers, shown with 1,000 points for
every model. Prints three Markdown tables, which docs/model.md explains for operators.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.registry import MODELS, create
from racebot.study.cores import cores, spread

PLAYERS = 150
SPREAD = 1.3
SLOPE = 0.8
DUELS_ONLY = {"elo-exponential", "elo-gaussian"}
RACES_A_DAY = 2.0
FIELDS = (2, 6, 20, 60)


class World:
    """Players with their skills, and their states in one model."""

    def __init__(self, model: RatingModel, unfinished: float, seed: int) -> None:
        self.model = model
        self.rng = np.random.default_rng(seed)
        self.skill = SPREAD * self.rng.standard_normal(PLAYERS)
        self.states = np.tile(model.initial(), (PLAYERS, 1))
        self.active = np.arange(PLAYERS)
        self.races = 0
        self._level = logit(1.0 - unfinished)

    def join(self, skills: FloatArray) -> NDArray[np.intp]:
        """Add newcomers with these skills, and return their indices."""
        numbers = np.arange(self.skill.size, self.skill.size + skills.size)
        self.skill = np.concatenate([self.skill, skills])
        self.states = np.concatenate([self.states, np.tile(self.model.initial(), (skills.size, 1))])
        self.active = np.concatenate([self.active, numbers])
        return numbers

    def race(self, entrants: NDArray[np.intp], *, unfinished: Sequence[int] = ()) -> None:
        """Simulate and rate a race. The players in `unfinished` do not finish."""
        skill = self.skill[entrants]
        done = self.rng.random(entrants.size) < expit(SLOPE * skill + self._level)
        done &= ~np.isin(entrants, list(unfinished))
        performance = np.where(done, skill + self.rng.standard_normal(entrants.size), -np.inf)
        order = np.argsort(-performance)
        self.result(entrants[order], int(done.sum()))

    def result(self, order: NDArray[np.intp], finishers: int) -> None:
        """Rate a race with this order, in which only the first `finishers` finished."""
        self.races += 1
        outcome = Outcome.of(
            range(finishers), unfinished=order.size - finishers, day=19_723.0 + self.races / RACES_A_DAY
        )
        self.states[order] = self.model.rate(self.states[order], outcome)

    def run(self, races: int, *, turnover: int = 0, without: Sequence[int] = ()) -> None:
        """Simulate races of six players on average. Every `turnover` races, a newcomer replaces a player."""
        for _ in range(races):
            size = 2 + self.rng.poisson(4)
            able = self.active[~np.isin(self.active, list(without))]
            self.race(self.rng.choice(able, size, replace=False))
            if turnover and self.races % turnover == 0:
                self.active = np.delete(self.active, self.rng.integers(self.active.size))
                self.join(SPREAD * self.rng.standard_normal(1))

    def points(self, players: NDArray[np.intp] | int) -> NDArray[np.intp]:
        """Return points, shifted so that a newcomer has 1,000."""
        newcomer = int(self.model.points(self.model.initial()[np.newaxis])[0])
        return 1000 + self.model.points(self.states[np.atleast_1d(players)]) - newcomer

    def place(self, player: int) -> int:
        """Return a player's place among all active players."""
        rating = self.model.rating(self.states)
        return 1 + int(np.sum(rating[self.active] > rating[player]))


def closed_world(key: str, races: int) -> list[str]:
    """Return the mean and spread of points over time."""
    cells = [key]
    for unfinished, turnover in ((0.05, 0), (0.14, 0), (0.30, 0), (0.14, 20)):
        world = World(create(key), unfinished, seed=1)
        shown = []
        for until in (races // 20, races // 2, races):
            world.run(until - world.races, turnover=turnover)
            points = world.points(world.active)
            shown.append(f"{points.mean():.0f}±{points.std():.0f}")
        cells.append(" ".join(shown))
    return cells


def gaming(key: str) -> list[str]:
    """Return points before and after each exploit that a player might try."""
    veterans = World(create(key), 0.14, seed=2)
    veterans.run(1500)
    strong = int(np.argsort(-veterans.skill[:PLAYERS])[5])
    weak = int(np.argsort(veterans.skill[:PLAYERS])[10])

    def copy() -> World:
        world = World(create(key), 0.14, seed=3)
        world.skill, world.states, world.races = veterans.skill.copy(), veterans.states.copy(), veterans.races
        return world

    cells = [key]
    # Farming: racing a player who always forfeits, racing one weak player, and always finishing last.
    for finishers, against_weak in ((1, False), (2, True)):
        world = copy()
        (victim,) = [weak] if against_weak else world.join(np.zeros(1)).tolist()
        before = int(world.points(strong)[0])
        for _ in range(100):
            world.result(np.array([strong, victim]), finishers)
        cells.append(f"{before} → {world.points(strong)[0]}")
    world = copy()
    (fresh,) = world.join(np.zeros(1)).tolist()
    for _ in range(100):
        world.result(np.array([strong, fresh]), 2)
    cells.append(f"1000 → {world.points(fresh)[0]}")
    # Ten fresh accounts; one of them wins three races.
    world = copy()
    ring = world.join(np.zeros(10))
    for _ in range(3):
        world.result(ring, 10)
    cells.append(f"1000 → {world.points(int(ring[0]))[0]}")
    # Parking: the place of a leader who stops racing, after 1,000 races by others.
    world = copy()
    leader = int(np.argmax(world.model.rating(world.states)))
    world.run(1000, without=[leader])
    cells.append(f"1 → {world.place(leader)}")
    # Sandbagging: twenty deliberate forfeits, then forty honest races.
    world = copy()
    shown = [int(world.points(strong)[0])]
    for given_up, races in ((True, 20), (False, 40)):
        for _ in range(races):
            others = world.rng.choice(np.delete(world.active, strong), 5, replace=False)
            world.race(np.append(others, strong), unfinished=[strong] if given_up else [])
        shown.append(int(world.points(strong)[0]))
    cells.append(" → ".join(map(str, shown)))
    # A smurf: races until a strong player's second account is within 50 points of the first.
    world = copy()
    (smurf,) = world.join(world.skill[[strong]]).tolist()
    races = 0
    while races < 200 and world.points(smurf)[0] < world.points(strong)[0] - 50:
        world.race(np.append(world.rng.choice(world.active[:-1], 5, replace=False), smurf))
        races += 1
    cells.append(str(races) if races < 200 else "over 200")
    # A new season's newcomers, each the twin of a veteran, after 20 races each on average.
    world = copy()
    twins = world.join(world.skill[:PLAYERS].copy())
    world.run(PLAYERS * 2 * 20 // 6)
    cells.append(f"{np.mean(world.points(twins) - world.points(np.arange(PLAYERS))):+.0f}")
    return cells


def fields(key: str) -> list[str]:
    """Return the points of the first and last of n newcomers who all finish, for fields of 2 to 60."""
    cells = [key]
    for size in FIELDS:
        world = World(create(key), 0.14, seed=4)
        players = np.arange(size)
        world.result(players, size)
        points = world.points(players)
        cells.append(f"{points[0] - 1000:+d} {points[-1] - 1000:+d}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--races", type=int, default=6000)
    parser.add_argument("--model", action="append", help="key of a model; repeatable")
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    keys = arguments.model or [key for key in MODELS if key not in DUELS_ONLY]
    many = arguments.races
    with cores(arguments.jobs):
        columns = ["5 % DNF", "14 %", "30 %", "14 %, turnover"]
        print(f"Mean ± spread after {many // 20}, {many // 2} and {many} races\n")
        show(["Model", *columns], spread(closed_world, [(key, many) for key in keys]))
        columns = [
            "100 finishes, quitter",
            "100 wins, weak player",
            "100 last places",
            "Three wins, ring of 10",
        ]
        columns += ["Place after parking", "20 forfeits, then 40 races", "Smurf: races", "Newcomer − twin"]
        print("\nWhat players can try\n")
        show(["Model", *columns], spread(gaming, [(key,) for key in keys]))
        print("\nFirst and last of n newcomers\n")
        show(["Model", *map(str, FIELDS)], spread(fields, [(key,) for key in keys]))


def show(heading: list[str], rows: Iterable[list[str]]) -> None:
    """Print a Markdown table, row by row as results arrive."""
    print(f"| {' | '.join(heading)} |")
    print("|---" * len(heading) + "|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
