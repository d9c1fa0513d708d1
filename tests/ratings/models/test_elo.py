"""Two-player Elo against the formulas of elo §3.1, finite differences and the limits that it names."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.model import RatingModel
from racebot.ratings.models.elo import ExponentialElo, GaussianElo

LEADS = [-12.0, -1.0, 0.0, 0.7, 12.0]
NORMAL = NormalDist()


def gain(model: RatingModel, lead: float) -> float:
    """Return the gain of a winner with this lead, at a learning rate of 1."""
    after = model.rate(np.array([[lead], [0.0]]), Outcome.of([1, 2]))
    assert after.sum() == pytest.approx(lead, abs=1e-12)  # what one gains the other loses
    return float(after[0, 0] - lead)


@pytest.mark.parametrize("lead", LEADS)
def test_exponential_update_follows_its_formula(lead: float) -> None:
    assert gain(ExponentialElo(rates=(1.0,)), lead) == pytest.approx(1 / (1 + math.exp(lead)))


@pytest.mark.parametrize("lead", LEADS)
def test_gaussian_likelihood_update_follows_its_formula(lead: float) -> None:
    z = lead / math.sqrt(2)
    chance = math.erfc(-z / math.sqrt(2)) / 2
    expected = math.exp(-z * z / 2) / math.sqrt(4 * math.pi) / chance
    assert gain(GaussianElo(rates=(1.0,)), lead) == pytest.approx(expected, rel=1e-9)


def test_gaussian_update_is_the_slope_of_the_log_probability() -> None:
    step = 1e-5
    log = [math.log(NORMAL.cdf((0.4 + shift) / math.sqrt(2))) for shift in (step, -step)]
    assert gain(GaussianElo(rates=(1.0,)), 0.4) == pytest.approx((log[0] - log[1]) / (2 * step), abs=1e-9)


@pytest.mark.parametrize("lead", LEADS)
def test_bounded_gaussian_update_follows_its_formula(lead: float) -> None:
    expected = NORMAL.cdf(-lead / math.sqrt(2))
    assert gain(GaussianElo(rule="bounded", rates=(1.0,)), lead) == pytest.approx(expected, abs=1e-12)


def test_an_upset_moves_the_likelihood_rule_by_half_the_gap() -> None:
    """elo §3.1.2: φ(x)/Φ(x) ~ -x, so that the update grows like lead/2."""
    assert gain(GaussianElo(rates=(1.0,)), -400.0) == pytest.approx(200.0, rel=1e-4)
    assert gain(GaussianElo(rule="bounded", rates=(1.0,)), -400.0) == pytest.approx(1.0)


def test_a_forfeit_counts_as_a_loss() -> None:
    model = ExponentialElo()
    states = np.array([[0.3], [0.1]])
    finished = model.rate(states, Outcome.of([1, 2]))
    assert model.rate(states, Outcome.of([1], unfinished=1)).tolist() == finished.tolist()


def test_the_dummy_is_one_more_opponent() -> None:
    after = ExponentialElo(rates=(1.0,), dummy=0.0).rate(np.zeros((2, 1)), Outcome.of([1, 2]))
    assert after[:, 0].tolist() == [1.0, -0.5]


@pytest.mark.parametrize("model", [ExponentialElo(), GaussianElo(), ExponentialElo(dummy=0.0)])
def test_races_of_more_than_two_are_refused(model: RatingModel) -> None:
    with pytest.raises(ModelError, match="rates two players, not 3; pairwise-elo rates any number"):
        model.rate(np.zeros((3, 1)), Outcome.of([1, 2, 3]))


def test_win_probability_follows_its_formula() -> None:
    a, b = np.array([1.2]), np.array([0.5])
    assert ExponentialElo().win_probability(a, b) == pytest.approx(1 / (1 + math.exp(-0.7)))
    assert GaussianElo().win_probability(a, b) == pytest.approx(NORMAL.cdf(0.7 / math.sqrt(2)))
