"""Print the table in docs/model.md: every model on several histories, with paired standard errors.

    python benchmarks/compare.py FILE [FILE ...] [--model KEY ...] [--jobs 2]

Each file is an archive, JSON saved from the site, or CSV. Each race is predicted before it is rated, with the
models' defaults. In brackets is the standard error of the difference from the first model, over races, in
units of the last digit. The counts are unfair-looking results: DNFs that gain, last places that gain, winners
that lose, and finishers that would have lost less with a forfeit.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from racebot.ratings.registry import create
from racebot.standings.backfill import read_races
from racebot.study.complaints import Complaints
from racebot.study.cores import cores, spread
from racebot.study.history import History
from racebot.study.objective import Objective
from racebot.study.paired import Tally, standard_error, tallies
from racebot.study.replay import replay

MODELS = (
    "thurstone-hurdle",
    "thurstone-filter",
    "plackett-luce-hurdle",
    "trueskill",
    "plackett-luce",
    "thurstone",
)
WANTED = (Objective.MISORDERED, Objective.LOG_LOSS)


def judge(key: str, history: History) -> tuple[list[Tally], Complaints]:
    """Return both figures of a model per race, and its counts of unfair-looking results."""
    model = create(key)
    complaints = sum((Complaints.of(model, step) for step in replay(model, history)), Complaints())
    return tallies(model, history, WANTED), complaints


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--model", action="append")
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    keys = arguments.model or MODELS
    for path in arguments.files:
        history = History.of(read_races(path, category="", goal=None))
        print(f"\n{path.name}: {len(history)} races, {len(history.players)} players\n")
        print("| Model | Misordered pairs | Log loss | DNF gains, last gains, winner loses, late losses |")
        print("|---|---|---|---|")
        first: list[Tally] = []
        with cores(arguments.jobs):
            for key, (found, counts) in zip(
                keys, spread(judge, [(key, history) for key in keys]), strict=True
            ):
                first = first or found
                cells = [
                    f"{each.mean():.4f}"[1:]
                    + ("" if each is base else f" ({standard_error(base, each) * 1e4:.0f})")
                    for base, each in zip(first, found, strict=True)
                ]
                cells.append(
                    f"{counts.unfinished_gains}, {counts.last_gains}, {counts.winner_losses}, "
                    f"{counts.late_losses}"
                )
                print(f"| `{key}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
