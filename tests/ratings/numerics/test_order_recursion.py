"""The recursion against quadrature of the definitions, closed forms and simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad
from scipy.special import erfcx, ndtr
from scipy.stats import norm

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_recursion import gaussian_moments, gradient
from racebot.ratings.ranking import Groups


def groups_of(labels: Sequence[int]) -> Groups:
    return Groups(np.array(labels))


def slope_of(log_probability: Callable[[FloatArray], float], means: FloatArray) -> FloatArray:
    """Return the derivative in each mean, by finite differences."""
    step = 2e-3
    sides = [[log_probability(means + side * axis) for side in (-step, step)] for axis in np.eye(len(means))]
    return np.array([(high - low) / (2 * step) for low, high in sides])


def by_orders(means: FloatArray, labels: Sequence[int], scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the moments averaged over all complete orders of the groups, on a very fine grid."""
    step = 0.005
    x = np.arange((means - 9 * scales).min(), (means + 9 * scales).max(), step)
    z = (x - means[:, np.newaxis]) / scales[:, np.newaxis]
    density = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * scales[:, np.newaxis])
    inside = [
        itertools.permutations([i for i, label in enumerate(labels) if label == which])
        for which in sorted(set(labels), reverse=True)
    ]
    total, first, second = 0.0, np.zeros(len(means)), np.zeros(len(means))
    for choice in itertools.product(*inside):
        order = list(itertools.chain(*choice))
        below, above = [np.ones_like(x)], [np.ones_like(x)]
        for i in order:
            below.append(cumulative_simpson(density[i] * below[-1], dx=step, initial=0))
        for i in reversed(order):
            falling = (density[i] * above[-1])[::-1]
            above.append(cumulative_simpson(falling, dx=step, initial=0)[::-1])
        total += below[-1][-1]
        for k, i in enumerate(order):
            weight = density[i] * below[k] * above[len(order) - 1 - k] * step
            first[i] += (weight * z[i]).sum()
            second[i] += (weight * z[i] ** 2).sum()
    return first / total, second / total - (first / total) ** 2


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2, 3, 4, 5],
        [3, 1, 0, 2, 2, 2],
        [0, 1, 1, 1],
        [0, 0, 1],
        [0, 0, 1, 2, 2],
        [0, 1, 1, 2, 2, 3],
        [2, 1, 1, 1, 0],
        [0, 0, 1, 1, 2, 2],
        list(range(12)),
    ],
    ids=str,
)
def test_moments_are_the_mean_over_all_orders(labels: list[int], spread: float) -> None:
    random = np.random.default_rng(11)
    means = random.normal(0.0, spread, len(labels))
    for scales in (np.ones(len(labels)), random.uniform(1.0, 1.6, len(labels))):
        expected = by_orders(means, labels, scales)
        moments = gaussian_moments(means, groups_of(labels), scales)
        np.testing.assert_allclose(moments, expected, rtol=0, atol=5e-5)


@pytest.mark.parametrize("lead", [-60.0, -30.0, -12.0, -3.0, 0.0, 4.0, 12.0])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 3.0)])
def test_two_players_agree_with_the_closed_form(lead: float, scales: tuple[float, float]) -> None:
    """d log Φ(lead/s) / d lead, s² the sum of the variances; far upsets are kept in logarithms."""
    s = math.hypot(*scales)
    hazard = math.sqrt(2 / math.pi) / float(erfcx(-lead / s / math.sqrt(2))) / s
    moves = gaussian_moments(np.array([lead, 0.0]), groups_of([0, 1]), np.array(scales))[0] / scales
    np.testing.assert_allclose(moves, [hazard, -hazard], rtol=2e-4, atol=1e-5)


def test_the_gradient_is_that_of_the_likelihood() -> None:
    """Three players behind a fourth."""
    means = np.array([0.4, -0.2, 0.7, 0.1])

    def log_probability(at: FloatArray) -> float:
        def joint(x: float) -> float:
            return float(norm.pdf(x - at[0]) * np.prod(ndtr(x - at[1:])))

        return math.log(quad(joint, -9, 9, epsabs=0, epsrel=1e-11, limit=200)[0])

    expected = slope_of(log_probability, means)
    moves = gradient(means, groups_of([0, 1, 1, 1]))
    np.testing.assert_allclose(moves, expected, rtol=0, atol=1e-5)
