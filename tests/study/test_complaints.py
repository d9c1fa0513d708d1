from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import pytest
from builders import result

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import RatingModel
from racebot.ratings.models.hurdle import HurdleModel
from racebot.ratings.registry import create
from racebot.study.complaints import SAMPLE, Complaints, checked_again, gave_up
from racebot.study.history import History, Step


@dataclass(frozen=True)
class Moved:
    """A model that moves the entrants by fixed points, in listing order."""

    moves: tuple[float, ...]
    key: ClassVar[str] = "moved"

    def rate(self, states: np.ndarray, outcome: Outcome) -> np.ndarray:
        return states + np.array(self.moves)[:, np.newaxis]

    def rating(self, states: np.ndarray) -> np.ndarray:
        return states[..., 0]

    def points(self, states: np.ndarray) -> np.ndarray:
        return np.rint(states[..., 0]).astype(np.int64)


def judge(model: RatingModel, race: PastRace, before: np.ndarray) -> Complaints:
    return Complaints.of(model, [Step(race, before, model.rate(before, race.outcome))])


def complaints(finishers: str, dnf: str, ratings: list[float], moves: list[float]) -> Complaints:
    """Return the complaints of one race. Ratings and moves are sorted by place, then by name."""
    (race,) = History.of([result("r", finishers, dnf=dnf)]).races
    model, before = cast(RatingModel, Moved(tuple(moves))), np.array(ratings)[:, np.newaxis]
    return judge(model, race, before)


def test_dnfs_that_gain_and_winners_that_lose_are_counted() -> None:
    found = complaints("ann bo", "cy di ed", [5, 6, 7, 8, 9], [-1, 2, 3, 0, 1])
    assert (found.unfinished_gains, found.last_gains, found.winner_losses) == (2, 2, 1)
    found = complaints("ann bo", "", [5, 6], [1, 2])
    assert (found.unfinished_gains, found.last_gains, found.winner_losses) == (0, 1, 0)
    # Only gains in the points that people see count.
    assert complaints("ann bo", "cy", [5, 6, 7], [-0.3, 0, 0.3]) == Complaints()


def test_unequal_changes_of_tied_equal_players_are_counted() -> None:
    # Cy and Ed have the same rating and place, and different changes; Di has another rating.
    found = complaints("ann bo", "cy di ed", [7, 7, 7, 8, 7], [-1, -1, -1, -2, -3])
    assert found.unequal_ties == 1
    assert complaints("ann=bo cy", "", [7, 7, 7], [2, 2, -4]).unequal_ties == 0


def test_players_with_different_states_are_not_equals() -> None:
    """Both did not finish and both have 0, but only Bo is new."""
    (race,) = History.of([result("r", "ann", dnf="bo cy")]).races
    model, before = create("thurstone-hurdle"), np.array([[1.0, 5.0], [0.0, 0.0], [0.0, 1.0]])
    after = model.rate(before, race.outcome)
    assert after[1, 0] < after[2, 0]
    assert judge(model, race, before) == Complaints()


def test_changes_that_depend_on_the_listing_order_are_counted() -> None:
    # Reversed, the moves are 3, 2, 1 for Ann, Bo and Cy: only Bo's is the same.
    assert complaints("ann bo cy", "", [7, 7, 7], [1, 2, 3]).order_dependent == 2
    assert complaints("ann bo cy", "", [7, 7, 7], [1, 2, 1]).order_dependent == 0


@dataclass(frozen=True)
class FixedLoss(Moved):
    """A model in which place p costs 10·p points, and giving up costs `moves[0]`."""

    def rate(self, states: np.ndarray, outcome: Outcome) -> np.ndarray:
        cost = np.where(outcome.unfinished, self.moves[0], 10.0 * outcome.group)
        return states - cost[:, np.newaxis]


def test_finishers_who_would_have_lost_less_by_forfeiting_are_counted() -> None:
    """Giving up costs 25, fourth place 30 and third place 20. DNFs do not count."""
    (race,) = History.of([result("r", "ann bo cy di", dnf="ed")]).races
    model, before = cast(RatingModel, FixedLoss((25.0,))), np.full((5, 1), 100.0)
    assert judge(model, race, before).late_losses == 1


@pytest.mark.parametrize(("size", "checked"), [(50, 47), (51, 3)])
def test_only_the_worst_placed_are_checked_in_large_fields(size: int, checked: int) -> None:
    """Giving up costs 25, and place p costs 10·p: all from the fourth on would do better to give up."""
    (race,) = History.of([result("r", " ".join(f"p{i:02}" for i in range(size)))]).races
    model, before = cast(RatingModel, FixedLoss((25.0,))), np.full((size, 1), 1000.0)
    assert judge(model, race, before).late_losses == checked


@pytest.mark.parametrize("key", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"])
def test_the_state_after_a_forfeit_is_that_of_a_race_without_it(key: str) -> None:
    """The formula agrees with rating the race once more for each finisher."""
    model = create(key)
    assert isinstance(model, HurdleModel)
    states = np.abs(np.random.default_rng(2).normal(1.0, 0.5, (6, len(model.columns))))
    outcome = Outcome.of([1, 2, 2, 4], unfinished=2, day=20_000.0)
    found = model.after_forfeit(states, outcome.day)
    for i in range(4):
        np.testing.assert_array_equal(found[i], model.rate(states, gave_up(outcome, i))[i])


def test_giving_up_moves_a_finisher_and_the_team_to_the_last_group() -> None:
    outcome = Outcome.of([1, 2, 2, 3])
    alone, shared = gave_up(outcome, 0), gave_up(outcome, 1)
    assert (alone.group.tolist(), alone.last_group, alone.last_unfinished) == ([2, 0, 0, 1], 2, True)
    assert alone.unfinished.tolist() == [True, False, False, False]
    assert (shared.group.tolist(), shared.last_group) == ([0, 3, 1, 2], 3)
    joined = gave_up(Outcome.of([1, 2], unfinished=1), 1)
    assert (joined.group.tolist(), joined.last_group) == ([0, 1, 1], 1)
    together = gave_up(Outcome.of([1, 2, 1, 2], team=[0, 1, 0, 1]), 2)
    assert together.unfinished.tolist() == [True, False, True, False]
    assert together.group.tolist() == [1, 0, 1, 0]


def test_draws_among_dnfs_cause_complaints() -> None:
    # As in multiplayer-generalizations-of-elo §2: weak players give up together with a strong one.
    (race,) = History.of([result("r", "ann", dnf="bo cy di ed fay")]).races
    before = np.array([[30.0, 2.0], [28.0, 1.5], [15.0, 6.0], *[[25.0, 25 / 3]] * 3])
    found = judge(create("trueskill", {"unfinished": "tie"}), race, before)
    assert min(found.unfinished_gains, found.unequal_ties, found.order_dependent) > 0
    found = judge(create("trueskill"), race, before)
    assert (found.unequal_ties, found.order_dependent) == (0, 0)


def test_a_long_history_is_rated_again_in_a_sample_of_races(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History.of([result(f"r{number}", "ann bo cy") for number in range(3)])
    step = Step(history.races[0], np.full((3, 1), 7.0), np.array([[8.0], [9.0], [10.0]]))
    model = cast(RatingModel, Moved((1, 2, 3)))
    assert Complaints.of(model, [step] * 3).order_dependent == 6
    assert Complaints.of(model, [step] * 3, every=2).order_dependent == 4
    assert checked_again(history) == 1
    monkeypatch.setattr("racebot.study.complaints.ALL_CHECKED", 8)
    assert checked_again(history) == SAMPLE
