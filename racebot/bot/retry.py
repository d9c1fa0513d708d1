"""How long to wait between retries."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
GROWTH = 1.6


def retry_pauses() -> Iterator[float]:
    """Yield pauses in seconds, growing to five minutes and varied by half either way.

    The variation keeps rooms that were lost together from returning together.
    """
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, protects nothing
        pause = min(pause * GROWTH, LONGEST_PAUSE)
