"""The formulas of each hurdle model; their guarantees are in test_contract."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, log_ndtr, ndtr

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.hurdle import GaussianHurdleModel
from racebot.ratings.models.plackett_luce_hurdle import PlackettLuceHurdle
from racebot.ratings.models.thurstone_filter import ThurstoneFilter
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.registry import create

WITHOUT_FLOOR = {
    "newcomer_spread": 1.8,
    "lasting_spread": 0.0711,
    "settling": 0.772,
    "level": 1.95,
    "width": 2.48,
    "spare_finishers": False,
    "finish_level": -1.23,
    "finish_width": 3.18,
}
"""Parameters of `thurstone-hurdle` that were tuned without a floor."""

FILTER_WITHOUT_FLOOR: dict[str, Any] = {
    "newcomer_spread": 4.01,
    "race_drift": 0.0071,
    "daily_drift": 0.0416,
    "conservative": 1.31,
    "level": -5.28,
    "width": 2.01,
    "odds_scale": 1.0,
    "odds_doubt": 1.0,
    "spare_finishers": False,
}
"""Parameters of `thurstone-filter` tuned without the floor."""


def posteriors(
    level: float, width: float, means: FloatArray, variances: Sequence[float] | FloatArray
) -> list[list[float]]:
    """Mean and variance of two finishers and of a player who gave up after the hurdle, by quadrature."""
    found = []
    for mean, variance, sign in zip(means, variances, [1, 1, -1], strict=True):
        s = mean + math.sqrt(variance) * np.linspace(-12, 12, 20_001)
        weight = np.exp(log_ndtr(sign * (s - level) / width) - (s - mean) ** 2 / (2 * variance))
        moved = np.average(s, weights=weight)
        found.append([moved, np.average((s - moved) ** 2, weights=weight)])
    return found


def test_the_default_model_agrees_with_a_race_worked_by_hand() -> None:
    """A newcomer beats a player of nine races, and a player of three gives up."""
    model = create("thurstone-hurdle", WITHOUT_FLOOR)
    states = np.array([[0.0, 0.0], [1.2, 9.0], [-0.4, 3.0]])
    variances = 0.0711**2 + (1.8**2 - 0.0711**2) / (1 + states[:, 1] / 0.772)
    # The difference of the finishers' performances is Gaussian; what it moves is shared out by variance.
    (m0, v0), (m1, v1), (m2, _) = posteriors(1.95, 2.48, states[:, 0], variances)
    s = math.sqrt(v0 + v1 + 2)
    lead = (m0 - m1) / s
    hazard = math.exp(-(lead**2) / 2) / math.sqrt(2 * math.pi) / ndtr(lead)
    expected = [[m0 + v0 / s * hazard, 1.0], [m1 - v1 / s * hazard, 10.0], [m2, 4.0]]
    after = model.rate(states, Outcome.of([1, 2], unfinished=1))
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-6)


TEAM_MODELS: list[tuple[str, dict[str, Any]]] = [
    ("thurstone-hurdle", {**WITHOUT_FLOOR, "yearly_drift": 0.7}),
    ("thurstone-filter", FILTER_WITHOUT_FLOOR),
]


def skills(model: GaussianHurdleModel, states: FloatArray, day: float) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the skills before a race."""
    if isinstance(model, ThurstoneFilter):
        away = np.minimum(day - states[:, 2], 365)
        return states[:, 0], states[:, 1] + model.race_drift**2 + model.daily_drift**2 * away
    return states[:, 0], model.skill_variance(states) + 0.7**2 * (day - states[:, 2]) / 365


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("key", "parameters"), TEAM_MODELS, ids=lambda value: str(value)[:16])
def test_a_team_finishes_or_not_as_the_mean_of_its_members(
    key: str, parameters: dict[str, Any], size: int, finished: bool
) -> None:
    """The members' exact posterior over a grid of their skills. The other team does the opposite."""
    model: Any = create(key, parameters)
    states = np.array([[0.4, 1.7, 900.0], [-1.1, 0.2, 990.0], [1.9, 5.0, 700.0], [0.3, 1.0, 1000.0]])
    outcome = Outcome(
        group=np.array([int(not finished)] * size + [int(finished)]),
        unfinished=np.array([not finished] * size + [finished]),
        last_group=1,
        last_unfinished=True,
        team=np.array([5] * size + [2]),
        day=1000.0,
    )
    states = states[[*range(size), 3]]
    mean, variance = skills(model, states[:size], 1000.0)
    scale = np.sqrt(variance)[:, np.newaxis]
    s = np.array(np.meshgrid(*(mean[:, np.newaxis] + scale * np.linspace(-7, 7, 71)), indexing="ij"))
    axes = (slice(None),) + (np.newaxis,) * size
    t = (s.mean(0) - model.level) / model.width
    weight = ndtr(t if finished else -t) * np.exp(-(((s - mean[axes]) ** 2) / variance[axes]).sum(0) / 2)
    expected = np.array([np.average(each, weights=weight) for each in s])
    doubt = [np.average((each - e) ** 2, weights=weight) for each, e in zip(s, expected, strict=True)]
    place = dict(model.steps(states, outcome))["place"][:size]
    np.testing.assert_allclose(place[:, 0], expected, rtol=0, atol=1e-6)
    if key == "thurstone-filter":
        np.testing.assert_allclose(place[:, 1], doubt, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("key", "parameters"), TEAM_MODELS, ids=lambda value: str(value)[:16])
def test_the_order_of_teams_agrees_with_simulation(key: str, parameters: dict[str, Any]) -> None:
    """A team of three before one and two who tie, within 5 standard errors. Finishing says nothing here."""
    model: Any = create(key, {**parameters, "width": 1e5})
    team, group = np.array([0, 0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 1])
    random = np.random.default_rng(8)
    states = np.stack([random.normal(0.0, 1.0, 6), random.uniform(0.3, 3.0, 6), np.full(6, 900.0)], -1)
    outcome = Outcome(group, np.zeros(6, dtype=bool), 2, True, team, 1000.0)
    mean, variance = skills(model, states, 1000.0)
    draws = mean + np.sqrt(variance) * random.standard_normal((200_000, 6))
    performances = draws + random.standard_normal(draws.shape)
    results = np.stack([performances[:, team == number].mean(1) for number in range(3)])
    kept = draws[results[0] > results[1:].max(0)]
    error = kept.std(0) / math.sqrt(len(kept))
    after = dict(model.steps(states, outcome))["place"]
    assert (np.abs(kept.mean(0) - after[:, 0]) < 5 * error).all()
    if key == "thurstone-filter":
        spread_error = ((kept - kept.mean(0)) ** 2).std(0) / math.sqrt(len(kept))
        assert (np.abs(kept.var(0) - after[:, 1]) < 5 * spread_error).all()


def test_variance_halves_after_the_settling_number_of_races() -> None:
    model = ThurstoneHurdle(newcomer_spread=2.0, lasting_spread=0.5, settling=4.0)
    variance = model.skill_variance(np.array([[0.0, 0.0], [0.0, 4.0], [9.0, 1e12]]))
    np.testing.assert_allclose(variance, [4.0, 0.25 + 3.75 / 2, 0.25])


def test_days_are_kept_only_if_time_away_matters() -> None:
    """Otherwise the state keeps the form that ledgers have stored."""
    assert ThurstoneHurdle().columns == ("rating", "races")
    assert ThurstoneHurdle(yearly_drift=0.5).columns == ("rating", "races", "day")
    sweep = ThurstoneHurdle(yearly_drift=np.array([0.0, 0.5]))
    assert sweep.initial().tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(("away", "counted"), [(0.0, 0.0), (73.0, 73.0), (365.0, 365.0), (4000.0, 365.0)])
def test_time_away_adds_variance(away: float, counted: float) -> None:
    """Adding the same variance to both spreads has the same effect."""
    added = 0.7**2 * counted / 365
    drifting = ThurstoneHurdle(newcomer_spread=1.5, lasting_spread=0.3, yearly_drift=0.7)
    still = ThurstoneHurdle(
        newcomer_spread=math.sqrt(1.5**2 + added), lasting_spread=math.sqrt(0.3**2 + added)
    )
    states = np.array([[0.4, 3.0, 9_000.0], [-0.2, 1.0, 9_000.0], [1.1, 30.0, 9_000.0]])
    outcome = Outcome.of([2, 1], unfinished=1, day=9_000.0 + away)
    after = drifting.rate(states, outcome)
    np.testing.assert_allclose(after[:, :2], still.rate(states[:, :2], outcome), rtol=0, atol=1e-9)
    assert after[:, 2].tolist() == [9_000.0 + away] * 3


def test_a_newcomer_was_never_away() -> None:
    model = ThurstoneHurdle(yearly_drift=0.7)
    outcome = Outcome.of([1, 2], day=20_000.0)
    expected = ThurstoneHurdle().rate(np.zeros((2, 2)), outcome)
    np.testing.assert_array_equal(model.rate(np.zeros((2, 3)), outcome)[:, :2], expected)


def test_a_season_that_keeps_days_can_follow_one_that_does_not() -> None:
    without = np.array([[1.0, 7.0]])
    assert ThurstoneHurdle(yearly_drift=0.7).carried(without, 0.5).tolist() == [[0.5, 7.0, 0.0]]
    assert ThurstoneHurdle().carried(np.array([[1.0, 7.0, 9_000.0]]), 0.5).tolist() == [[0.5, 7.0]]


@pytest.mark.parametrize("made", [ThurstoneHurdle, ThurstoneFilter])
def test_odds_are_scaled_by_kappa_and_lambda(made: type[ThurstoneHurdle | ThurstoneFilter]) -> None:
    """p = 1/(1 + exp(-1.702·κ·lead / √(2 + λ·(v₁ + v₂))))."""
    model = made(odds_scale=1.4, odds_doubt=2.5)
    a, b = np.array([[0.9, 4.0, 1.0], [-0.3, 1.0, 1.0]])[:, : len(model.columns)]
    v = model.skill_variance(np.stack([a, b]))
    lead = float(model.rating(a) - model.rating(b))
    expected = 1 / (1 + math.exp(-1.702 * 1.4 * lead / math.sqrt(2 + 2.5 * v.sum())))
    assert model.win_probability(a, b) == pytest.approx(expected, abs=1e-12)
    sweep = made(odds_scale=np.array([1.0, 1.4]), odds_doubt=np.array([1.0, 2.5]))
    chances = sweep.win_probability(np.stack([a, a]), np.stack([b, b]))
    assert chances == pytest.approx(
        [made(odds_scale=1.0, odds_doubt=1.0).win_probability(a, b), expected], abs=1e-12
    )


@pytest.mark.parametrize("made", [ThurstoneHurdle, ThurstoneFilter])
def test_odds_of_a_race_agree_with_those_of_its_pairs_to_a_hundredth(
    made: type[ThurstoneHurdle | ThurstoneFilter],
) -> None:
    """With the same κ and λ: performances are Gaussian, and the odds of a pair logistic."""
    model = made(odds_scale=1.4, odds_doubt=2.5, performance_scale=1.4, performance_doubt=2.5)
    leads = np.linspace(-9.0, 9.0, 401)
    ahead = np.stack([leads, np.full(401, 3.0), np.ones(401)], -1)[:, : len(model.columns)]
    behind = np.concatenate([np.zeros((401, 1)), ahead[:, 1:]], -1)
    mean, spread = model.performance(np.stack([ahead, behind]))
    np.testing.assert_allclose(spread[0] ** 2, (1 + 2.5 * model.skill_variance(ahead)) / 1.4**2)
    gap = ndtr((mean[0] - mean[1]) / np.hypot(*spread)) - model.win_probability(ahead, behind)
    assert 0.005 < np.abs(gap).max() < 0.0095


def test_lambda_of_the_odds_is_bounded() -> None:
    with pytest.raises(ModelError, match="at most 8"):
        create("thurstone-hurdle", {"odds_doubt": 8.1})


def test_the_filter_agrees_with_a_race_worked_by_hand() -> None:
    """The winner was away for ten days, the second is a newcomer, and a player back after years gives up."""
    model = ThurstoneFilter(**FILTER_WITHOUT_FLOOR)
    states = np.array([[1.0, 0.4, 1000.0], [0.0, 4.01**2, 0.0], [-2.0, 1.0, 10.0]])
    day = 1010.0
    grown = [0.4 + 0.0071**2 + 10 * 0.0416**2, 4.01**2 + 0.0071**2, 1.0 + 0.0071**2 + 365 * 0.0416**2]
    (m0, v0), (m1, v1), (m2, v2) = posteriors(-5.28, 2.01, states[:, 0], grown)
    s = math.sqrt(v0 + v1 + 2)
    lead = (m0 - m1) / s
    hazard = math.exp(-(lead**2) / 2) / math.sqrt(2 * math.pi) / ndtr(lead)
    shrink = hazard * (hazard + lead)
    # A player who gave up becomes no more certain, and gains no rating.
    v2 = max(v2, 1.0)
    m2 = min(m2, -2.0 + 1.31 * (math.sqrt(v2) - 1.0))
    expected = [
        [m0 + v0 / s * hazard, v0 - v0**2 / s**2 * shrink, day],
        [m1 - v1 / s * hazard, v1 - v1**2 / s**2 * shrink, day],
        [m2, v2, day],
    ]
    after = model.rate(states, Outcome.of([1, 2], unfinished=1, day=day))
    np.testing.assert_allclose(after, expected, rtol=0, atol=2e-6)
    assert model.rating(after)[0] > model.rating(states)[0]


def test_time_cannot_run_backwards_for_a_filter() -> None:
    model = ThurstoneFilter(**FILTER_WITHOUT_FLOOR)
    states = np.array([[0.0, 1.0, 500.0], [0.5, 1.0, 500.0]])
    earlier = model.rate(states, Outcome.of([1, 2], day=400.0))
    same = model.rate(states, Outcome.of([1, 2], day=500.0))
    np.testing.assert_array_equal(earlier, same)


def log_likelihood(ratings: FloatArray, group: list[int], unfinished: list[bool]) -> float:
    """Of `plackett-luce-hurdle`: a product over eliminations, and over the hurdle."""
    finish = expit((ratings - 1.87) / 1.33)
    total = float(np.log(np.where(unfinished, 1 - finish, finish)).sum())
    rates = np.exp(-ratings)
    remaining = [i for i, out in enumerate(unfinished) if not out]
    for i in sorted(remaining, key=lambda i: -group[i])[:-1]:
        total += math.log(rates[i] / rates[remaining].sum())
        remaining.remove(i)
    return total


@pytest.mark.parametrize(
    ("group", "unfinished"),
    [([1, 0, 2], [False] * 3), ([2, 0, 1, 3, 3], [False] * 3 + [True] * 2), ([0, 1], [False, True])],
)
def test_plackett_luce_follows_the_gradient(group: list[int], unfinished: list[bool]) -> None:
    model = PlackettLuceHurdle(rates=(1e-6,), floor=None, spare_finishers=False)
    ratings = np.array([0.3, 1.4, -0.2, 2.5, 0.8])[: len(group)]
    step = 1e-5
    expected = [
        (
            log_likelihood(ratings + step * e, group, unfinished)
            - log_likelihood(ratings - step * e, group, unfinished)
        )
        / (2 * step)
        for e in np.eye(len(group))
    ]
    # One more entrant, without an account, holds the last place, so that nobody's gain is clamped.
    outcome = replace(Outcome.of([1]), group=np.array(group), unfinished=np.array(unfinished), last_group=9)
    outcome = replace(outcome, last_unfinished=any(unfinished))
    moved = (model.rate(ratings[:, np.newaxis], outcome)[:, 0] - ratings) / 1e-6
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-6)


def test_plackett_luce_with_equal_times_sums_over_their_orders() -> None:
    model = PlackettLuceHurdle(rates=(1e-6,), floor=None, spare_finishers=False)
    ratings = np.array([0.3, 1.4, -0.2, 0.9])
    step = 1e-5

    def total(at: FloatArray) -> float:
        orders = ([0, 1, 2, 3], [0, 2, 1, 3])
        return float(np.logaddexp.reduce([log_likelihood(at, list(order), [False] * 4) for order in orders]))

    expected = [(total(ratings + step * e) - total(ratings - step * e)) / (2 * step) for e in np.eye(4)]
    outcome = replace(Outcome.of([1, 2, 2, 3]), last_group=9)
    for states in (ratings[:, np.newaxis], np.stack([ratings[:, np.newaxis]] * 2)):
        moved = (model.rate(states, outcome)[..., 0] - ratings) / 1e-6
        np.testing.assert_allclose(np.atleast_2d(moved)[-1], expected, rtol=0, atol=1e-6)


def test_ratings_do_not_cross_the_floor_in_either_direction() -> None:
    model = PlackettLuceHurdle()
    after = model.rate(np.array([[0.05], [-0.5], [3.0]]), Outcome.of([1], unfinished=2))
    assert after[:2, 0].tolist() == pytest.approx([0.05 + after[0, 0] - 0.05, -0.5])
    lost = model.rate(np.array([[3.0], [0.01]]), Outcome.of([1], unfinished=1))
    assert lost[1, 0] == 0.0


@pytest.mark.parametrize("name", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"])
def test_newcomers_have_1000_points_with_any_parameters(name: str) -> None:
    """A newcomer has 1000, whatever the parameters, and better ones have more."""
    model = create(name)
    newcomer = model.initial()
    assert model.points(newcomer[np.newaxis]).tolist() == [1000]
    tuned: dict[str, Any] = {"plackett-luce-hurdle": {"initial_rating": 0.1}}.get(
        name, {"newcomer_spread": 3.0}
    )
    other = create(name, tuned)
    assert other.points(other.initial()[np.newaxis]).tolist() == [1000]
    better = model.rate(np.stack([newcomer] * 2), Outcome.of([1], unfinished=1))
    won, lost = model.points(better).tolist()
    assert 500 < lost < 1000 < won < 1700


def test_finishing_last_can_cost_more_than_giving_up_if_finishers_are_not_spared() -> None:
    states = np.array([[3.0, 40.0], [0.5, 40.0], [0.4, 40.0], [0.3, 40.0], [3.0, 40.0]])
    outcome = Outcome.of([4, 1, 2, 3], unfinished=1)
    ratings = ThurstoneHurdle(spare_finishers=False).rate(states, outcome)[:, 0]
    assert ratings[0] < ratings[4]
