"""Time replays of a season by each model, and sweeps over parameter sets: the tables in docs/model.md.

    python benchmarks/replay.py FILE [--plain]
    python benchmarks/replay.py FILE --cluster

Prints races per second of processor time, the best of three, also as multiples of the `trueskill` package.
With --plain, or without the extra `racebot[fast]`, nothing is compiled. With --cluster, prints what a search
takes on one worker and on two: by the clock, and processor time of the busiest worker and of the client.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import timeit
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

# Same value as on the command line. numpy reads it on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from large_ledger import Rows, cpu_seconds, usage
from systems import OURS, one_by_one
from trueskill import TrueSkill

from racebot.files.read import read_races
from racebot.ratings import fast, registry
from racebot.ratings.parameters import as_json
from racebot.study.cores import cores
from racebot.study.history import History, replay
from racebot.study.tuning import Effort, dimensions, parameters_at, tune

VARIANTS: list[tuple[str, dict[str, Any]]] = [(key, {}) for key in OURS]
VARIANTS += [("trueskill", {"unfinished": "tie"}), ("plackett-luce", {"unfinished": "independent"})]
REPEATS, CANDIDATES = 3, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--plain", action="store_true", help="do not use compiled kernels")
    parser.add_argument("--cluster", action="store_true", help="time a search on one worker and on two")
    given = parser.parse_args()
    fast.AVAILABLE = fast.AVAILABLE and not given.plain
    fast.LEAST_STARTS = 0
    history = History.of(read_races(given.file, category="", goal=None).results)
    if given.cluster:
        of_cluster(history)
        return
    print(f"{len(history)} races, {len(history.players)} players; races per second, best of {REPEATS}\n")
    environment = TrueSkill()
    peer = partial(one_by_one, environment.create_rating(), tuple, environment.rate)
    package = speed(peer, history)
    print(f"{'':<32}{'races/s':>10}{'trueskill':>11}")
    for key, parameters in VARIANTS:
        model, label = registry.create(key, parameters), ", ".join([key, *parameters.values()])
        many = CANDIDATES * speed(partial(replay, swept(model, CANDIDATES)), history)
        one = speed(partial(replay, model), history)
        for name, value in ((label, one), (f"  sweep of {CANDIDATES}", many)):
            print(f"{name:<32}{value:>10,.0f}{value / package:>10.1f}×", flush=True)


def speed(replayed: Callable[[History], Iterable[object]], history: History) -> float:
    """Return the races that are rated in a second of processor time."""
    timer = timeit.Timer(lambda: deque(replayed(history), 0), timer=time.process_time)
    return len(history) / min(timer.repeat(REPEATS, number=1))


def swept(model: Any, candidates: int) -> Any:
    """Return the model with each searchable number spread over its range, one value per candidate."""
    space = dimensions(model.key, as_json(model))
    rng = np.random.default_rng(1)
    x = np.array([rng.uniform(d.low, d.high, candidates) for d in space])
    return replace(model, **parameters_at(model, space, x))


def of_cluster(history: History) -> None:
    """Print what six generations of a search take on clusters of this machine, the best of three."""
    from distributed import LocalCluster  # noqa: PLC0415 - of an extra

    for workers in (1, 2):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        with cluster, cores(cluster.scheduler_address):
            taken, pids = [], [nanny.pid for nanny in cluster.workers.values()]
            for _ in range(1 + REPEATS):  # the first compiles
                before = [time.perf_counter(), time.process_time(), *map(cpu_seconds, pids)]
                tune(history, registry.DEFAULT_MODEL, effort=Effort(CANDIDATES, 6))
                after = [time.perf_counter(), time.process_time(), *map(cpu_seconds, pids)]
                taken.append(np.subtract(after, before))
        clock, client, *each = np.min(taken[1:], axis=0)
        print(f"{workers} workers: {clock:.1f} s; busiest worker {max(each):.1f} s, client {client:.1f} s")


PROGRAM = """
import os, sys
from racebot.ratings import fast
os.environ["LOKY_MAX_CPU_COUNT"] = "1"
fast.AVAILABLE, fast.LEAST_STARTS = {compiled}, 0
from racebot.__main__ import main
sys.argv = ["racebot", "evaluate", {file!r}]
main()
"""


def of_file(file: Path) -> Rows:
    """Yield what a study of a file takes with the default models, and how fast the default replays it."""
    for name, compiled in (("plain, goal 5 s", False), ("compiled, goal 1 s", True)):
        command = [sys.executable, "-c", PROGRAM.format(file=str(file), compiled=compiled)]
        seconds, peak = min(usage(command) for _ in range(REPEATS if compiled else 1))
        yield f"racebot evaluate, {name}", f"{seconds:.1f} s, {peak:.0f} MiB"
    fast.LEAST_STARTS = 0
    history = History.of(read_races(file, category="", goal=None).results)
    rated = partial(replay, registry.create(registry.DEFAULT_MODEL))
    yield "replay, compiled, goal 10,000 races/s", f"{speed(rated, history):,.0f} races/s"


if __name__ == "__main__":
    main()
