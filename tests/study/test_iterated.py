from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from racebot.races.outcome import Outcome
from racebot.study.iterated import FinalRatings, IteratedElo, Match

ONE_PASS: dict[str, Any] = {"passes": 1.0, "minimum_games": 0.0}


def chance(lead: float) -> float:
    return 1 / (1 + 10 ** (-lead / 400))


def match(players: list[int], outcome: Outcome, factors: list[int] | None = None) -> Match:
    return Match(np.array(players), outcome, None if factors is None else np.array(factors))


def test_each_pair_is_applied_before_the_next() -> None:
    """Three places: first against second, first against third, second against third."""
    a = b = c = 1000.0
    a, b = a + 16 * (1 - chance(a - b)), b - 16 * (1 - chance(a - b))
    a, c = a + 16 * (1 - chance(a - c)), c - 16 * (1 - chance(a - c))
    b, c = b + 16 * (1 - chance(b - c)), c - 16 * (1 - chance(b - c))
    ratings = IteratedElo(**ONE_PASS).fit([match([2, 0, 1], Outcome.of([3, 1, 2]))], players=3)
    assert ratings.players == pytest.approx([a, b, c])
    assert ratings.players[0] == pytest.approx(1000 + 8 + 16 * (1 - chance(8)))


def test_each_pass_has_the_pot_of_the_source() -> None:
    """16, 4 and 1.77: each pass starts from the ratings that the last one left."""
    lead = 0.0
    for pot in (16.0, 4.0, 16 / 9):
        lead += 2 * pot * (1 - chance(lead))
    ratings = IteratedElo(minimum_games=0.0).fit([match([0, 1], Outcome.of([1, 2]))], players=2)
    assert ratings.players == pytest.approx([1000 + lead / 2, 1000 - lead / 2])


def test_newcomers_only_affect_newcomers() -> None:
    model = IteratedElo(passes=1.0, minimum_games=2.0)
    both_new = match([0, 1], Outcome.of([1, 2]))
    ratings = model.fit([both_new, both_new], players=3)
    assert ratings.players[0] > 1000 > ratings.players[1]
    known = model.fit([both_new, both_new, match([0, 2], Outcome.of([1, 2]))], players=3)
    assert known.players[0] == ratings.players[0]
    assert known.players[2] == pytest.approx(1000 - 16 * (1 - chance(ratings.players[0] - 1000)))


def test_games_count_in_full_from_the_second_pass() -> None:
    """In the second pass a player with enough races moves others from the first race on."""
    model = IteratedElo(passes=2.0, minimum_games=1.0, decay=0.0)
    ratings = model.fit([match([0, 1], Outcome.of([1, 2]))], players=2)
    at_once = IteratedElo(passes=2.0, minimum_games=0.0, decay=0.0)
    once = at_once.fit([match([0, 1], Outcome.of([1, 2]))], players=2)
    np.testing.assert_allclose(ratings.players, once.players)


def test_a_factor_is_added_to_the_player_and_moves_too() -> None:
    model = IteratedElo(**ONE_PASS, factor_weight=0.5, initial_factor=0.0)
    first = match([0, 1], Outcome.of([1, 2]), [0, 1])
    ratings = model.fit([first], players=3, factors=2)
    assert ratings.factors == pytest.approx([4.0, -4.0])
    second = match([2, 3], Outcome.of([1, 2]), [1, 0])
    ratings = model.fit([first, second], players=4, factors=2)
    change = 16 * (1 - chance(0.5 * (-4.0 - 4.0)))
    assert ratings.players[2:] == pytest.approx([1000 + change, 1000 - change])
    assert ratings.factors == pytest.approx([4.0 - change / 2, -4.0 + change / 2])


def test_factors_can_move_by_the_pot_again_as_in_the_sources_listing() -> None:
    ratings = IteratedElo(**ONE_PASS, factor_pot="squared").fit(
        [match([0, 1], Outcome.of([1, 2]), [0, 1])], players=2, factors=2
    )
    assert ratings.factors == pytest.approx([128.0, -128.0])


def test_newcomers_do_not_move_factors() -> None:
    played = match([0, 1], Outcome.of([1, 2]), [0, 1])
    ratings = IteratedElo(passes=1.0, minimum_games=1.0).fit([played], players=2, factors=2)
    assert ratings.factors.tolist() == [0.0, 0.0]
    assert ratings.players.tolist() == [1008.0, 992.0]


def test_dropping_out_costs_the_player_but_not_the_factor() -> None:
    dropped = match([0, 1, 2], Outcome.of([1], unfinished=2), [0, 1, 1])
    counted = IteratedElo(**ONE_PASS).fit([dropped], players=3, factors=2)
    assert counted.factors.tolist() == [0.0, 0.0]
    assert counted.players[0] == pytest.approx(1008 + 16 * (1 - chance(8.0)))
    assert counted.players[1:] == pytest.approx([992.0, 1000 - 16 * (1 - chance(8.0))])
    ignored = IteratedElo(**ONE_PASS, dropouts="ignored").fit([dropped], players=3, factors=2)
    assert ignored.players.tolist() == [1000.0] * 3


def test_equal_places_are_draws_only_if_asked_for() -> None:
    tied = match([0, 1], Outcome.of([1, 1]))
    before = match([0, 1], Outcome.of([1, 2]))
    unobserved = IteratedElo(**ONE_PASS).fit([before, tied], players=2)
    assert unobserved.players.tolist() == [1008.0, 992.0]
    drawn = IteratedElo(**ONE_PASS, unfinished="tie").fit([before, tied], players=2)
    assert drawn.players[0] == pytest.approx(1008 + 16 * (0.5 - chance(16.0)))


def simulated(seed: int, races: int = 2500) -> tuple[list[Match], np.ndarray, np.ndarray]:
    """Simulate races of five of sixty players, with five of eight factors; one in ten drops out."""
    random = np.random.default_rng(seed)
    skill, strength = random.normal(0, 150, 60), np.linspace(-150, 150, 8)
    history = []
    for _ in range(races):
        who, what = random.choice(60, 5, replace=False), random.choice(8, 5, replace=False)
        performance = skill[who] + strength[what] + random.logistic(0, 400 / np.log(10), 5)
        dropped = random.random(5) < 0.1
        place = np.where(dropped, 5, (-performance).argsort().argsort())
        outcome = Outcome(
            group=place, unfinished=dropped, last_group=int(place.max()), last_unfinished=bool(dropped.any())
        )
        history.append(Match(who, outcome, what))
    return history, skill, strength


def fitted(model: IteratedElo, history: list[Match]) -> FinalRatings:
    return model.fit(history, players=60, factors=8)


@pytest.mark.parametrize("dropouts", ["counted", "ignored"])
def test_planted_strengths_are_recovered(dropouts: str) -> None:
    history, skill, strength = simulated(seed=5)
    ratings = fitted(IteratedElo(dropouts=dropouts), history)
    assert np.corrcoef(ratings.factors, strength)[0, 1] > 0.95
    assert np.corrcoef(ratings.players, skill)[0, 1] > 0.93
    assert ratings.factors.sum() == pytest.approx(0.0, abs=1e-6)
    without = fitted(IteratedElo(dropouts=dropouts, factor_weight=0.0), history)
    assert without.factors.tolist() == [0.0] * 8


def test_the_listing_order_is_irrelevant() -> None:
    history, _, _ = simulated(seed=6, races=50)
    random = np.random.default_rng(1)
    listed = []
    for players, outcome, factors in history:
        order = random.permutation(5)
        assert factors is not None
        other = replace(outcome, group=outcome.group[order], unfinished=outcome.unfinished[order])
        listed.append(Match(players[order], other, factors[order]))
    for one, another in zip(fitted(IteratedElo(), history), fitted(IteratedElo(), listed), strict=True):
        np.testing.assert_array_equal(one, another)
