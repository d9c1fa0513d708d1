"""Check the reasons for every change of an archive, for each model, and time the explanation of a large race.

    python benchmarks/reasons.py [FILE] [--models KEY …]

FILE is an archive or JSON saved from the site; without one, races are invented. For each model, prints the
number of changes, how many moved 3 points or more for the place, how many have a first reason that
contradicts the place part, how many differ from the sum of their parts, how many are explained as "about as
expected", and how many of these moved 3 points or more for the place.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from invented import people, race

from racebot.ledger.rows import Leaderboard
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.parameters import as_json
from racebot.standings.backfill import read_races
from racebot.standings.explain import Explanation, explain_race
from racebot.standings.rater import Rater

NOTABLE = 3
"""Least change for the place, in points, that needs a reason."""
TWO_PLAYERS = {"elo-exponential", "elo-gaussian"}
"""Models that only rate two-player races."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--models", nargs="+", default=sorted(set(registry.MODELS) - TWO_PLAYERS))
    arguments = parser.parse_args()
    results = read_races(arguments.file, category="", goal=None) if arguments.file else invented(400)
    results = sorted(results, key=lambda result: (result.ended_at, result.name))
    headings = ("changes", "notable", "contradicted", "wrong sum", "as expected", "of notable")
    print(f"{len(results)} races\n{'model':24}" + "".join(f"{heading:>14}" for heading in headings))
    for key in arguments.models:
        counts = examine(key, results)
        print(f"{key:24}" + "".join(f"{counts[heading]:>14,}" for heading in headings), flush=True)
    print(f"\na race of 200 explained by the default model: {large_race_seconds() * 1000:.1f} ms, best of 5")


def examine(key: str, results: Sequence[RaceResult]) -> Counter[str]:
    """Count properties of the reasons for every change of a model."""
    counts: Counter[str] = Counter()
    rater = tally_of(key)
    for result in results:
        changes = rater.rate(result).changes
        if not changes:
            continue
        explained = explain_race(rater.model, TeamPolicy.INDIVIDUAL, result, changes)
        for _, explanation in explained.values():
            notable = explanation.compares and abs(explanation.place_points) >= NOTABLE
            counts["changes"] += 1
            counts["notable"] += notable
            counts["contradicted"] += contradicts(explanation)
            counts["wrong sum"] += not adds_up(explanation)
            counts["as expected"] += explanation.as_expected
            counts["of notable"] += explanation.as_expected and notable
    return counts


def contradicts(explanation: Explanation) -> bool:
    """Return True if the first reason has the opposite sign of the place part."""
    return any(each.places * explanation.place_points <= 0 for each in explanation.pushed)


def adds_up(explanation: Explanation) -> bool:
    """Return True if the parts sum to the change."""
    finish = explanation.finish_points or 0
    return finish + explanation.place_points + explanation.limit_points == explanation.change


def large_race_seconds(entrants: int = 200) -> float:
    """Return the time to explain a race of experienced players, best of five."""
    rng = random.Random(1)
    skill = people(entrants, rng)
    rater = tally_of("thurstone-hurdle")
    rater.rate(race(1, list(skill), skill, rng))
    result = race(2, list(skill), skill, rng)
    changes = rater.rate(result).changes
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        explain_race(rater.model, TeamPolicy.INDIVIDUAL, result, changes)
        best = min(best, time.perf_counter() - begun)
    return best


def tally_of(key: str) -> Rater:
    """Return an empty leaderboard of a model with default parameters."""
    parameters = as_json(registry.create(key))
    return Rater(Leaderboard("bench", "All", ("All",), key, parameters, TeamPolicy.INDIVIDUAL.value))


def invented(races: int) -> list[RaceResult]:
    """Return races with 2 to 20 of 100 players."""
    rng = random.Random(1)
    skill = people(100, rng)
    return [race(n, rng.sample(sorted(skill), rng.randint(2, 20)), skill, rng) for n in range(races)]


if __name__ == "__main__":
    main()
