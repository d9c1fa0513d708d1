"""Measure the processor time of commands that need no heavy part, as a multiple of an empty Python program's.

    python benchmarks/start_up.py [--repeat 5]

The ledger holds one small race, so that the figures are those of starting up.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RACE = "race,ended_at,player,place\nfirst,2026-03-01,Ann,1\nfirst,2026-03-01,Bo,2\n"
COMMANDS = (["--help"], ["leaderboard"], ["status"], ["player", "Ann"], ["health"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("RACEBOT_")},
            "RACEBOT_DATABASE": str(Path(folder) / "racebot.db"),
            "PYTHONDONTWRITEBYTECODE": "",  # an installed racebot is compiled
        }
        (Path(folder) / "races.csv").write_text(RACE, encoding="utf-8")
        racebot = [sys.executable, "-m", "racebot"]
        importing = [*racebot, "import", "races.csv", "--category", "cat"]
        subprocess.run(importing, cwd=folder, env=environment, capture_output=True, check=True)
        programs = {"python -c pass": [sys.executable, "-c", "pass"]}
        programs |= {f"racebot {' '.join(words)}": [*racebot, *words] for words in COMMANDS}
        seconds = {
            name: min(_seconds(program, folder, environment) for _ in range(repeat))
            for name, program in programs.items()
        }
    empty = seconds["python -c pass"]
    for name, took in seconds.items():
        print(f"{name:20} {took:5.2f} s {took / empty:5.0f} ×")


def _seconds(program: list[str], folder: str, environment: dict[str, str]) -> float:
    """Return the processor time of a program, including the system's share."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(program, cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
