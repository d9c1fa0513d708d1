"""The free-for-all models and multielo: published figures, and formulas as explicit loops."""

import math

import numpy as np
import pytest

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.ffa import EloFfa, GlickoFfa, MultiElo, PreviousRank, damping
from racebot.ratings.models.single import Groups

THREE = Outcome.of([1, 2, 3])


def test_elo_of_three_players_by_hand() -> None:
    """Ratings 1500, 1600 and 1400, placed first, second and third; K 10, D 400.

    The chances are 1/(1 + e^.25) = .437823 (first over second), 1/(1 + e^-.25) = .562177 (first over
    third) and 1/(1 + e^-.5) = .622459 (second over third). Of three pairs the normalized expectations are
    1/3, .394879 and .271788, the normalized results 2/3, 1/3 and 0.
    """
    after = EloFfa().rate(np.array([[1500.0], [1600.0], [1400.0]]), THREE)
    assert after[:, 0] == pytest.approx([1503.33333, 1599.38455, 1397.28212], abs=1e-5)


def test_elo_leaves_the_unfinished_uncompared_or_lets_them_draw() -> None:
    states = np.array([[1500.0], [1700.0], [1500.0]])
    outcome = Outcome.of([1], unfinished=2)
    beaten, drawn = 1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(-0.5))
    unobserved = EloFfa(rates=(3.0,)).rate(states, outcome)
    assert unobserved[:, 0] == pytest.approx([1500 + (2 - beaten - 0.5), 1700 - drawn, 1500 - 0.5], abs=1e-9)
    tie = EloFfa(rates=(3.0,), unfinished="tie").rate(states, outcome)
    assert (tie - unobserved)[:, 0] == pytest.approx([0, 0.5 - drawn, 0.5 - beaten], abs=1e-9)


def test_damping_has_the_printed_values() -> None:
    """g(30), g(100) and g(300) as Glicko's author prints them, with q = 0.0057565."""
    variances = np.array([30.0, 100.0, 300.0]) ** 2
    assert damping(np.array(0.0057565), variances) == pytest.approx([0.9955, 0.9531, 0.7242], abs=5e-5)


def test_glicko_of_three_players_follows_the_printed_formulas() -> None:
    mean, deviation = [1500.0, 1650.0, 1420.0], [200.0, 80.0, 350.0]
    q = 0.0057565

    def g(sigma: float) -> float:
        return 1 / math.sqrt(1 + 3 * q**2 * sigma**2 / math.pi**2)

    def chance(i: int, j: int) -> float:
        both = math.hypot(deviation[i], deviation[j])
        return 1 / (1 + 10 ** (-g(both) * (mean[i] - mean[j]) / 400))

    after = GlickoFfa().rate(np.array([mean, deviation]).T, THREE)
    for i, result in enumerate([2 / 3, 1 / 3, 0.0]):
        others = [j for j in range(3) if j != i]
        expected = sum(chance(i, j) for j in others) / 3
        weight = sum(g(deviation[j]) for j in others) / 2
        precision = 1 / deviation[i] ** 2 + q**2 * weight**2 * expected * (1 - expected)
        moved = mean[i] + q / precision * weight * (result - expected)
        assert after[i] == pytest.approx([moved, precision**-0.5], rel=1e-5)


def test_glicko_does_not_let_the_unfinished_move_each_other() -> None:
    outcome = Outcome.of([1], unfinished=2)
    states = np.array([[1500.0, 200.0], [1600.0, 100.0], [1300.0, 90.0]])
    other = states.copy()
    other[2] = [2300.0, 350.0]
    model = GlickoFfa()
    np.testing.assert_allclose(model.rate(states, outcome)[1], model.rate(other, outcome)[1], rtol=1e-12)
    tie = GlickoFfa(unfinished="tie")
    assert tie.rate(other, outcome)[1, 0] > tie.rate(states, outcome)[1, 0]


def test_previous_rank_is_the_last_rank_with_ties_sharing_the_mean() -> None:
    model = PreviousRank()
    after = model.rate(np.zeros((4, 1)), Outcome.of([2, 1], unfinished=2))
    assert after[:, 0].tolist() == [2.0, 1.0, 3.5, 3.5]
    assert model.rating(after).tolist() == [-2.0, -1.0, -3.5, -3.5]
    assert model.points(after).tolist() == [-2, -1, -4, -4]


def test_a_newcomer_is_predicted_in_the_middle_of_the_field() -> None:
    model = PreviousRank()
    assert model.rating(np.array([[1.0], [0.0], [5.0], [0.0]])).tolist() == [-1.0, -2.0, -5.0, -2.0]


def test_previous_rank_predicts_with_certainty() -> None:
    model = PreviousRank()
    a, b = np.array([[1.0], [3.0], [2.0], [0.0]]), np.array([[2.0], [2.0], [2.0], [2.0]])
    assert model.win_probability(a, b).tolist() == [1.0, 0.0, 0.5, 0.5]


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


def test_win_probability_follows_its_formula() -> None:
    assert MultiElo().win_probability(np.array([1200.0]), np.array([1000.0])) == pytest.approx(0.7597469)
