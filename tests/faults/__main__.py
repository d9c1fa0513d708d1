"""Run the fault harness from the command line: `PYTHONPATH=tests:. python -m faults --seed 1 --races 200`."""

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from .harness import Plan, Run, WrongError


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one run for each")
    parser.add_argument("--races", type=int, default=200)
    parser.add_argument("--acts", type=int, default=7)
    parser.add_argument("--act-seconds", type=float, default=10.0)
    parser.add_argument("--severity", type=int, default=12, help="faults in each act; 0 for none")
    parser.add_argument("--kills", type=int, default=0, help="kills of the worker over the whole run")
    parser.add_argument("--folder", type=Path, help="keep the database and all output here")
    given = parser.parse_args()
    # A server that is stopped in the middle of its work logs errors.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    failed = False
    for seed in given.seed:
        plan = Plan(seed, given.races, given.acts, given.act_seconds, given.severity, given.kills)
        with tempfile.TemporaryDirectory() as scrap:
            folder = (given.folder or Path(scrap)) / f"seed-{seed}"
            folder.mkdir(parents=True)
            run = Run(plan, folder)
            try:
                asyncio.run(run.perform())
            except WrongError as error:
                failed = True
                print(f"seed {seed}: WRONG\n{error}")
            else:
                print(f"seed {seed}: everything right")
            for line in run.report.lines():
                print(f"  {line}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
