"""Conversion of races for kernels, and sweeps without Numba."""

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import KernelRace
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle


def test_a_race_is_converted_to_lists() -> None:
    race: tuple[object, ...] = KernelRace.of(Outcome.of([2, 1, 3], day=7.0))
    assert race == ([1, 0, 2], [False] * 3, [2, 0, 1], 7.0, 2, 2, [0, 1, 2], [1, 1, 1])
    assert KernelRace.of(Outcome.of([1, 2], unfinished=1)).clamped == -1
    by_team = KernelRace.of(Outcome.of([2, 2, 1], unfinished=1, team=[7, 7, 3, 4]), by_team=True)
    assert (by_team.group, by_team.unfinished, by_team.worst_first) == (
        [1, 0, 2],
        [False, False, True],
        [0, 1],
    )
    assert (by_team.unit, by_team.sizes) == ([0, 0, 1, 2], [2, 1, 1])


def test_a_diverging_candidate_does_not_affect_others() -> None:
    states = np.array([[[np.nan, 0.0], [0.2, 0.0]], [[0.1, 0.0], [0.2, 0.0]]])
    after = ThurstoneHurdle(width=np.array([1.0, 2.0])).rate(states, Outcome.of([2, 1]))
    assert np.isnan(after[0, :, 0]).any()
    assert np.isfinite(after[1]).all()
