"""multielo's published figures, and its formulas as explicit loops."""

from __future__ import annotations

import numpy as np
import pytest

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.multielo import MultiElo
from racebot.ratings.ranking import Groups


def rated(model: MultiElo, ratings: list[float], outcome: Outcome) -> FloatArray:
    return model.rate(np.array(ratings)[:, np.newaxis], outcome)[:, 0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([1200.0, 1000.0], [1207.68809835, 992.31190165]),
        ([900.0, 1000.0], [920.48207999, 979.51792001]),
        ([1200.0, 900.0, 1000.0], [1208.34629612, 910.43382278, 981.21988111]),
    ],
)
def test_updates_have_the_published_values(before: list[float], after: list[float]) -> None:
    result = rated(MultiElo(), before, Outcome.of(range(len(before))))
    np.testing.assert_allclose(result, after, rtol=0, atol=5e-9)


def scores(model: MultiElo, outcome: Outcome) -> list[float]:
    return model.scores(Groups.of(outcome)).tolist()


def test_scores_have_the_published_values() -> None:
    five = Outcome.of([1, 2, 3, 4, 5])
    assert scores(MultiElo(), five) == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0])
    assert scores(MultiElo(score_base=1.5), five) == pytest.approx([0.496, 0.290, 0.153, 0.061, 0], abs=5e-4)
    weight = [1.5**k - 1 for k in (4, 3, 2, 1, 0)]
    expected = [w / sum(weight) for w in weight]
    assert scores(MultiElo(score_base=1.5), five) == pytest.approx(expected)


def test_linear_is_the_limit_of_exponential() -> None:
    outcome = Outcome.of([3, 1, 2])
    assert scores(MultiElo(score_base=1 + 1e-7), outcome) == pytest.approx(scores(MultiElo(), outcome))
    both = MultiElo(score_base=np.array([1.0, 1.5])).scores(Groups.of(outcome))
    assert both[0].tolist() == pytest.approx(scores(MultiElo(), outcome))
    assert both[1].tolist() == pytest.approx(scores(MultiElo(score_base=1.5), outcome))


def test_tied_entrants_share_the_mean() -> None:
    assert scores(MultiElo(), Outcome.of([2, 1, 2, 2])) == pytest.approx([1 / 6, 0.5, 1 / 6, 1 / 6])
    weight = [1.5**k - 1 for k in (3, 2, 1, 0)]
    tied = (weight[2] + weight[3]) / 2 / sum(weight)
    result = scores(MultiElo(score_base=1.5), Outcome.of([1, 2], unfinished=2))
    assert result == pytest.approx([weight[0] / sum(weight), weight[1] / sum(weight), tied, tied])


def chance(a: float, b: float) -> float:
    return 1 / (1 + 10 ** ((b - a) / 400))


def test_two_tied_players_draw() -> None:
    """A race in which all tie is not rated, so a third player takes part."""
    ratings = [1200.0, 1000.0, 1100.0]
    after = rated(MultiElo(unfinished="tie"), ratings, Outcome.of([1], unfinished=2))
    expected = [sum(chance(a, b) for j, b in enumerate(ratings) if j != i) / 3 for i, a in enumerate(ratings)]
    actual = [2 / 3, 1 / 6, 1 / 6]
    change = [32 * 2 * (s - e) for s, e in zip(actual, expected, strict=True)]
    np.testing.assert_allclose(after, np.add(ratings, change), rtol=0, atol=1e-9)


def test_the_unfinished_do_not_move_each_other() -> None:
    """A linear update is 2K/N times the sum of won less expected over the pairs that were compared."""
    ratings = [1200.0, 1000.0, 1100.0]
    after = rated(MultiElo(), ratings, Outcome.of([1], unfinished=2))
    lost = [chance(1000, 1200), chance(1100, 1200)]
    factor = 2 * 32 / 3
    expected = [1200 + factor * sum(lost), 1000 - factor * lost[0], 1100 - factor * lost[1]]
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-9)


def test_points_are_the_rating_itself() -> None:
    assert MultiElo().points(np.array([[1207.7], [992.3]])).tolist() == [1208, 992]


def test_win_probability_follows_its_formula() -> None:
    assert MultiElo().win_probability(np.array([1200.0]), np.array([1000.0])) == pytest.approx(0.7597469)
