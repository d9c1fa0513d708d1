"""Fuzz every parser of outside data for as long as you like.

    python tests/fuzz/run.py --seconds 60              # each target for a minute, two at a time
    python tests/fuzz/run.py --seconds 600 life shown  # these two for ten minutes each

Prints for each target how many inputs were tried, how many of them led somewhere new in the code, and how
many paths are known at the end. With `atheris` installed the search is guided by coverage; without it the
inputs are drawn at random and nothing is counted but them. An input that breaks the rule is kept as a file
and named, with its traceback; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST_INPUT = 4_096


def main() -> int:
    names = known_targets()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(names))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument(
        "--finds", type=Path, default=Path("fuzz-finds"), help="folder for inputs that break it"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = set(given.targets) - set(names)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if given.inside:
        return try_here(given.targets[0], given.seconds, given.seed, given.finds)
    given.finds.mkdir(parents=True, exist_ok=True)
    print(f"{'target':<15}{'inputs':>12}{'new paths':>12}{'edges':>8}", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        jobs = [(name, given.seconds, given.seed, given.finds) for name in given.targets or names]
        results = list(pool.map(lambda job: in_a_process(*job), jobs))
    print(f"{'all':<15}{sum(count for count, _ in results):>12,}")
    return 0 if all(good for _, good in results) else 1


def known_targets() -> list[str]:
    """Return the targets' names without importing them: Atheris instruments only later imports."""
    listed = (HERE / "targets.py").read_text(encoding="utf-8").partition("\nTARGETS = {")[2]
    return re.findall(r'^    "([a-z-]+)": Target\(', listed, re.MULTILINE)


def in_a_process(name: str, seconds: int, seed: int, finds: Path) -> tuple[int, bool]:
    """Run one target in its own process, because a fuzzer ends its process."""
    arguments = [name, "--seconds", str(seconds), "--seed", str(seed), "--finds", str(finds), "--inside"]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    told = done.stdout + done.stderr
    counted = [int(word) for word in re.findall(r"(?:^#|Done )(\d+)", told, re.MULTILINE)]
    count, edges = max(counted, default=0), re.findall(r"cov: (\d+)", told)
    new = len(re.findall(r"^#\d+\s+NEW", told, re.MULTILINE))
    good = done.returncode == 0
    print(f"{name:<15}{count:>12,}{new:>12,}{edges[-1] if edges else '-':>8}", flush=True)
    if not good:
        lines = [line[:300] for line in told.splitlines() if not line.startswith("INFO: ")]
        print("\n".join(lines[-40:]), flush=True)
    return count, good


def try_here(name: str, seconds: int, seed: int, finds: Path) -> int:
    sys.path.insert(0, str(HERE.parent))
    logging.disable()
    if importlib.util.find_spec("atheris") is None:
        return at_random(name, seconds, seed, finds)
    return guided(name, seconds, seed, finds)


def guided(name: str, seconds: int, seed: int, finds: Path) -> int:
    import atheris  # noqa: PLC0415 - optional

    with atheris.instrument_imports(include=["racebot", "dotenv", "tomllib", "email"]):
        from fuzz.targets import TARGETS  # noqa: PLC0415 - watched from here on
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as corpus:
        rng = random.Random(seed)
        for number, start in enumerate((*target.seeds, *(rng.randbytes(80) for _ in range(50)))):
            Path(corpus, str(number)).write_bytes(start)
        options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST_INPUT}", "-timeout=20"]
        options += ["-rss_limit_mb=2048", f"-artifact_prefix={finds}/{name}-", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, corpus], target.check)
        atheris.Fuzz()
    return 0


def at_random(name: str, seconds: int, seed: int, finds: Path) -> int:
    from fuzz.targets import TARGETS  # noqa: PLC0415 - the path is set by now

    target = TARGETS[name]
    count = 0
    for count, data in enumerate(inputs(target.seeds, random.Random(seed)), start=1):
        if count == 1:
            end = time.monotonic() + seconds
        try:
            target.check(data)
        except BaseException:
            find = finds / f"{name}-{count}"
            find.write_bytes(data)
            print(f"Done {count}: {find}", flush=True)
            raise
        if time.monotonic() > end:
            break
    print(f"Done {count}")
    return 0


def inputs(seeds: tuple[bytes, ...], rng: random.Random) -> Iterator[bytes]:
    yield from seeds
    while True:
        yield rng.randbytes(rng.randrange(160))


if __name__ == "__main__":
    sys.exit(main())
