"""The hurdle and the order among finishers, against quadrature, derivatives and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import dblquad, quad
from scipy.special import log_expit, log_ndtr, ndtr

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.hurdle import Beliefs, Probit, Race, logistic, order, probit
from racebot.ratings.numerics.elementwise import ARRAYS, FLOATS


def by_quadrature(mean: float, variance: float, unfinished: bool, hurdle: Probit) -> tuple[float, float]:
    """Mean and variance of N(mean, variance) times the hurdle, in logarithms so that tails survive."""
    spread = math.sqrt(variance)

    def log_joint(s: float) -> float:
        t = (s - hurdle.level) / math.sqrt(hurdle.noise)
        if not unfinished:
            return float(log_ndtr(t)) - (s - mean) ** 2 / (2 * variance)
        told = math.log(1 - hurdle.lapse) + float(log_ndtr(-t))
        if hurdle.lapse:
            told = float(np.logaddexp(math.log(hurdle.lapse), told))
        return told - (s - mean) ** 2 / (2 * variance)

    grid = np.linspace(mean - 45 * spread, mean + 45 * spread, 4001)
    logs = np.array([log_joint(float(s)) for s in grid])
    peak = float(grid[logs.argmax()])
    low, high = peak - 12 * spread, peak + 12 * spread

    def moment(power: int) -> float:
        return quad(
            lambda s: (s - peak) ** power * math.exp(log_joint(s) - logs.max()),
            low,
            high,
            epsabs=1e-10,
            epsrel=1e-9,
            limit=400,
            points=[peak],
        )[0]

    total, first, second = moment(0), moment(1), moment(2)
    return peak + first / total, second / total - (first / total) ** 2


@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize("lapse", [0.0, 0.0744, 0.6])
@pytest.mark.parametrize(
    ("mean", "variance", "level", "width"),
    [
        (0.0, 3.24, 1.95, 2.48),
        (2.0, 0.005, 1.95, 2.48),
        (0.0, 16.08, -5.28, 2.01),
        (-9.0, 1.0, 1.0, 0.4),
        (30.0, 0.5, 0.0, 1.0),
        (-30.0, 0.5, 0.0, 1.0),
        (1.0, 0.02, 9.0, 0.3),
    ],
)
def test_moments_of_the_hurdle(
    mean: float, variance: float, level: float, width: float, lapse: float, unfinished: bool
) -> None:
    hurdle = Probit(level, width**2, lapse)
    expected = by_quadrature(mean, variance, unfinished, hurdle)
    means, variances = probit(Beliefs([mean], [variance]), [unfinished], hurdle, FLOATS)
    assert means[0] == pytest.approx(expected[0], rel=1e-7, abs=1e-7)
    assert variances[0] == pytest.approx(expected[1], rel=1e-6, abs=1e-8)


@settings(max_examples=300, deadline=None)
@given(
    mean=st.floats(-60, 60),
    variance=st.floats(1e-4, 40),
    level=st.floats(-10, 10),
    width=st.floats(0.1, 8),
    lapse=st.sampled_from([0.0, 1e-9, 0.1, 0.95]),
)
def test_the_hurdle_keeps_its_bounds(
    mean: float, variance: float, level: float, width: float, lapse: float
) -> None:
    """Who finished does not fall, who did not does not rise, and the variance stays above its bound."""
    hurdle = Probit(level, width**2, lapse)
    means, variances = probit(Beliefs([mean] * 2, [variance] * 2), [False, True], hurdle, FLOATS)
    assert means[1] <= mean <= means[0]
    least = variance * width**2 / (width**2 + variance)
    assert min(variances) >= least * (1 - 1e-9)
    assert variances[0] <= variance
    arrays = probit(
        Beliefs([np.array([mean])] * 2, [np.array([variance])] * 2), [False, True], hurdle, ARRAYS
    )
    np.testing.assert_allclose(np.ravel(arrays.means), means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.ravel(arrays.variances), variances, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rating", [-800.0, -3.0, 0.2, 1.49, 6.0, 900.0])
def test_the_logistic_hurdle_is_the_gradient_of_its_log_probability(rating: float) -> None:
    level, width, step = 1.49, 1.37, 1e-5
    for unfinished, sign in ((False, 1.0), (True, -1.0)):
        ahead, behind = (log_expit(sign * (rating + shift - level) / width) for shift in (step, -step))
        expected = (ahead - behind) / (2 * step)
        found = logistic(rating, unfinished, level, width, FLOATS)
        assert found == pytest.approx(expected, abs=1e-6)
        array = logistic(np.array([rating]), unfinished, level, width, ARRAYS)
        assert array[0] == pytest.approx(found, abs=1e-12)


def of_three(means: FloatArray, scales: FloatArray) -> float:
    """P(X0 > X1 > X2), the middle performance as the variable."""

    def joint(x: float) -> float:
        z = (x - means[1]) / scales[1]
        own = math.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * scales[1])
        return own * float(ndtr((means[0] - x) / scales[0]) * ndtr((x - means[2]) / scales[2]))

    return math.log(quad(joint, -25, 25, epsabs=0, epsrel=1e-12, limit=400, points=[means[1]])[0])


def of_four(means: FloatArray, scales: FloatArray) -> float:
    """P(X0 > X1 > X2 > X3), the two in the middle as the variables."""

    def joint(low: float, high: float) -> float:
        own = [(x - m) / s for x, m, s in ((high, means[1], scales[1]), (low, means[2], scales[2]))]
        density = math.exp(-(own[0] ** 2 + own[1] ** 2) / 2) / (2 * math.pi * scales[1] * scales[2])
        return density * float(ndtr((means[0] - high) / scales[0]) * ndtr((low - means[3]) / scales[3]))

    return math.log(dblquad(joint, -11, 11, -11, lambda high: high, epsabs=1e-10, epsrel=1e-9)[0])


@pytest.mark.parametrize(
    ("log_probability", "means", "variances"),
    [
        (of_three, [0.0, 0.4, -0.6], [3.24, 0.1, 0.005]),
        (of_three, [-1.5, 0.4, 2.0], [0.02, 1.0, 3.0]),
        pytest.param(of_four, [0.3, 1.0, -0.5, 0.8], [0.5, 3.24, 0.1, 0.9], marks=pytest.mark.long),
    ],
)
def test_skills_are_those_of_the_exact_posterior(
    log_probability: Callable[[FloatArray, FloatArray], float],
    means: list[float],
    variances: list[float],
) -> None:
    """Of a Gaussian prior and any likelihood L of the mean: m + v L', v + v² L'' (L in logarithms)."""
    centre, variance = np.array(means), np.array(variances)
    scales = np.sqrt(1 + variance)
    step = 0.01
    slope, bend = np.empty_like(centre), np.empty_like(centre)
    for i, axis in enumerate(np.eye(len(means))):
        low, at, high = (log_probability(centre + shift * step * axis, scales) for shift in (-1, 0, 1))
        slope[i], bend[i] = (high - low) / (2 * step), (high - 2 * at + low) / step**2
    found = order(Beliefs(means, variances), list(range(len(means))), [False] * len(means), FLOATS)
    np.testing.assert_allclose(found.means, centre + variance * slope, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.variances, variance + variance**2 * bend, rtol=0, atol=3e-4)


def test_skills_agree_with_simulation() -> None:
    """Four finishers, two of them with equal times, and two who did not finish; within 5 standard errors."""
    means = [0.5, -0.3, 0.9, 0.0, 1.0, -1.0]
    variances = [3.24, 0.5, 0.1, 1.0, 2.0, 0.3]
    group, unfinished = [0, 1, 1, 2, 3, 3], [False] * 4 + [True] * 2
    found = order(Beliefs(means, variances), group, unfinished, FLOATS)
    random = np.random.default_rng(2)
    skills = np.array(means[:4]) + np.sqrt(variances[:4]) * random.standard_normal((1_000_000, 4))
    done = skills + random.standard_normal(skills.shape)
    kept = skills[(done[:, 0] > done[:, 1:3].max(1)) & (done[:, 1:3].min(1) > done[:, 3])]
    assert len(kept) > 50_000
    error = kept.std(0) / math.sqrt(len(kept))
    assert (np.abs(kept.mean(0) - found.means[:4]) < 5 * error).all()
    spread_error = ((kept - kept.mean(0)) ** 2).std(0) / math.sqrt(len(kept))
    assert (np.abs(kept.var(0) - found.variances[:4]) < 5 * spread_error).all()
    assert found.means[4:] == means[4:]
    assert found.variances[4:] == variances[4:]


@pytest.mark.parametrize(
    ("group", "unfinished"),
    [([0, 1, 1], [False, True, True]), ([1, 1, 1], [True] * 3), ([0, 0, 2], [False, False, True])],
)
def test_without_an_order_among_finishers_nothing_moves(group: list[int], unfinished: list[bool]) -> None:
    beliefs = Beliefs([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])
    assert order(beliefs, group, unfinished, FLOATS) == beliefs


@pytest.mark.parametrize("group", [[2, 0, 1, 3], [1, 0, 1, 2], [1, 0, 2, 0]])
def test_arrays_are_as_floats(group: list[int]) -> None:
    random = np.random.default_rng(8)
    means, variances = random.normal(0, 1, (4, 5)), random.uniform(0.01, 3.0, (4, 5))
    unfinished = [False] * 4
    together = order(Beliefs(list(means), list(variances)), group, unfinished, ARRAYS)
    for i in range(5):
        beliefs = Beliefs(means[:, i].tolist(), variances[:, i].tolist())
        single = order(beliefs, group, unfinished, FLOATS)
        np.testing.assert_allclose(np.array(together.means)[:, i], single.means, rtol=0, atol=1e-5)
        np.testing.assert_allclose(np.array(together.variances)[:, i], single.variances, rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [2, 3, 10, 25, 60])
@pytest.mark.parametrize("gap", [12.0, -12.0, 0.3])
def test_large_fields_and_gaps_stay_sound(size: int, gap: float) -> None:
    """Expected by far, upside down by far, and nearly equal."""
    means = [gap * (size - i) for i in range(size)]
    variances = [0.005 if i % 2 else 3.24 for i in range(size)]
    found = order(Beliefs(means, variances), list(range(size)), [False] * size, FLOATS)
    assert np.isfinite(found.means).all()
    assert found.means[0] >= means[0]
    assert found.means[-1] <= means[-1]
    assert all(0 < new <= old for new, old in zip(found.variances, variances, strict=True))


def test_a_race_as_lists() -> None:
    race = Race.of(Outcome.of([1, 2, 3], day=7.0))
    assert race == ([0, 1, 2], [False] * 3, [False, False, True], 7.0)
    assert race.observed
    assert Race.of(Outcome.of([1, 2], unfinished=1)).last == [False] * 3
    assert not Race.of(Outcome.of([1, 1])).observed
    assert not Race.of(Outcome.of([], unfinished=2)).observed
    assert not Race.of(Outcome.of([1])).observed
