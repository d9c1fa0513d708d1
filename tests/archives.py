"""Invented seasons in the archive format."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any


def archive(races: int, seed: int = 3, year: int = 2025) -> list[dict[str, Any]]:
    """A season of invented races with DNFs, deleted accounts and races that were not recorded."""
    rng = random.Random(seed)
    start = datetime(year, 1, 1, tzinfo=UTC)
    season = []
    for number in range(races):
        field = rng.sample(range(40), rng.randint(2, 9))
        finishers = rng.randint(1, len(field))
        season.append(
            {
                "slug": f"race-{number:04d}",
                "ended_at": (start + timedelta(hours=7 * number)).isoformat(),
                "recorded": rng.random() < 0.9,
                "entrants": [
                    {
                        "user_id": None if rng.random() < 0.02 else f"user{who:012d}",
                        "place": place if place <= finishers else 9999,
                        "score": None,
                        "score_change": None,
                    }
                    for place, who in enumerate(field, start=1)
                ],
            }
        )
    return season
