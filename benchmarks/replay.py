"""Time one replay of a season by each model, and sweeps over parameter sets: the tables in docs/model.md.

    python benchmarks/replay.py FILE [--repeats 3] [--candidates 256] [--plain] [--processor-time]
    python benchmarks/replay.py FILE --evaluate

FILE is an archive or JSON saved from the site. All runs share one process; the best of the repeats counts.
Prints speeds as multiples of one replay by the `trueskill` package (its default backend). With `--plain`, or
without the extra `racebot[fast]`, nothing is compiled. On a busy machine, --processor-time measures processor
time instead, and divides that of compiled sweeps by the number of cores.

--evaluate measures `racebot evaluate FILE` instead.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

# Same value as on the command line. numpy reads it on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from systems import one_by_one
from trueskill import TrueSkill

from racebot.files.read import read_races
from racebot.ratings import fast, registry
from racebot.ratings.parameters import as_json
from racebot.study.history import History, replay
from racebot.study.paired import Objective, tallies
from racebot.study.tuning import dimensions, parameters_at

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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=256)
    parser.add_argument("--plain", action="store_true", help="do not use compiled kernels")
    parser.add_argument("--processor-time", action="store_true", help="ignore time spent waiting")
    parser.add_argument("--evaluate", action="store_true", help="measure `racebot evaluate`")
    arguments = parser.parse_args()
    if arguments.evaluate:
        evaluations(arguments.file, arguments.repeats)
        return
    clock = time.process_time if arguments.processor_time else time.perf_counter
    fast.AVAILABLE = fast.AVAILABLE and not arguments.plain
    fast.LEAST_STARTS = 0
    history = History.of(read_races(arguments.file, category="", goal=None).results)
    races = len(history)
    print(f"{races} races, {len(history.players)} players; races per second, best of {arguments.repeats}\n")

    def speed(work: Callable[[], object]) -> float:
        best = math.inf
        for _ in range(arguments.repeats):
            start = clock()
            work()
            best = min(best, clock() - start)
        return races / best

    environment = TrueSkill()
    peer = partial(one_by_one, environment.create_rating(), tuple, environment.rate)
    package = speed(partial(_exhaust, peer, history))
    print(f"{'':<32}{'races/s':>10}{'trueskill':>11}")
    for label, key, parameters in REPLAYED:
        model = registry.create(key, parameters)
        many = swept(model, arguments.candidates)
        shared = arguments.processor_time and fast.compiles(many)
        sets = arguments.candidates * (os.cpu_count() or 1 if shared else 1)
        alone = speed(partial(_exhaust, replay, model, history))
        sweep = sets * speed(partial(tallies, many, history, [Objective.MISORDERED]))
        for name, value in ((label, alone), (f"  sweep of {arguments.candidates}", sweep)):
            print(f"{name:<32}{value:>10,.0f}{value / package:>10.1f}×", flush=True)


def _exhaust(replayed: Callable[..., Iterable[object]], *arguments: object) -> None:
    deque(replayed(*arguments), 0)


def swept(model: Any, candidates: int) -> Any:
    """Return the model with each searchable number spread over its range, one value per candidate."""
    space = dimensions(model.key, as_json(model))
    rng = np.random.default_rng(1)
    x = np.array([rng.uniform(d.low, d.high, candidates) for d in space])
    return replace(model, **parameters_at(model, space, x))


EVALUATE = """
import os, sys
from racebot.ratings import fast
os.environ["LOKY_MAX_CPU_COUNT"] = "1"
fast.AVAILABLE = {compiled}
from racebot.__main__ import main
sys.argv = ["racebot", "evaluate", {file!r}]
main()
"""


def evaluations(file: Path, repeats: int) -> None:
    """Print what `racebot evaluate` takes with its default models."""
    for compiled in (False, True):
        program = EVALUATE.format(file=str(file), compiled=compiled)
        seconds, peak = min(usage(program) for _ in range(repeats if compiled else 1))
        print(f"{file.name:<40}{'compiled' if compiled else 'plain':<12}{seconds:>6.1f} s{peak:>6.0f} MiB")


def usage(program: str) -> tuple[float, float]:
    """Return the processor time in seconds, and the peak memory in MiB, of a Python program."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", program], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    assert status == 0, program
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
