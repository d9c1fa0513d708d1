"""The moments of an order against brute force, quadrature in logarithms, closed forms and each other."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad
from scipy.special import erfcx, log_ndtr

from racebot.ratings.model import FloatArray
from racebot.ratings.numerics.order import on_windows, posterior_moments

CLOSE = 1e-6
SCALES = np.sqrt([1.005, 1.3, 3.5])
long = pytest.mark.long


def moments(means: FloatArray, scales: FloatArray, places: list[int]) -> FloatArray:
    """Return means and variances: shape [2, n]. The general way gives them for every field."""
    arguments = means.tolist(), scales.tolist(), places
    found, general = np.array(posterior_moments(*arguments)), np.array(on_windows(*arguments))
    np.testing.assert_allclose(found, general, rtol=0, atol=CLOSE)
    return found


def by_orders(means: FloatArray, scales: FloatArray, places: list[int]) -> FloatArray:
    """Return the moments averaged over all complete orders of the groups, on a very fine grid."""
    step = 0.005
    x = np.arange((means - 9 * scales).min(), (means + 9 * scales).max(), step)
    z = (x - means[:, np.newaxis]) / scales[:, np.newaxis]
    density = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * scales[:, np.newaxis])
    members = [[i for i, place in enumerate(places) if place == which] for which in sorted(set(places))[::-1]]
    total, first, second = 0.0, np.zeros(len(means)), np.zeros(len(means))
    for choice in itertools.product(*map(itertools.permutations, members)):
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
    return np.array([first / total, second / total - (first / total) ** 2])


def in_logarithms(means: FloatArray, scales: FloatArray) -> FloatArray:
    """Return the moments of a complete order by the recursion in log space, on a grid of 20,000 points."""
    low, high = (means - 8.5 * scales).min(), (means + 8.5 * scales).max()
    x = np.linspace(low, high, 20_001)

    def log_density(i: int) -> FloatArray:
        return -(((x - means[i]) / scales[i]) ** 2) / 2

    def integral(log_values: FloatArray) -> FloatArray:
        rise = np.diff(log_values)
        size = np.maximum(np.abs(rise), 1e-9)
        cell = np.maximum(log_values[1:], log_values[:-1]) + np.log(-np.expm1(-size) / size)
        bend = np.diff(rise, prepend=rise[:1], append=rise[-1:])
        cell -= (bend[1:] + bend[:-1]) / 24
        tail = log_values[:1] - np.log(np.maximum(rise[:1], 1e-3))
        return np.logaddexp.accumulate(np.concatenate([tail, cell]))

    below, above, found = [np.zeros_like(x)], np.zeros_like(x), np.empty((2, len(means)))
    for i in range(len(means) - 1):
        below.append(integral(log_density(i) + below[-1]))
    for i in range(len(means))[::-1]:
        joint = log_density(i) + below[i] + above
        weight = np.exp(joint - joint.max())
        weight /= weight.sum()
        z = (x - means[i]) / scales[i]
        found[0, i] = (weight * z).sum()
        found[1, i] = (weight * (z - found[0, i]) ** 2).sum()
        above = integral((log_density(i) + above)[::-1])[::-1]
    return found


def patterns(n: int) -> list[list[int]]:
    """Return all ways in which n entrants, worst first, can share places, but for one place."""
    cuts = itertools.product((0, 1), repeat=n - 1)
    return [[sum(cut[i:]) for i in range(n)] for cut in cuts if any(cut)]


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, pytest.param(6, marks=long), pytest.param(7, marks=long)])
def test_every_pattern_of_ties_is_the_mean_over_all_orders(n: int, spread: float) -> None:
    random = np.random.default_rng([n, int(spread)])
    for places in patterns(n):
        means, scales = random.normal(0.0, spread, n), random.choice(SCALES, n)
        found = moments(means, scales, places)
        np.testing.assert_allclose(found, by_orders(means, scales, places), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("listed", ["as expected", "reversed", "at random", "two classes"])
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("n", [3, 12, 24, 60, pytest.param(100, marks=long), pytest.param(1000, marks=long)])
def test_large_fields_agree_with_logarithms(n: int, spread: float, listed: str) -> None:
    random = np.random.default_rng(n)
    spread = min(spread, 500.0 / n)  # the logarithms are too steep for their grid otherwise
    means, scales = random.normal(0.0, spread, n), random.choice(SCALES, n)
    if listed == "two classes":
        means = random.permutation(np.where(np.arange(n) % 2, 4 * spread, 0.0))
    elif listed != "at random":
        means = np.sort(means)[:: 1 if listed == "as expected" else -1].copy()
    found = moments(means, scales, list(range(n))[::-1])
    np.testing.assert_allclose(found, in_logarithms(means, scales), rtol=0, atol=CLOSE)


@pytest.mark.parametrize(("n", "groups"), [(20, 10), (60, 40), (100, 50), (60, 5), (100, 10)])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_members_of_a_large_group_are_truncated_by_their_neighbors(
    n: int, groups: int, spread: float
) -> None:
    """The moves balance: a shift of all performances does not change the order. Nobody is less certain."""
    random = np.random.default_rng([n, groups])
    means, scales = random.normal(0.0, spread, n), random.choice(SCALES, n)
    places = [groups - 1 - i * groups // n for i in range(n)]
    first, second = moments(means, scales, places)
    assert (first / scales).sum() == pytest.approx(0.0, abs=CLOSE)
    assert ((second > 0.0) & (second <= 1.0)).all()
    after = means + scales * first
    for worse, better in itertools.pairwise(range(groups)[::-1]):
        of = [np.array(places) == place for place in (worse, better)]
        assert after[of[0]].mean() < after[of[1]].mean()


def test_a_crowd_between_two_groups_has_the_moments_of_its_order_statistics() -> None:
    """Thirty equal performances in three groups of ten."""
    places = [2] * 10 + [1] * 10 + [0] * 10
    first, _ = moments(np.zeros(30), np.ones(30), places)
    # A complete order has the order statistics as moments, and a group has the mean of its members'.
    order, _ = moments(np.zeros(30), np.ones(30), list(range(30))[::-1])
    np.testing.assert_allclose(first, np.repeat(order.reshape(3, 10).mean(axis=1), 10), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("lead", [-60.0, -12.0, -3.0, 0.0, 4.0, 12.0])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 3.0)])
def test_two_players_agree_with_the_closed_form(lead: float, scales: tuple[float, float]) -> None:
    """The mean is the derivative of log Φ(lead/s), s² the sum of the variances, times the scale."""
    s = math.hypot(*scales)
    hazard = math.sqrt(2 / math.pi) / float(erfcx(-lead / s / math.sqrt(2))) / s
    first, second = moments(np.array([0.0, lead]), np.array(scales), [1, 0])
    np.testing.assert_allclose(first, np.array([-hazard, hazard]) * scales, rtol=1e-6, atol=CLOSE)
    bend = -hazard * (hazard + lead / s**2)
    np.testing.assert_allclose(second, 1 + bend * np.square(scales), rtol=0, atol=CLOSE)


def test_a_great_upset_keeps_its_accuracy() -> None:
    """P(X0 < X1 < X2) with the middle one as the variable; e^60 keeps it from underflow."""
    means = np.array([12.0, 4.0, 0.0])

    def moment(power: int) -> float:
        def joint(x: float) -> float:
            others = log_ndtr(x - means[0]) + log_ndtr(means[2] - x)
            return (x - means[1]) ** power * math.exp(others - (x - means[1]) ** 2 / 2 + 60)

        return quad(joint, -2, 14, epsabs=0, epsrel=1e-10, limit=200)[0]

    mean = moment(1) / moment(0)
    first, second = moments(means, np.ones(3), [2, 1, 0])
    assert first[1] == pytest.approx(mean, abs=CLOSE)
    assert second[1] == pytest.approx(moment(2) / moment(0) - mean**2, abs=CLOSE)


@pytest.mark.parametrize("means", [[0.0, 1e200], [0.0, math.nan], [math.inf, 0.0]])
@pytest.mark.parametrize("places", [[2, 1, 0], [1, 1, 0]])
def test_arguments_beyond_any_grid_give_nan(means: list[float], places: list[int]) -> None:
    assert np.isnan(posterior_moments([*means, 0.0], [1.0] * 3, places)).all()


@pytest.mark.parametrize("places", [[2, 1, 0], [1, 1, 0]])
def test_orders_that_are_all_but_impossible_are_finite(places: list[int]) -> None:
    first, second = posterior_moments([200.0, 2000.0, -200.0], [1.0] * 3, places)
    assert np.isfinite(first).all()
    assert (np.array(second) > 0.0).all()
