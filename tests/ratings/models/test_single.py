"""The base of all single-parameter models, tested with a model whose direction is fixed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.single import GradientModel, Groups, inherited, learning_rate_at


@dataclass(frozen=True, kw_only=True)
class Ladder(GradientModel):
    """A model that moves every entrant by the number of entrants behind, less those ahead."""

    key: ClassVar[str] = "ladder"

    rates: tuple[Number, ...] = inherited("rates", (1.0,), search=(0.5, 2.0))

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        return np.broadcast_to(groups.before().sum(-1), ratings.shape)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.full(np.broadcast_shapes(a.shape, b.shape)[:-1], 0.5)


def column(*ratings: float) -> FloatArray:
    return np.array(ratings)[:, np.newaxis]


@pytest.mark.parametrize(
    ("rating", "rate"),
    [(-3.0, 0.6), (0.0, 0.6), (0.5, 0.365), (1.0, 0.13), (1.25, 0.12), (2.0, 0.09), (7.0, 0.09)],
)
def test_learning_rate_is_linear_between_knots_and_flat_outside(rating: float, rate: float) -> None:
    model = Ladder(knots=(0.0, 1.0, 2.0), rates=(0.6, 0.13, 0.09))
    assert model.learning_rate(np.array([rating])) == pytest.approx([rate], abs=1e-12)
    assert learning_rate_at(rating, [0.6, 0.13, 0.09, 0.0, 1.0, 2.0]) == pytest.approx(rate, abs=1e-12)
    per_candidate = Ladder(knots=(0.0, 1.0, 2.0), rates=(np.array([0.6, 1.2]), 0.13, np.array([0.09, 0.09])))
    expected = [[rate], [rate + 0.6 * min(max(1 - rating, 0), 1)]]
    assert per_candidate.learning_rate(np.array([[rating], [rating]])) == pytest.approx(np.array(expected))


def test_learning_rate_is_that_of_the_rating_before_the_race() -> None:
    model = Ladder(knots=(0.0, 1.0), rates=(1.0, 0.1))
    after = model.rate(column(1.0, 0.0), Outcome.of([1, 2]))
    assert after[:, 0] == pytest.approx([1.1, -1.0])


def test_floor_stops_a_fall() -> None:
    after = Ladder(floor=0.25).rate(column(5.0, 0.5), Outcome.of([1, 2]))
    assert after[:, 0].tolist() == [6.0, 0.25]


def test_floor_does_not_raise_ratings_already_below_it() -> None:
    after = Ladder(floor=0.25).rate(column(0.0, -1.0), Outcome.of([1, 2]))
    assert after[:, 0].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("outcome", "moves"),
    [
        (Outcome.of([1, 2, 3]), [3.0, 1.0, -2.0]),  # the dummy shares the last finisher's place
        (Outcome.of([1, 2], unfinished=1), [3.0, 1.0, -2.0]),  # or that of the unfinished
        (Outcome.of([1], unfinished=2), [3.0, -1.0, -1.0]),
        (Outcome.of([1, 1, 2]), [2.0, 2.0, -2.0]),
    ],
)
def test_dummy_shares_the_last_place(outcome: Outcome, moves: list[float]) -> None:
    after = Ladder(dummy=0.0).rate(column(0.0, 0.0, 0.0), outcome)
    assert after[:, 0].tolist() == moves


def test_dummy_takes_the_place_of_the_last_entrant_even_if_that_one_is_not_rated() -> None:
    outcome = Outcome(
        group=np.array([0, 2]), unfinished=np.array([False, False]), last_group=4, last_unfinished=True
    )
    after = Ladder(dummy=0.0).rate(column(0.0, 0.0), outcome)
    assert after[:, 0].tolist() == [2.0, 0.0]


def test_initial_state_has_a_row_per_candidate() -> None:
    assert Ladder(initial_rating=0.25).initial().tolist() == [0.25]
    assert Ladder(initial_rating=0.25, floor=np.zeros(3)).initial().tolist() == [[0.25]] * 3
    assert Ladder(rates=(np.array([0.1, 0.2]),)).initial().shape == (2, 1)


def test_points_are_whole_and_scaled() -> None:
    states = column(1.2344, 1.2346, -0.0004, -2.0)
    assert Ladder().points(states).tolist() == [1234, 1235, 0, -2000]
    assert Ladder(points_scale=10.0).points(states).tolist() == [12, 12, 0, -20]
    scales = Ladder(points_scale=np.array([1.0, 100.0])).points(np.full((2, 1, 1), 1.5))
    assert scales.tolist() == [[2], [150]]


@pytest.mark.parametrize(
    ("knots", "rates", "words"),
    [
        ((0.0, 1.0), (0.1, 0.2, 0.3), "3 rates for 2 knots"),
        ((0.0, 1.0), (), "0 rates for 2 knots"),
        ((0.0, 0.0), (0.1, 0.2), "do not ascend"),
        ((0.0, np.array([1.0, -1.0])), (0.1, 0.2), "do not ascend"),
    ],
)
def test_knots_that_do_not_match_the_rates_are_refused(
    knots: tuple[Number, ...], rates: tuple[Number, ...], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        Ladder(knots=knots, rates=rates)


def test_a_redeclared_parameter_keeps_the_rest_of_its_declaration() -> None:
    again = Ladder.__dataclass_fields__["rates"].metadata
    before = GradientModel.__dataclass_fields__["rates"].metadata
    assert again["search"] == (0.5, 2.0)
    assert {**again, "search": None} == {**before, "search": None}
