"""Fuzz every parser of outside data for as long as you like.

    python tests/fuzz/run.py --seconds 60              # each target for a minute
    python tests/fuzz/run.py --seconds 600 life shown  # these two for ten minutes each

With `atheris` installed the search is guided by coverage; without it the inputs are drawn at random. An input
that breaks the rule is kept as a file in `fuzz-finds` and named, with its traceback; the exit code is then 1.
"""

import argparse
import importlib.util
import logging
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FINDS = Path("fuzz-finds")
LONGEST_INPUT = 4_096


def main() -> int:
    # Without importing the targets: Atheris instruments only later imports.
    listed = (HERE / "targets.py").read_text(encoding="utf-8").partition("\nTARGETS = {")[2]
    names = re.findall(r'^    "([a-z-]+)": Target\(', listed, re.MULTILINE)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(names))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if unknown := set(given.targets) - set(names):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    FINDS.mkdir(parents=True, exist_ok=True)
    if len(given.targets) == 1:
        sys.path.insert(0, str(HERE.parent))
        logging.disable()
        fuzz = at_random if importlib.util.find_spec("atheris") is None else guided
        fuzz(given.targets[0], given.seconds, given.seed)
        return 0
    # One process each, because Atheris ends its process.
    options = ["--seconds", str(given.seconds), "--seed", str(given.seed)]
    chosen = given.targets or names
    runs = [subprocess.run([sys.executable, __file__, name, *options], check=False) for name in chosen]
    return int(any(run.returncode for run in runs))


def guided(name: str, seconds: int, seed: int) -> None:
    import atheris  # noqa: PLC0415 - optional

    with atheris.instrument_imports(include=["racebot", "dotenv", "tomllib", "email"]):
        from fuzz.targets import TARGETS  # noqa: PLC0415 - watched from here on
    target, rng = TARGETS[name], random.Random(seed)
    with tempfile.TemporaryDirectory() as corpus:
        for number, start in enumerate((*target.seeds, *(rng.randbytes(80) for _ in range(50)))):
            Path(corpus, str(number)).write_bytes(start)
        options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST_INPUT}", "-timeout=20"]
        options += ["-rss_limit_mb=2048", f"-artifact_prefix={FINDS}/{name}-", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, corpus], target.check)
        atheris.Fuzz()


def at_random(name: str, seconds: int, seed: int) -> None:
    from fuzz.targets import TARGETS  # noqa: PLC0415 - the path is set by now

    target, rng = TARGETS[name], random.Random(seed)
    count, waiting, end = 0, list(target.seeds), time.monotonic() + seconds
    while count == 0 or time.monotonic() < end:
        data = waiting.pop() if waiting else rng.randbytes(rng.randrange(160))
        count += 1
        try:
            target.check(data)
        except BaseException:
            find = FINDS / f"{name}-{count}"
            find.write_bytes(data)
            print(f"{name}: {find}", flush=True)
            raise
    print(f"{name}: {count:,} inputs")


if __name__ == "__main__":
    sys.exit(main())
