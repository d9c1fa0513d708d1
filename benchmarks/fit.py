"""Measure the gain from fitting the default model to a category, on the second half of its races.

The fit is the same as in `racebot fit`.

    python benchmarks/fit.py FILE [FILE ...] [--jobs 2]

Each file is an archive, JSON saved from the site, or CSV. Hundreds of races with large fields take minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from racebot.standings.backfill import read_races
from racebot.study.cores import cores
from racebot.study.fit import fit
from racebot.study.history import History


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    print("| File | Races | Unfitted | Fitted | Difference ± standard error | Kept |")
    print("|---|---|---|---|---|---|")
    for path in arguments.files:
        history = History.of(read_races(path, category="", goal=None))
        with cores(arguments.jobs):
            found = fit(history, "thurstone-hurdle")
        before, after = found.judged.start_pairs, found.judged.tuned_pairs
        print(
            f"| {path.name} | {len(history)} | {before.misordered:.4f} {before.log_loss:.4f} "
            f"| {after.misordered:.4f} {after.log_loss:.4f} "
            f"| {found.judged.difference:+.4f} ± {found.judged.standard_error:.4f} "
            f"| {'yes' if found.kept else 'no'} |",
            flush=True,
        )
        if found.kept:
            values = (f"{name} {found.parameters[name]:g}" for name in found.fitted)
            print(f"\n{', '.join(values)}\n")


if __name__ == "__main__":
    main()
