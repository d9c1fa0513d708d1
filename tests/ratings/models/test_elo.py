"""Elo against its formulas, finite differences, explicit loops over pairs, and numbers worked by hand."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.model import RatingModel
from racebot.ratings.models.elo import ExponentialElo, GaussianElo, PairwiseElo, Thurstone
from racebot.ratings.registry import create

LEADS = [-12.0, -1.0, 0.0, 0.7, 12.0]
NORMAL = NormalDist()


def gain(model: RatingModel, lead: float) -> float:
    """Return the gain of a winner with this lead, at a learning rate of 1."""
    after = model.rate(np.array([[lead], [0.0]]), Outcome.of([1, 2]))
    assert after.sum() == pytest.approx(lead, abs=1e-12)  # what one gains the other loses
    return float(after[0, 0] - lead)


def exponential(lead: float) -> float:
    return 1 / (1 + math.exp(lead))


def gaussian(lead: float) -> float:
    z = lead / math.sqrt(2)
    return math.exp(-z * z / 2) / math.sqrt(4 * math.pi) / (math.erfc(-z / math.sqrt(2)) / 2)


@pytest.mark.parametrize("lead", LEADS)
def test_updates_follow_their_formulas(lead: float) -> None:
    assert gain(ExponentialElo(rates=(1.0,)), lead) == pytest.approx(exponential(lead))
    assert gain(GaussianElo(rates=(1.0,)), lead) == pytest.approx(gaussian(lead), rel=1e-9)
    bounded = gain(GaussianElo(rule="bounded", rates=(1.0,)), lead)
    assert bounded == pytest.approx(NORMAL.cdf(-lead / math.sqrt(2)), abs=1e-12)


def test_an_upset_moves_the_likelihood_rule_by_half_the_gap() -> None:
    """elo §3.1.2: φ(x)/Φ(x) ~ -x, so that the update grows like lead/2."""
    assert gain(GaussianElo(rates=(1.0,)), -400.0) == pytest.approx(200.0, rel=1e-4)
    assert gain(GaussianElo(rule="bounded", rates=(1.0,)), -400.0) == pytest.approx(1.0)


@pytest.mark.parametrize("model", [ExponentialElo(), GaussianElo(), ExponentialElo(dummy=0.0)])
def test_races_of_more_than_two_are_refused(model: RatingModel) -> None:
    with pytest.raises(ModelError, match="rates two players, not 3; pairwise-elo rates any number"):
        model.rate(np.zeros((3, 1)), Outcome.of([1, 2, 3]))


def test_win_probability_follows_its_formula() -> None:
    a, b = np.array([1.2]), np.array([0.5])
    assert ExponentialElo().win_probability(a, b) == pytest.approx(1 / (1 + math.exp(-0.7)))
    assert GaussianElo().win_probability(a, b) == pytest.approx(NORMAL.cdf(0.7 / math.sqrt(2)))


PLAIN: dict[str, Any] = {"dummy": None, "initial_rating": 0.0, "rates": (1.0,)}
RATINGS = [0.5, -1.0, 0.2, 1.4]
OUTCOME = Outcome.of([2, 1], unfinished=2)
BEATEN = [(1, 0), (1, 2), (1, 3), (0, 2), (0, 3)]
"""Pairs of the outcome, the winner first; the two unfinished were not compared."""


@pytest.mark.parametrize(("version", "gain"), [("exponential", exponential), ("gaussian", gaussian)])
@pytest.mark.parametrize("combine", ["sum", "mean"])
def test_sum_and_mean_cover_only_compared_pairs(
    version: str, gain: Callable[[float], float], combine: str
) -> None:
    moves, counts = [0.0] * 4, [0] * 4
    for winner, loser in BEATEN:
        step = gain(RATINGS[winner] - RATINGS[loser])
        moves[winner] += step
        moves[loser] -= step
        counts[winner] += 1
        counts[loser] += 1
    assert counts == [3, 3, 2, 2]
    if combine == "mean":
        moves = [move / count for move, count in zip(moves, counts, strict=True)]
    model = PairwiseElo(**PLAIN, combine=combine, version=version)
    after = model.rate(np.array(RATINGS)[:, np.newaxis], OUTCOME)
    np.testing.assert_allclose(after[:, 0], np.add(RATINGS, moves), rtol=0, atol=1e-12)


def test_ties_are_half_a_win_for_each() -> None:
    states = np.array(RATINGS)[:, np.newaxis]
    unobserved = PairwiseElo(**PLAIN).rate(states, OUTCOME)
    tie = PairwiseElo(**PLAIN, unfinished="tie").rate(states, OUTCOME)
    drawn = 0.5 - 1 / (1 + math.exp(RATINGS[3] - RATINGS[2]))
    np.testing.assert_allclose((tie - unobserved)[:, 0], [0, 0, drawn, -drawn], rtol=0, atol=1e-12)


def test_mean_of_ties_is_over_all_opponents() -> None:
    equal = np.zeros((4, 1))
    after = PairwiseElo(**PLAIN, unfinished="tie", combine="mean").rate(equal, OUTCOME)
    assert after[:, 0] == pytest.approx([0.5 / 3, 1.5 / 3, -1 / 3, -1 / 3])


def test_the_dummy_shares_the_losers_place() -> None:
    """elo §5.1 for the sum: newcomers at -1.6 and a dummy at 0 who shares the loser's place."""
    model = PairwiseElo()
    after = model.rate(np.tile(model.initial(), (2, 1)), Outcome.of([1, 2]))
    won = 0.5 + 1 / (1 + math.exp(-1.6))
    assert after[:, 0] == pytest.approx([-1.6 + 0.07 * won, -1.6 - 0.07 * 0.5])


BARE = {**PLAIN, "floor": None}


def test_three_equal_players_move_by_the_mean_order_statistics() -> None:
    """The expected largest of three standard normals is 3 / (2 sqrt π)."""
    after = Thurstone(**BARE).rate(np.zeros((3, 1)), Outcome.of([3, 1, 2]))
    largest = 1.5 / math.sqrt(math.pi)
    assert after[:, 0] == pytest.approx([-largest, largest, 0.0], abs=1e-7)


def test_the_published_parameters_of_thurstone_agree_with_a_race_worked_by_hand() -> None:
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


def test_win_probability_of_thurstone_follows_its_formula() -> None:
    for lead in (-2.0, -0.004, 0.0, 0.3, 5.0):
        chance = Thurstone().win_probability(np.array([lead]), np.array([0.0]))
        assert chance == pytest.approx(float(ndtr(lead / math.sqrt(2))))


def test_former_parameters_of_old_ledgers_are_passed_over() -> None:
    assert create("thurstone", {"density": "gaussian", "weight": 1.0, "floor": 0.5}) == Thurstone(floor=0.5)
    with pytest.raises(ModelError, match="no parameter 'density'"):
        create("thurstone", {"density": "logistic"})
