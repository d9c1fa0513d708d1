"""The linear-time quadrature agrees with the general recursion and with closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from racebot.ratings.numerics.order_quadrature import order_moments
from racebot.ratings.numerics.order_recursion import gaussian_moments, score_means
from racebot.ratings.ranking import Groups

NOBODY: list[float] = []


def complete(n: int) -> Groups:
    """Return the groups of a complete order, worst first."""
    return Groups(np.arange(n)[::-1].copy(), np.zeros(n, dtype=bool))


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("n", [2, 3, 7, 25])
def test_a_complete_order_agrees_with_the_general_recursion(n: int, spread: float) -> None:
    random = np.random.default_rng([n, int(spread)])
    means, scales = random.normal(0.0, spread, n), np.sqrt(1.0 + random.choice([0.05, 2.5], n))
    first, second, _, sound = order_moments(means.tolist(), scales.tolist(), NOBODY, NOBODY)
    expected = gaussian_moments(means, complete(n), scales=scales)
    assert sound
    np.testing.assert_allclose(first, expected.mean, rtol=0, atol=4e-5)
    np.testing.assert_allclose(second, expected.variance, rtol=0, atol=4e-5)


def test_a_great_upset_keeps_its_accuracy() -> None:
    """P(X0 < X1 < X2) with the middle performance as the variable; e^60 keeps it from underflow."""
    means = [12.0, 4.0, 0.0]

    def moment(power: int) -> float:
        def joint(x: float) -> float:
            others = log_ndtr(x - means[0]) + log_ndtr(means[2] - x)
            return float((x - means[1]) ** power * math.exp(others - (x - means[1]) ** 2 / 2 + 60))

        return float(quad(joint, -2, 14, epsabs=0, epsrel=1e-10, limit=200)[0])

    first, second, _, sound = order_moments(means, [1.0] * 3, NOBODY, NOBODY)
    mean = moment(1) / moment(0)
    assert sound
    assert first[1] == pytest.approx(mean, abs=1e-5)
    assert second[1] == pytest.approx(moment(2) / moment(0) - mean**2, abs=1e-5)


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_last_entrants_are_behind_all_others(weight: float) -> None:
    means, last = [0.3, -0.4, 1.2], [0.9, 1.5]
    first, _, pulls, sound = order_moments(means, [1.0] * 3, last, [weight, 1.0])
    labels = Groups(np.array([2, 1, 0, 3, 3]), np.array([False, False, False, True, False]))
    weights = np.array([1.0, 1.0, 1.0, weight, 1.0])
    expected = score_means(np.array(means + last), labels, weights=weights)
    assert sound
    np.testing.assert_allclose([*first, *pulls], expected, rtol=0, atol=2e-5)


def test_one_winner_over_one_last_entrant_is_exact() -> None:
    """The mean of Z1 given X1 > X2 is φ(d)/(√2 Φ(d)), with d the lead over √2."""
    first, second, pulls, _ = order_moments([0.7], [1.0], [0.2], [1.0])
    d = 0.5 / math.sqrt(2.0)
    expected = math.exp(-d * d / 2) / math.sqrt(2 * math.pi) / float(ndtr(d)) / math.sqrt(2.0)
    assert first[0] == pytest.approx(expected, abs=1e-6)
    assert pulls[0] == pytest.approx(-expected, abs=1e-6)
    assert 0.0 < second[0] < 1.0


@pytest.mark.parametrize("means", [[0.0, 1e9], [0.0, math.nan], [2000.0, -2000.0]])
def test_an_order_beyond_the_grid_is_reported(means: list[float]) -> None:
    *_, sound = order_moments([*means, 0.0], [1.0] * 3, NOBODY, NOBODY)
    assert not sound
