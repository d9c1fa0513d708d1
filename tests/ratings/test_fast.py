"""Compiled replays against plain ones."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings import fast
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.models.plackett_luce_hurdle import PlackettLuceHurdle
from racebot.ratings.models.thurstone_filter import ThurstoneFilter
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle

pytestmark = pytest.mark.skipif(not fast.AVAILABLE, reason="needs the extra racebot[fast]")

LEVELS = np.linspace(-0.5, 2.0, 17)
MODELS: dict[str, tuple[RatingModel, list[RatingModel]]] = {
    "thurstone-hurdle": (
        ThurstoneHurdle(level=LEVELS, yearly_drift=0.5),
        [ThurstoneHurdle(level=float(level), yearly_drift=0.5) for level in LEVELS],
    ),
    "thurstone-filter": (
        ThurstoneFilter(level=LEVELS, spare_finishers=True),
        [ThurstoneFilter(level=float(level), spare_finishers=True) for level in LEVELS],
    ),
    "plackett-luce-hurdle": (
        PlackettLuceHurdle(level=LEVELS),
        [PlackettLuceHurdle(level=float(level)) for level in LEVELS],
    ),
}


@dataclass(frozen=True)
class Race:
    players: IntArray
    outcome: Outcome


def season(races: int = 150) -> list[Race]:
    """Races of 2 to 12 of 15 players, some with equal times, some surprising, some with DNFs."""
    random = np.random.default_rng(3)
    found = []
    for number in range(races):
        size = int(random.integers(2, 13))
        players = random.permutation(15)[:size]
        places = (players if number % 3 else random.permutation(size)).tolist()
        if number % 10 == 0:
            places = [place // 2 for place in places]
        unfinished = int(random.integers(0, 3)) if size > 4 else 0
        outcome = Outcome.of(places[: size - unfinished], unfinished=unfinished, day=20_000.0 + 9 * number)
        if outcome.rateable:
            found.append(Race(players, outcome))
    return found


def table(model: RatingModel, players: int = 15) -> FloatArray:
    initial = model.initial()
    shape = (*initial.shape[:-1], players, initial.shape[-1])
    return np.array(np.broadcast_to(initial[..., np.newaxis, :], shape), order="C")


def plain(model: RatingModel, races: list[Race]) -> FloatArray:
    states = table(model)
    for race in races:
        states[race.players] = model.rate(states[race.players], race.outcome)
    return states


SLOW_TO_COMPILE = {"thurstone-hurdle", "thurstone-filter"}


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=pytest.mark.long) if key in SLOW_TO_COMPILE else key for key in MODELS]
)
def test_compiled_replays_are_as_plain_ones(key: str) -> None:
    """One parameter set, and many that the cores share; within the error of the integrals."""
    sweep, alone = MODELS[key]
    races = season()
    together = table(sweep)
    steps = list(fast.replay(sweep, races, together))
    assert [step[0].shape for step in steps] == [
        (LEVELS.size, race.outcome.size, together.shape[-1]) for race in races
    ]
    np.testing.assert_array_equal(together[:, races[-1].players], steps[-1][1])
    for i in (0, 9):
        states = table(alone[i])
        list(fast.replay(alone[i], races, states))
        np.testing.assert_allclose(states, plain(alone[i], races), rtol=0, atol=2e-4)
        np.testing.assert_allclose(together[i], states, rtol=0, atol=1e-9)


def test_a_very_surprising_order_is_compiled_too() -> None:
    """Ratings so far apart that the fast integrals fail, in the order of the weakest."""
    model = ThurstoneHurdle()
    outcome = Outcome.of([3, 2, 1, 4])
    states = np.array([[14.0, 3.0], [5.0, 0.0], [-9.0, 1.0], [2.0, 40.0]])
    expected = model.rate(states, outcome)
    list(fast.replay(model, [Race(np.arange(4), outcome)], states))
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-4)


def test_numba_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, racebot.ratings.fast, racebot.ratings.registry; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
