"""V and W against the moments of a truncated Gaussian, integrated on a grid."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from racebot.ratings.numerics.truncated_normal import draw, win


def moments(t: float, low: float, high: float) -> tuple[float, float]:
    """Return mean and variance of N(t, 1) given low < X < high, by Simpson's rule around the mode."""
    mode = min(max(t, low), high)
    # The density falls by exp(-45) within this distance of the mode, at an edge more quickly.
    reach = 90.0 / (abs(t - mode) + math.sqrt((t - mode) ** 2 + 90.0))
    start, stop = max(low, mode - reach), min(high, mode + reach)
    offset = np.linspace(start - mode, stop - mode, 20_001)
    weights = np.tile([2.0, 4.0], 10_001)[:20_001]
    weights[[0, -1]] = 1.0
    density = weights * np.exp(-0.5 * offset**2 + offset * (t - mode))
    mean = np.sum(density * offset) / np.sum(density)
    return mode + mean, np.sum(density * (offset - mean) ** 2) / np.sum(density)


@pytest.mark.parametrize("margin", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("t", [-90.0, -40.0, -36.0, -33.0, -8.0, -1.0, 0.0, 0.3, 4.0, 30.0])
def test_win_is_a_gaussian_above_the_margin(t: float, margin: float) -> None:
    mean, variance = moments(t, margin, math.inf)
    v, w = win(t, margin)
    assert t + v == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert 1 - w == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("margin", [1e-3, 0.1, 2.0, 30.0])
@pytest.mark.parametrize("t", [-90.0, -40.0, -8.0, -1.0, 0.0, 0.3, 4.0, 36.0])
def test_draw_is_a_gaussian_between_the_margins(t: float, margin: float) -> None:
    mean, variance = moments(t, -margin, margin)
    v, w = draw(t, margin)
    assert t + v == pytest.approx(mean, rel=1e-9, abs=1e-9)
    # The variance is what is left after terms of the size of t² cancel.
    assert 1 - w == pytest.approx(variance, rel=1e-5, abs=1e-12 * (1 + t * t) / margin)


def test_special_cases_have_their_closed_forms() -> None:
    # The half normal distribution has mean √(2/π) and variance 1 − 2/π.
    assert win(0.0, 0.0) == pytest.approx((math.sqrt(2 / math.pi), 2 / math.pi))
    # Any margin that is small enough fixes the difference.
    assert draw(3.0, 0.0) == (-3.0, 1.0)
    assert draw(-3.0, 1e-9) == (3.0, 1.0)
    # A wide margin carries no information.
    assert draw(1.0, 100.0) == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("function", [win, draw])
@given(t=st.floats(-1e9, 1e9), margin=st.floats(0, 1e3))
def test_tails_are_finite_and_w_stays_within_0_and_1(function, t: float, margin: float) -> None:
    v, w = function(t, margin)
    assert math.isfinite(v)
    assert 0.0 <= w <= 1.0
