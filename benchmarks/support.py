"""Invented races, rated ledgers, and the resource usage of processes, for the benchmarks. Linux only."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from racebot.ledger.store import Ledger
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.ratings.registry import DEFAULT_MODEL
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler

CATEGORY = "bench"
GOAL = "Everything"
START = datetime(2022, 1, 1, tzinfo=UTC)
RULES = RatingRules(LeaderboardConfig(DEFAULT_MODEL))
AT_ONCE = 2500
"""Races per transaction while building a ledger."""


def people(count: int, rng: random.Random) -> dict[str, float]:
    """Return the ids of this many players, each with a skill."""
    return {f"player-{number:05d}": rng.gauss(0, 1) for number in range(count)}


def race(
    number: int,
    field: Sequence[str],
    skill: Mapping[str, float],
    rng: random.Random,
    every: timedelta = timedelta(hours=2),
) -> RaceResult:
    """Return a recorded race. One in seven entrants forfeits; the rest have finish times."""
    entrants = []
    for player in field:
        done = rng.random() < 0.85
        minutes = 90 - 8 * (skill[player] + rng.gauss(0, 1))
        entrants.append(
            Entrant(
                user_id=player,
                name=f"Racer {player.removeprefix('player-')}",
                status=EntrantStatus.DONE if done else EntrantStatus.DNF,
                finish_time=round(minutes * 60e6) if done else None,
            )
        )
    return RaceResult(
        name=f"{CATEGORY}/race-{number:06d}",
        category=CATEGORY,
        goal=GOAL,
        ended_at=START + number * every,
        entrants=tuple(entrants),
        recorded=True,
    )


def rate(database: Path, races: Iterable[RaceResult]) -> None:
    """Add past races to a ledger, and rate them."""
    with Ledger.open(database) as ledger:
        settler, results = Settler(ledger, RULES), iter(races)
        while batch := list(islice(results, AT_ONCE)):
            settler.add_past_races(batch, "import")
        carry_out_rebuilds(ledger)


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Run a command of racebot that serves in a separate process, and yield the address that it prints."""
    command = [sys.executable, "-m", "racebot", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://[^/\s]+", process.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            process.terminate()


def environment(site: str, database: Path, **more: str) -> dict[str, str]:
    """Return the environment of a `racebot` beside a sandbox, without any setting of the user."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RACEBOT_")},
        "RACEBOT_SITE": site,
        "RACEBOT_CATEGORY": CATEGORY,
        "RACEBOT_CLIENT_ID": CLIENT_ID,
        "RACEBOT_CLIENT_SECRET": CLIENT_SECRET,
        "RACEBOT_DATABASE": str(database),
        "RACEBOT_LOG_LEVEL": "warning",
        **more,
    }


def peak_mib(pid: int) -> float:
    """Return the peak resident memory of a process, in MiB, or 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, in seconds over all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
