"""The linear-time quadrature agrees with the general recursion and with closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad
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
    first, second, _, sound = order_moments(means.tolist(), scales.tolist(), range(n), NOBODY, NOBODY)
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

    first, second, _, sound = order_moments(means, [1.0] * 3, range(3), NOBODY, NOBODY)
    mean = moment(1) / moment(0)
    assert sound
    assert first[1] == pytest.approx(mean, abs=1e-5)
    assert second[1] == pytest.approx(moment(2) / moment(0) - mean**2, abs=1e-5)


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_last_entrants_are_behind_all_others(weight: float) -> None:
    means, last = [0.3, -0.4, 1.2], [0.9, 1.5]
    first, _, pulls, sound = order_moments(means, [1.0] * 3, range(3), last, [weight, 1.0])
    labels = Groups(np.array([2, 1, 0, 3, 3]), np.array([False, False, False, True, False]))
    weights = np.array([1.0, 1.0, 1.0, weight, 1.0])
    expected = score_means(np.array(means + last), labels, weights=weights)
    assert sound
    np.testing.assert_allclose([*first, *pulls], expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("places", [[0, 1, 1, 2], [0, 0, 1, 2], [0, 1, 2, 2], [0, 1, 1, 1, 2], [0, 0, 1, 1]])
@pytest.mark.parametrize("last", [[], [0.4, -0.3]])
def test_shared_places_are_the_mean_of_their_orders(places: list[int], last: list[float]) -> None:
    """Each order of the tied entrants counts by its probability, from nested quadrature of the definition."""
    random = np.random.default_rng(len(places))
    n = len(places)
    means, scales = random.normal(0.0, 1.0, n), np.sqrt(1.0 + random.choice([0.05, 1.5], n))
    weights = [1.0] * len(last)
    x = np.linspace(-14.0, 14.0, 4001)
    total, first, second = 0.0, np.zeros(n), np.zeros(n)
    for order in itertools.permutations(range(n)):
        if any(places[a] > places[b] for a, b in itertools.pairwise(order)):
            continue
        below = [np.prod([ndtr(x - mean) for mean in last], axis=0) + 0.0 * x]
        above = [np.ones_like(x)]
        density = [np.exp(-(((x - means[i]) / scales[i]) ** 2) / 2) / scales[i] for i in order]
        for k in range(n - 1):
            below.append(cumulative_simpson(density[k] * below[-1], x=x, initial=0.0))
            running = cumulative_simpson(density[-1 - k] * above[-1], x=x, initial=0.0)
            above.append(running[-1] - running)
        for k, i in enumerate(order):
            joint, z = density[k] * below[k] * above[n - 1 - k], (x - means[i]) / scales[i]
            first[i] += np.trapezoid(joint * z, x)
            second[i] += np.trapezoid(joint * z**2, x)
        total += float(np.trapezoid(joint, x))
    first, second = first / total, second / total
    mean, variance, _, sound = order_moments(means.tolist(), scales.tolist(), places, last, weights)
    assert sound
    np.testing.assert_allclose(mean, first, rtol=0, atol=2e-5)
    np.testing.assert_allclose(variance, second - first**2, rtol=0, atol=2e-5)


def test_one_winner_over_one_last_entrant_is_exact() -> None:
    """The mean of Z1 given X1 > X2 is φ(d)/(√2 Φ(d)), with d the lead over √2."""
    first, second, pulls, _ = order_moments([0.7], [1.0], [0], [0.2], [1.0])
    d = 0.5 / math.sqrt(2.0)
    expected = math.exp(-d * d / 2) / math.sqrt(2 * math.pi) / float(ndtr(d)) / math.sqrt(2.0)
    assert first[0] == pytest.approx(expected, abs=1e-6)
    assert pulls[0] == pytest.approx(-expected, abs=1e-6)
    assert 0.0 < second[0] < 1.0


@pytest.mark.parametrize("means", [[0.0, 1e9], [0.0, math.nan], [2000.0, -2000.0]])
def test_an_order_beyond_the_grid_is_reported(means: list[float]) -> None:
    *_, sound = order_moments([*means, 0.0], [1.0] * 3, range(3), NOBODY, NOBODY)
    assert not sound


def test_a_place_shared_by_too_many_is_reported() -> None:
    *_, sound = order_moments([0.0] * 10, [1.0] * 10, [0] * 9 + [1], NOBODY, NOBODY)
    assert not sound
