"""Invent races, for benchmarks that need more races than any category has."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from racebot.races.result import Entrant, EntrantStatus, RaceResult

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
