"""The pauses between retries."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
GROWTH = 1.6


def retry_pauses() -> Iterator[float]:
    """Yield pauses in seconds, growing to five minutes, with a random variation of 50 %.

    The variation keeps rooms that lost their connections together from reconnecting at the same time.
    """
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, protects nothing
        pause = min(pause * GROWTH, LONGEST_PAUSE)
