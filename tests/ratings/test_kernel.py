"""Compiled replays agree with plain ones, and races are converted for kernels."""

import sys
from typing import Any

import numpy as np
import pytest
from builders import NOON

from racebot.races.outcome import Outcome
from racebot.ratings import fast
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.registry import MODELS

compiles = pytest.mark.long
"""Kernels take half a minute to compile. CI compiles them in a separate step."""

LEVELS = np.linspace(0.5, 2.0, 17)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "plackett-luce": ("initial_rating", {}),
    "plackett-luce, reversed": ("initial_rating", {"orientation": "reversed"}),
    "plackett-luce, independent": ("initial_rating", {"unfinished": "independent", "dummy": None}),
    "plackett-luce-hurdle": ("level", {}),
    "thurstone-filter": ("level", {"spare_finishers": True}),
    "trueskill": ("sigma", {}),
    "trueskill, tie": ("sigma", {"unfinished": "tie"}),
    "thurstone-hurdle": ("level", {"yearly_drift": 0.5}),
}
"""For each variant: the parameter that the sweep varies, and the other parameters."""


def season(races: int = 150) -> list[PastRace]:
    """Return races of 2 to 12 of 15 players, some with equal times, upsets or DNFs, and one of 75."""
    random = np.random.default_rng(3)
    many = Outcome.of([place // 3 for place in range(70)], unfinished=5, day=20_000.0)
    found = [PastRace("", NOON, np.arange(75), many)]
    for number in range(races):
        size = int(random.integers(2, 13))
        players = random.permutation(15)[:size]
        places = (players if number % 3 else random.permutation(size)).tolist()
        if number % 10 == 0:
            places = [place // 2 for place in places]
        unfinished = int(random.integers(0, 3)) if size > 4 else 0
        outcome = Outcome.of(places[: size - unfinished], unfinished=unfinished, day=20_000.0 + 9 * number)
        if outcome.rateable:
            found.append(PastRace("", NOON, players, outcome))
    return found


def table(model: RatingModel, players: int = 75) -> FloatArray:
    initial = model.initial()
    shape = (*initial.shape[:-1], players, initial.shape[-1])
    return np.array(np.broadcast_to(initial[..., np.newaxis, :], shape), order="C")


def plain(model: RatingModel, races: list[PastRace]) -> FloatArray:
    states = table(model)
    for race in races:
        states[race.players] = model.rate(states[race.players], race.outcome)
    return states


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels, which other tests do not."""
    pytest.importorskip("numba", reason="needs the extra racebot[fast]")
    monkeypatch.setattr(fast, "AVAILABLE", True)
    monkeypatch.setattr(fast, "LEAST_STARTS", 0)


@compiles
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", VARIANTS)
def test_compiled_replays_agree_with_plain_ones(name: str) -> None:
    """One parameter set, and many that the cores share; within the error of the integrals."""
    varied, others = VARIANTS[name]
    key = name.partition(",")[0]
    sweep, races = MODELS[key](**{varied: LEVELS}, **others), season()
    together = table(sweep)
    steps = list(fast.replay(sweep, races, together))
    assert [step[0].shape for step in steps] == [
        (LEVELS.size, race.outcome.size, together.shape[-1]) for race in races
    ]
    np.testing.assert_array_equal(together[:, races[-1].players], steps[-1][1])
    for i in (0, 9):
        alone = MODELS[key](**{varied: float(LEVELS[i])}, **others)
        states = table(alone)
        list(fast.replay(alone, races, states))
        np.testing.assert_allclose(states, plain(alone, races), rtol=0, atol=2e-4)
        np.testing.assert_allclose(together[i], states, rtol=0, atol=1e-9)


@compiles
@pytest.mark.usefixtures("compiled")
def test_candidates_that_diverge_do_not_affect_others() -> None:
    levels = np.where(np.arange(LEVELS.size) == 3, np.nan, LEVELS)
    sweep, races = ThurstoneHurdle(level=levels), season(40)
    states = table(sweep)
    list(fast.replay(sweep, races, states))
    assert np.isnan(states[3]).any()
    alone = ThurstoneHurdle(level=float(levels[4]))
    np.testing.assert_allclose(states[4], plain(alone, races), rtol=0, atol=2e-4)


@compiles
@pytest.mark.usefixtures("compiled")
def test_compiled_code_integrates_a_very_surprising_order() -> None:
    """The ratings are so far apart that plain Python needs logarithms, and the weakest come first."""
    model = ThurstoneHurdle()
    outcome = Outcome.of([3, 2, 1, 4])
    states = np.array([[14.0, 3.0], [5.0, 0.0], [-9.0, 1.0], [2.0, 40.0]])
    expected = model.rate(states, outcome)
    list(fast.replay(model, [PastRace("", NOON, np.arange(4), outcome)], states))
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-4)


def test_one_replay_of_a_short_history_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "AVAILABLE", True)
    monkeypatch.setitem(sys.modules, "racebot.ratings.compiled", None)  # importing it fails
    model, races = ThurstoneHurdle(), season(40)
    states = table(model)
    list(fast.replay(model, races, states))
    np.testing.assert_array_equal(states, plain(model, races))


def test_a_diverging_candidate_does_not_affect_others() -> None:
    states = np.array([[[np.nan, 0.0], [0.2, 0.0]], [[0.1, 0.0], [0.2, 0.0]]])
    after = ThurstoneHurdle(width=np.array([1.0, 2.0])).rate(states, Outcome.of([2, 1]))
    assert np.isnan(after[0, :, 0]).any()
    assert np.isfinite(after[1]).all()
