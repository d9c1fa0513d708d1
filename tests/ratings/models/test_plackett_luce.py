"""Plackett-Luce against sums over all orders, finite differences and numbers worked by hand."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.plackett_luce import PlackettLuce

PLAIN: dict[str, Any] = {"dummy": None, "floor": None, "initial_rating": 0.0, "rates": (1.0,)}


def moves_of(ratings: FloatArray, labels: Sequence[int], **parameters: str) -> FloatArray:
    """Return the changes of a race at a learning rate of 1, without dummy and floor."""
    model = PlackettLuce(**{**PLAIN, **parameters})
    return model.rate(ratings[:, np.newaxis], Outcome.of(labels))[:, 0] - ratings


def orders(labels: Sequence[int]) -> Iterator[list[int]]:
    """Yield all complete orders that agree with the groups, best first."""
    inside = [
        itertools.permutations([i for i, label in enumerate(labels) if label == which])
        for which in sorted(set(labels))
    ]
    for choice in itertools.product(*inside):
        yield list(itertools.chain(*choice))


def log_probability(ratings: FloatArray, order: Sequence[int], orientation: str) -> float:
    """Return the log-probability of a complete order, by its definition."""
    leaving = list(reversed(order)) if orientation == "standard" else list(order)
    rate = np.exp(-ratings if orientation == "standard" else ratings)
    return sum(math.log(rate[k] / rate[leaving[i:]].sum()) for i, k in enumerate(leaving))


def gradient(ratings: FloatArray, order: Sequence[int], orientation: str) -> FloatArray:
    """Return the gradient of a complete order's log-probability, term by term (elo §3.2.2)."""
    leaving = list(reversed(order)) if orientation == "standard" else list(order)
    sign = -1.0 if orientation == "standard" else 1.0
    rate = np.exp(sign * ratings)
    slope = np.zeros(len(ratings))
    for i, k in enumerate(leaving):
        slope[k] += 1
        slope[leaving[i:]] -= rate[leaving[i:]] / rate[leaving[i:]].sum()
    return sign * slope


ORDERINGS = [
    [0, 1],
    [1, 0, 1],
    [0, 0, 1],
    [0, 1, 2, 2],
    [3, 1, 1, 1, 0],
    [0, 1, 1, 2, 2, 3],
    [0, 0, 0, 4, 4, 4],
    [0, 1, 1, 1, 1, 1, 1],
    [6, 5, 4, 3, 2, 1, 0],
]
ORIENTATIONS = ["standard", "reversed"]


def ratings_for(labels: Sequence[int], spread: float, seed: int) -> FloatArray:
    return np.random.default_rng(seed).normal(0.0, spread, len(labels))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("labels", ORDERINGS, ids=str)
def test_exact_is_the_gradient_of_the_sum_over_all_orders(
    labels: list[int], spread: float, orientation: str
) -> None:
    ratings = ratings_for(labels, spread, seed=1)
    logs = np.array([log_probability(ratings, order, orientation) for order in orders(labels)])
    slopes = np.array([gradient(ratings, order, orientation) for order in orders(labels)])
    weights = np.exp(logs - logs.max())
    expected = weights @ slopes / weights.sum()
    moves = moves_of(ratings, labels, orientation=orientation)
    np.testing.assert_allclose(moves, expected, rtol=0, atol=1e-9)


def test_independent_mode_compares_each_dnf_with_the_finishers_alone() -> None:
    """One finisher of rate 1 and two unfinished of rates 1 and 3, worked by hand."""
    ratings = -np.log([1.0, 1.0, 3.0])
    moves = moves_of(ratings, [0, 1, 1], unfinished="independent")
    assert moves == pytest.approx([1 / 2 + 1 / 4, -1 / 2, -1 / 4])


def test_the_published_parameters_agree_with_a_race_worked_by_hand() -> None:
    """elo §5.2: r 0.25, dummy 1.35, rates .6 .13 .09 at 0 1 2; a newcomer beats a newcomer.

    The loser shares the last place with the dummy. All orders of the three in which the newcomer who
    won is last to leave: rates are a = e^-.25 (twice) and d = e^-1.35.
    """
    a, d = math.exp(-0.25), math.exp(-1.35)
    total = 2 * a + d
    loser_first, dummy_first = a / total * d / (a + d), d / total / 2
    share = loser_first / (loser_first + dummy_first)
    winner = share * (a / total + a / (a + d)) + (1 - share) * (a / total + 1 / 2)
    loser = share * (a / total - 1) + (1 - share) * (a / total - 1 / 2)
    rate = 0.6 + 0.25 * (0.13 - 0.6)
    model = PlackettLuce()
    after = model.rate(np.tile(model.initial(), (2, 1)), Outcome.of([1, 2]))
    assert after[:, 0] == pytest.approx([0.25 + rate * winner, max(0.25 + rate * loser, 0.0)], abs=1e-9)


def test_dnfs_need_no_approximation_in_the_reversed_order() -> None:
    """Top-k Plackett-Luce: those who did not finish are never chosen, in whichever order."""
    labels = [0, 1, 2, 2, 2, 2]
    ratings = ratings_for(labels, 1.0, seed=6)
    exact, independent = (
        moves_of(ratings, labels, orientation="reversed", unfinished=word)
        for word in ("exact", "independent")
    )
    np.testing.assert_allclose(exact, independent, rtol=0, atol=1e-14)
    rate = np.exp(ratings)
    chosen = rate[3] / rate.sum() + rate[3] / (rate.sum() - rate[0])
    assert exact[3] == pytest.approx(-chosen)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_shift_of_all_ratings_changes_no_gradient(orientation: str) -> None:
    labels = [0, 1, 1, 2]
    ratings = ratings_for(labels, 1.0, seed=7)
    expected = moves_of(ratings, labels, orientation=orientation)
    for shift in (-1500.0, 1500.0):
        moves = moves_of(ratings + shift, labels, orientation=orientation)
        np.testing.assert_allclose(moves, expected, rtol=0, atol=1e-9)


def test_win_probability_is_that_of_two_exponentials() -> None:
    a, b = np.array([1.0]), np.array([-0.5])
    area, _ = quad(
        lambda x: math.exp(-x * math.exp(-1.0)) * math.exp(0.5) * math.exp(-x * math.exp(0.5)), 0, 99
    )
    for orientation in ORIENTATIONS:
        assert PlackettLuce(orientation=orientation).win_probability(a, b) == pytest.approx(area)
