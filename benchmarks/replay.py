"""Time replays of a season by each model, and sweeps over parameter sets: the tables in docs/model.md.

    python benchmarks/replay.py FILE [--plain]
    python benchmarks/replay.py FILE --command evaluate
    python benchmarks/replay.py --crowd 2000 --command rate

Prints races per second of processor time, the best of three, also as multiples of the `trueskill` package.
With --plain, or without the extra `racebot[fast]`, nothing is compiled.
--command measures `racebot COMMAND FILE` instead; --crowd makes a file of 20 races of so many entrants.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import timeit
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Same value as on the command line. numpy reads it on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from systems import OURS, one_by_one
from trueskill import TrueSkill

from racebot.files.read import read_races
from racebot.ratings import fast, registry
from racebot.ratings.parameters import as_json
from racebot.study.history import History, replay
from racebot.study.tuning import dimensions, parameters_at

VARIANTS: list[tuple[str, dict[str, Any]]] = [(key, {}) for key in OURS]
VARIANTS += [("trueskill", {"unfinished": "tie"}), ("plackett-luce", {"unfinished": "independent"})]
REPEATS, CANDIDATES, RACES = 3, 256, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--plain", action="store_true", help="do not use compiled kernels")
    parser.add_argument("--command", choices=["evaluate", "rate"])
    parser.add_argument("--crowd", type=int, help="entrants of each race")
    given = parser.parse_args()
    if given.command:
        with TemporaryDirectory() as folder:
            commands(given.command, crowd(given.crowd, Path(folder)) if given.crowd else given.file)
        return
    fast.AVAILABLE = fast.AVAILABLE and not given.plain
    fast.LEAST_STARTS = 0
    history = History.of(read_races(given.file, category="", goal=None).results)
    races = len(history)
    print(f"{races} races, {len(history.players)} players; races per second, best of {REPEATS}\n")

    def speed(work: Callable[[], object]) -> float:
        return races / min(timeit.repeat(work, time.process_time, number=1, repeat=REPEATS))

    environment = TrueSkill()
    peer = partial(one_by_one, environment.create_rating(), tuple, environment.rate)
    package = speed(partial(_exhaust, peer, history))
    print(f"{'':<32}{'races/s':>10}{'trueskill':>11}")
    for key, parameters in VARIANTS:
        model, label = registry.create(key, parameters), ", ".join([key, *parameters.values()])
        many = swept(model, CANDIDATES)
        alone = speed(partial(_exhaust, replay, model, history))
        sweep = CANDIDATES * speed(partial(_exhaust, replay, many, history))
        for name, value in ((label, alone), (f"  sweep of {CANDIDATES}", sweep)):
            print(f"{name:<32}{value:>10,.0f}{value / package:>10.1f}×", flush=True)


def _exhaust(replayed: Callable[..., Iterable[object]], *arguments: object) -> None:
    deque(replayed(*arguments), 0)


def swept(model: Any, candidates: int) -> Any:
    """Return the model with each searchable number spread over its range, one value per candidate."""
    space = dimensions(model.key, as_json(model))
    rng = np.random.default_rng(1)
    x = np.array([rng.uniform(d.low, d.high, candidates) for d in space])
    return replace(model, **parameters_at(model, space, x))


PROGRAM = """
import os, sys
from racebot.ratings import fast
os.environ["LOKY_MAX_CPU_COUNT"] = "1"
fast.AVAILABLE = {compiled}
from racebot.__main__ import main
sys.argv = ["racebot", {command!r}, {file!r}]
main()
"""


def commands(command: str, file: Path) -> None:
    """Print what a command takes with its default models."""
    for compiled in (False, True):
        program = PROGRAM.format(command=command, file=str(file), compiled=compiled)
        seconds, peak = min(usage(program) for _ in range(REPEATS if compiled else 1))
        print(f"{file.name:<40}{'compiled' if compiled else 'plain':<12}{seconds:>6.1f} s{peak:>6.0f} MiB")


def crowd(entrants: int, folder: Path) -> Path:
    """Write races that everybody enters, with ties of three, and in which the last fifth does not finish."""
    rng, file = np.random.default_rng(1), folder / "crowd.csv"
    skill, places = rng.normal(size=entrants), [f"{i // 3 + 1}" for i in range(entrants * 4 // 5)]
    places += ["DNF"] * (entrants - len(places))
    orders = (np.argsort(rng.normal(skill)).tolist() for _ in range(RACES))
    rows = [
        f"{n},{p},{place}" for n, order in enumerate(orders) for p, place in zip(order, places, strict=True)
    ]
    file.write_text("\n".join(["race,player,place", *rows]))
    return file


def usage(program: str) -> tuple[float, float]:
    """Return the processor time in seconds, and the peak memory in MiB, of a Python program."""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, program
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
