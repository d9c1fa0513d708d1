"""The fast recursion against fine quadrature, the general recursion and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order_recursion import gaussian_moments
from racebot.ratings.numerics.order_statistics import complete_order_moments
from racebot.ratings.ranking import Groups

CLOSE = 5e-6


def moments_of_one(means: list[float], scales: list[float]) -> tuple[list[float], list[float]] | None:
    """Return the moments by the fast recursion, or None if they are too inaccurate."""
    first, second, sound = complete_order_moments(means, scales)
    return (first, second) if sound else None


def complete(n: int) -> Groups:
    """Return the groups of a complete order, worst first."""
    return Groups(np.arange(n)[::-1].copy())


def random_field(random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return 3 to 60 entrants in expected, reversed or random order, or in two classes 12 apart."""
    n = int(random.choice([3, 4, 6, 9, 14, 24, 40, 60]))
    means = random.normal(0.0, random.choice([0.0, 1.0, 3.0]), n)
    kind = random.integers(4)
    if kind == 0:
        means = np.sort(means)
    elif kind == 1:
        means = np.sort(means)[::-1].copy()
    elif kind == 2:
        means = random.permutation(np.where(np.arange(n) % 2, 12.0, 0.0))
    return means, np.sqrt(1.0 + random.choice([0.005, 0.3, 2.5], n))


def in_logarithms(means: FloatArray, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the moments by the recursion in log space, on a grid of 4,000 points."""
    low, high = (means - 8 * scales).min(), (means + 8 * scales).max()
    x = np.linspace(low, high, 4001)
    z = (x - means[:, np.newaxis]) / scales[:, np.newaxis]
    log_density = -(z**2) / 2

    def integral(log_values: FloatArray) -> FloatArray:
        rise = np.diff(log_values)
        size = np.maximum(np.abs(rise), 1e-9)
        cell = np.maximum(log_values[1:], log_values[:-1]) + np.log(-np.expm1(-size) / size)
        bend = np.diff(rise, prepend=rise[:1], append=rise[-1:])
        cell -= (bend[1:] + bend[:-1]) / 24
        return np.concatenate([log_values[:1], np.logaddexp.accumulate(cell)])

    below, above = [np.zeros_like(x)], [np.zeros_like(x)]
    for own in log_density[:-1]:
        below.append(integral(own + below[-1]))
    for own in log_density[:0:-1]:
        above.append(integral((own + above[-1])[::-1])[::-1])
    joint = log_density + np.array(below) + np.array(above[::-1])
    weight = np.exp(joint - joint.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    mean = (weight * z).sum(-1)
    return mean, (weight * (z - mean[:, np.newaxis]) ** 2).sum(-1)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed > 0)) for seed in range(8)]
)
def test_moments_are_accurate_for_all_fields(seed: int) -> None:
    """The fast integrals if they are sound, and the general recursion always, are within 2e-5."""
    random = np.random.default_rng(seed)
    fast = 0
    for _ in range(40):
        means, scales = random_field(random)
        expected = in_logarithms(means, scales)
        moments = moments_of_one(means.tolist(), scales.tolist())
        if moments is not None:
            fast += 1
            np.testing.assert_allclose(moments, expected, rtol=0, atol=2e-5)
        general = gaussian_moments(means, complete(means.size), scales)
        np.testing.assert_allclose(general, expected, rtol=0, atol=2e-5)
    assert 5 < fast < 35


def test_a_great_upset_falls_back_to_logarithms() -> None:
    """P(X0 < X1 < X2) with the middle one as the variable; e^60 keeps it from underflow."""
    means = np.array([12.0, 4.0, 0.0])

    def moment(power: int) -> float:
        def joint(x: float) -> float:
            others = log_ndtr(x - means[0]) + log_ndtr(means[2] - x)
            return (x - means[1]) ** power * math.exp(others - (x - means[1]) ** 2 / 2 + 60)

        return quad(joint, -2, 14, epsabs=0, epsrel=1e-10, limit=200)[0]

    mean = moment(1) / moment(0)
    variance = moment(2) / moment(0) - mean**2
    found_mean, found_variance = gaussian_moments(means, complete(3), np.ones(3))
    assert moments_of_one(means.tolist(), [1.0] * 3) is None
    assert found_mean[1] == pytest.approx(mean, abs=1e-5)
    assert found_variance[1] == pytest.approx(variance, abs=1e-5)


@pytest.mark.parametrize("lead", [-40.0, -3.0, 0.0, 5.0])
def test_two_players_agree_with_the_closed_form(lead: float) -> None:
    """E[Z] is the derivative of log Φ(lead / s), times the scale; Var[Z] - 1 the second one."""
    scales = np.array([1.0, 2.0])
    s = math.hypot(*scales)
    step = 1e-4

    def value(x: float) -> float:
        return float(log_ndtr(x / s))

    slope = (value(lead + step) - value(lead - step)) / (2 * step)
    step = 0.02
    bend = (value(lead + step) - 2 * value(lead) + value(lead - step)) / step**2
    moments = moments_of_one([0.0, lead], scales.tolist())
    assert moments is not None
    np.testing.assert_allclose(moments[0], slope * scales * [-1, 1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(moments[1], 1 + bend * scales**2, rtol=0, atol=2e-5)


@settings(max_examples=150)
@given(
    means=st.lists(st.floats(-6.0, 6.0), min_size=2, max_size=30),
    spread=st.sampled_from([0.0, 1.0, 3.0]),
    seed=st.integers(0, 999),
)
def test_moments_of_every_order_sum_to_zero(means: list[float], spread: float, seed: int) -> None:
    """The moves balance, the performances come out in order, and nothing becomes less certain."""
    scales = np.sqrt(1.0 + spread * np.random.default_rng(seed).random(len(means)))
    moments = moments_of_one(means, scales.tolist())
    if moments is None:
        return
    first, second = np.array(moments)
    assert (first / scales).sum() == pytest.approx(0.0, abs=1e-5)
    assert (np.diff(np.array(means) + scales * first) > 0).all()
    assert ((second > 0) & (second <= 1 + CLOSE)).all()
    assert first[0] <= CLOSE
    assert first[-1] >= -CLOSE
