"""A season of invented races, long enough for ratings to settle."""

import numpy as np
import pytest
from builders import result

from racebot.study.history import History

NAMES = ["ann", "bo", "cy", "di", "ed", "fay", "gus", "hal", "ida", "jo", "kim", "lee"]


def seasonal_results(races: int, seed: int = 1):
    """Return races among twelve players of falling skill. Weaker players give up more often."""
    rng = np.random.default_rng(seed)
    for number in range(races):
        entrants = rng.permutation(len(NAMES))[: rng.integers(2, 8)]
        time = entrants + rng.normal(0, 3, entrants.size)
        order = entrants[np.argsort(time)]
        gave_up = rng.random(entrants.size) < 0.03 * order
        finishers = [NAMES[i] for i, out in zip(order, gave_up, strict=True) if not out]
        dnf = [NAMES[i] for i, out in zip(order, gave_up, strict=True) if out]
        yield result(f"race-{number}", " ".join(finishers), dnf=" ".join(dnf), after=24 * number)


@pytest.fixture(scope="session")
def season() -> History:
    return History.of(seasonal_results(150))
