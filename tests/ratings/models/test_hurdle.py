"""The hurdle and the order among finishers, against quadrature, derivatives and simulation."""

import math

import numpy as np
import pytest
from scipy.special import log_expit, log_ndtr

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import KernelRace
from racebot.ratings.models.hurdle import Hurdle, after_hurdle, after_order
from racebot.ratings.models.plackett_luce_hurdle import hurdle_gradient


def after_places(
    means: list[float], variances: list[float], group: list[int], unfinished: list[bool]
) -> tuple[list[float], list[float]]:
    """Return means and variances after the order."""
    outcome = Outcome(np.array(group), np.array(unfinished), max(group), any(unfinished))
    after = [means.copy(), variances.copy()]
    after_order([means, variances], KernelRace.of(outcome), after)
    return after[0], after[1]


def by_quadrature(mean: float, variance: float, unfinished: bool, hurdle: Hurdle) -> tuple[float, float]:
    """Return mean and variance of N(mean, variance) times the hurdle, by quadrature in log space."""
    s = mean + math.sqrt(variance) * np.linspace(-45, 45, 400_001)
    t = (s - hurdle.level) / math.sqrt(hurdle.noise)
    logs = log_ndtr(-t if unfinished else t)
    logs -= (s - mean) ** 2 / (2 * variance)
    weights = np.exp(logs - logs.max())
    found = np.average(s, weights=weights)
    return found, np.average((s - found) ** 2, weights=weights)


@pytest.mark.parametrize("unfinished", [False, True])
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
def test_moments_of_the_hurdle_agree_with_quadrature(
    mean: float, variance: float, level: float, width: float, unfinished: bool
) -> None:
    hurdle = Hurdle(level, width**2)
    expected = by_quadrature(mean, variance, unfinished, hurdle)
    found = after_hurdle(mean, variance, unfinished, hurdle)
    assert found[0] == pytest.approx(expected[0], rel=1e-7, abs=1e-7)
    assert found[1] == pytest.approx(expected[1], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("rating", [-800.0, -3.0, 0.2, 1.49, 6.0, 900.0])
def test_the_logistic_hurdle_is_the_gradient_of_its_log_probability(rating: float) -> None:
    level, width, step = 1.49, 1.37, 1e-5
    for unfinished, sign in ((False, 1.0), (True, -1.0)):
        ahead, behind = (log_expit(sign * (rating + shift - level) / width) for shift in (step, -step))
        expected = (ahead - behind) / (2 * step)
        assert hurdle_gradient(rating, unfinished, level, width) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("group", "unfinished"),
    [([0, 1, 1], [False, True, True]), ([1, 1, 1], [True] * 3), ([0, 0, 2], [False, False, True])],
)
def test_a_shared_place_of_all_finishers_moves_nobody(group: list[int], unfinished: list[bool]) -> None:
    beliefs = [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]
    assert after_places(*beliefs, group, unfinished) == beliefs
