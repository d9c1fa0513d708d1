"""An invented season of named players, in the format of the site's list of past races."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

PEOPLE = ("Ann", "Bo", "Cleo", "Dov", "Elif", "Finn", "Gus", "Hana", "Ines", "Jun")
"""The best first."""


def past_season(goal: str, races: int, *, seed: int = 9) -> dict[str, Any]:
    """Return one page of the site's list: a race a day, each of four to seven of `PEOPLE`, some with DNFs."""
    rng = random.Random(seed)
    start = datetime(2026, 1, 1, 20, tzinfo=UTC)
    return {"races": [_race(goal, number, start + timedelta(days=number), rng) for number in range(races)]}


def _race(goal: str, number: int, ended_at: datetime, rng: random.Random) -> dict[str, Any]:
    field = sorted(rng.sample(range(len(PEOPLE)), rng.randint(4, 7)))
    return {
        "name": f"smr/past-race-{number:04d}",
        "goal": {"name": goal, "custom": False},
        "ended_at": ended_at.isoformat(),
        "recorded": True,
        "entrants": [
            _entrant(who, gives_up=index > 0 and rng.random() < 0.15, rng=rng)
            for index, who in enumerate(field)
        ],
    }


def _entrant(who: int, *, gives_up: bool, rng: random.Random) -> dict[str, Any]:
    seconds = 4800 + 150 * who + abs(rng.gauss(0, 400))
    return {
        "user": {"id": f"user{who:012d}", "name": PEOPLE[who]},
        "status": {"value": "dnf" if gives_up else "done"},
        "finish_time": None if gives_up else f"P0DT00H00M{seconds:.6f}S",
    }
