"""Time `tune` over a whole site's history of invented races, on all cores or on a cluster.

    python benchmarks/tune_size.py [--races 300000] [--jobs 2] [--dask-workers 2]

It tries 128 parameter sets of the default model on the first half of the races, which is one generation of a
search, and judges the best on the second half. With --dask-workers it starts a
local cluster of that many processes. It prints the times, the memory, and the objective with all its digits,
which must not depend on how the work was divided.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from contextlib import ExitStack
from datetime import timedelta
from itertools import accumulate

import distributed
from invented import people, race
from process import peak_mib

from racebot.study.cores import cores
from racebot.study.history import History
from racebot.study.search import Effort
from racebot.study.tuning import tune

PLAYERS = 30_000
SIZES = range(2, 11)


def invented_history(races: int) -> History:
    """Return races of two to ten players, some of whom race far more than others."""
    rng = random.Random(1)
    skill = people(PLAYERS, rng)
    names = list(skill)
    activity = list(accumulate(rng.paretovariate(1.0) for _ in names))
    results = []
    for number in range(races):
        field = dict.fromkeys(rng.choices(names, cum_weights=activity, k=rng.choice(SIZES)))
        if len(field) > 1:
            results.append(race(number, list(field), skill, rng, timedelta(minutes=10)))
    return History.of(results)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--races", type=int, default=300_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--dask-workers", type=int, default=0)
    arguments = parser.parse_args()
    start = time.perf_counter()
    history = invented_history(arguments.races)
    entrants = sum(race.outcome.size for race in history.races)
    print(f"{len(history)} races, {entrants} entrants, {len(history.players)} players")
    print(f"inventing them: {time.perf_counter() - start:.0f} s", flush=True)
    with ExitStack() as stack:
        address = None
        if arguments.dask_workers:
            start_cluster = distributed.LocalCluster
            cluster = stack.enter_context(
                start_cluster(n_workers=arguments.dask_workers, threads_per_worker=1, dashboard_address=None)
            )
            address = cluster.scheduler_address
        start = time.perf_counter()
        with cores(arguments.jobs, address):
            found = tune(history, "thurstone-hurdle", effort=Effort(candidates=128, generations=0))
        seconds, memory = time.perf_counter() - start, peak_mib(os.getpid())
        print(f"tuning: {seconds:.0f} s, {found.evaluations} parameter sets, {memory:.0f} MiB here")
        print(f"objective {found.earlier.tuned!r} on the first half, {found.later.tuned!r} on the second")


if __name__ == "__main__":
    main()
