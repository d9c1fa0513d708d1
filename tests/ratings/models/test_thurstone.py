import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.models.elo import GaussianElo
from racebot.ratings.models.thurstone import Thurstone
from racebot.ratings.registry import create

PLAIN: dict[str, Any] = {"dummy": None, "floor": None, "initial_rating": 0.0, "rates": (1.0,)}


def test_two_players_move_as_in_gaussian_elo() -> None:
    states = np.array([[0.2], [0.9]])
    expected = GaussianElo(rates=(1.0,)).rate(states, Outcome.of([1, 2]))
    after = Thurstone(**PLAIN).rate(states, Outcome.of([1, 2]))
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-7)


def test_three_equal_players_move_by_the_mean_order_statistics() -> None:
    """The expected largest of three standard normals is 3 / (2 sqrt π)."""
    after = Thurstone(**PLAIN).rate(np.zeros((3, 1)), Outcome.of([3, 1, 2]))
    largest = 1.5 / math.sqrt(math.pi)
    assert after[:, 0] == pytest.approx([-largest, largest, 0.0], abs=1e-7)


def test_the_published_parameters_agree_with_a_race_worked_by_hand() -> None:
    """elo §5.2: r 0.3, dummy .9, rates .65 .09 .07; a newcomer beats a newcomer, tied with the dummy."""
    model = Thurstone()

    def area(*shifts: float) -> float:
        def joint(x: float) -> float:
            density = math.exp(-((x - 0.3 - shifts[0]) ** 2) / 2)
            return density * float(ndtr(x - 0.3 - shifts[1]) * ndtr(x - 0.9))

        return math.log(quad(joint, -9, 9, epsabs=0, epsrel=1e-12)[0])

    step = 1e-3
    winner = (area(step, 0) - area(-step, 0)) / (2 * step)
    loser = (area(0, step) - area(0, -step)) / (2 * step)
    rate = 0.65 + 0.3 * (0.09 - 0.65)
    after = model.rate(np.tile(model.initial(), (2, 1)), Outcome.of([1, 2]))
    assert after[:, 0] == pytest.approx([0.3 + rate * winner, max(0.3 + rate * loser, 0.0)], abs=1e-6)


def test_win_probability_follows_its_formula() -> None:
    for lead in (-2.0, -0.004, 0.0, 0.3, 5.0):
        chance = Thurstone().win_probability(np.array([lead]), np.array([0.0]))
        assert chance == pytest.approx(float(ndtr(lead / math.sqrt(2))))


def test_former_parameters_of_old_ledgers_are_passed_over() -> None:
    assert create("thurstone", {"density": "gaussian", "weight": 1.0, "floor": 0.5}) == Thurstone(floor=0.5)
    with pytest.raises(ModelError, match="no parameter 'density'"):
        create("thurstone", {"density": "logistic"})
