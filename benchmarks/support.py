"""Invented races, and the resource usage of processes, for the benchmarks. Linux only."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET

CATEGORY = "bench"
GOAL = "Everything"
START = datetime(2022, 1, 1, tzinfo=UTC)


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


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    return _status(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    """Return the peak resident memory of a process, in MiB, or 0 if it has ended."""
    return _status(pid, "VmHWM")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, in seconds over all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), 0.0)
