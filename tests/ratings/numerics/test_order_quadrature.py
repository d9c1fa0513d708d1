"""The linear-time quadrature agrees with the general recursion and with closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import ndtr

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_quadrature import order_moments
from racebot.ratings.numerics.order_recursion import gaussian_moments
from racebot.ratings.ranking import Groups


def general(means: FloatArray, scales: FloatArray, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return the moments by the general recursion, for performances that are listed worst first."""
    return gaussian_moments(means, Groups(np.array(places)), scales)


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
@pytest.mark.parametrize(
    "places",
    [
        [1, 0],
        [2, 1, 0],
        list(range(25))[::-1],
        [2, 1, 1, 0],
        [2, 1, 0, 0],
        [2, 2, 1, 0],
        [2, 1, 1, 1, 0],
        [1, 1, 0, 0],
    ],
    ids=str,
)
def test_moments_agree_with_the_general_recursion(places: list[int], spread: float) -> None:
    n = len(places)
    random = np.random.default_rng([n, int(spread)])
    means, scales = random.normal(0.0, spread, n), np.sqrt(1.0 + random.choice([0.05, 2.5], n))
    *moments, sound = order_moments(means.tolist(), scales.tolist(), places)
    assert sound
    np.testing.assert_allclose(moments, general(means, scales, places), rtol=0, atol=4e-5)


def test_a_great_upset_keeps_its_accuracy() -> None:
    means = np.array([12.0, 4.0, 0.0])
    *moments, sound = order_moments(means.tolist(), [1.0] * 3, [2, 1, 0])
    assert sound
    np.testing.assert_allclose(moments, general(means, np.ones(3), [2, 1, 0]), rtol=0, atol=2e-5)


def test_a_pair_has_the_moments_of_its_formula() -> None:
    """The mean of Z1 given X1 > X2 is φ(d)/(√2 Φ(d)), with d the lead over √2."""
    first, _, _ = order_moments([0.2, 0.7], [1.0, 1.0], [1, 0])
    d = 0.5 / math.sqrt(2.0)
    expected = math.exp(-d * d / 2) / math.sqrt(2 * math.pi) / float(ndtr(d)) / math.sqrt(2.0)
    assert first == pytest.approx([-expected, expected], abs=1e-5)


@pytest.mark.parametrize("means", [[0.0, 1e9], [0.0, math.nan], [2000.0, -2000.0]])
def test_an_order_beyond_the_grid_is_reported(means: list[float]) -> None:
    *_, sound = order_moments([*means, 0.0], [1.0] * 3, range(3))
    assert not sound


def test_a_place_shared_by_too_many_is_reported() -> None:
    *_, sound = order_moments([0.0] * 10, [1.0] * 10, [0] * 9 + [1])
    assert not sound
