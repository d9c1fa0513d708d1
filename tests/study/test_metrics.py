"""Every metric against two races worked by hand.

First race: A won, B was second, C and D did not finish; ratings 2, 3, 1, 1.

| | place | predicted | error | relevance | P(i) |
|---|---|---|---|---|---|
| A | 1 | 2 | 1 | 1/2 | 0 of 1 |
| B | 2 | 1 | 1 | 1/2 | 0 of 2 |
| C | 3½ | 3½ | 0 | 1 | 2 of 4 |
| D | 3½ | 3½ | 0 | 1 | 2 of 4 |

Second race: E, a newcomer, and A finished at the same time, then B; ratings 1, 2, 2.

| | place | predicted | error | relevance | P(i) |
|---|---|---|---|---|---|
| E | 1½ | 3 | 1½ | 2/5 | 1 of 2 |
| A | 1½ | 1½ | 0 | 1 | 1 of 2 |
| B | 3 | 1½ | 1½ | 2/5 | 1 of 3 |
"""

import math

import numpy as np
import pytest
from builders import result

from racebot.study import metrics
from racebot.study.history import History
from racebot.study.metrics import Field, Figures, Predictions, figures, log_loss, misordered, reliability

HISTORY = History.of([result("r", "a b", dnf="c d", after=1), result("s", "a=e b", after=2)])
FIELD = Field.of(HISTORY)
PAIRS = list(zip(FIELD.better.tolist(), FIELD.worse.tolist(), strict=True))
RATINGS = {"r": {"a": 2.0, "b": 3.0, "c": 1.0, "d": 1.0}, "s": {"e": 1.0, "a": 2.0, "b": 2.0}}
CHANCES = {"r": {"ab": 0.25, "ac": 0.8, "ad": 0.8, "bc": 0.9, "bd": 0.9}, "s": {"eb": 0.2, "ab": 0.5}}


def letter(entry: int) -> str:
    return HISTORY.players[FIELD.player[entry]].removeprefix("id-")


def slug(entry: int) -> str:
    return "rs"[FIELD.race[entry]]


def predictions() -> Predictions:
    entries = range(FIELD.race.size)
    return Predictions.of(
        FIELD,
        np.array([RATINGS[slug(e)][letter(e)] for e in entries]),
        np.array([CHANCES[slug(a)][letter(a) + letter(b)] for a, b in PAIRS]),
    )


def of(counted: str = "") -> Figures:
    """Return figures over the entries with these letters, or over all."""
    mask = np.array([not counted or HISTORY.players[p][-1] in counted for p in FIELD.player])
    return figures(FIELD, predictions(), mask)


def test_a_field_lists_all_entrants_and_pairs() -> None:
    rows = {
        (slug(e), letter(e)): (FIELD.place[e], int(FIELD.earlier[e]), int(FIELD.bins()[e]))
        for e in range(FIELD.race.size)
    }
    # The bin is the fifth of the field that (place − ½)/n lies in.
    assert rows == {
        ("r", "a"): (1, 0, 0),
        ("r", "b"): (2, 0, 1),
        ("r", "c"): (3.5, 0, 3),
        ("r", "d"): (3.5, 0, 3),
        ("s", "a"): (1.5, 1, 1),
        ("s", "e"): (1.5, 0, 1),
        ("s", "b"): (3, 1, 4),
    }
    assert sorted((slug(a), letter(a) + letter(b)) for a, b in PAIRS) == [
        ("r", "ab"), ("r", "ac"), ("r", "ad"), ("r", "bc"), ("r", "bd"), ("s", "ab"), ("s", "eb"),
    ]  # fmt: skip
    assert FIELD.pair_race().tolist() == [0] * 5 + [1] * 2


def test_metrics_of_ranks_are_means_of_races() -> None:
    found = of()
    assert (found.races, found.entries) == (2, 7)
    assert found.accuracy == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert found.mae == pytest.approx((2 / 4 + 3 / 3) / 2)
    assert found.mrr == pytest.approx((3 / 4 + 1.8 / 3) / 2)
    first = (0 * 0.5 + 0 * 0.5 + 0.5 * 1 + 0.5 * 1) / 4
    second = (0.5 * 0.4 + 0.5 * 1 + 0.4 / 3) / 3
    assert found.ap == pytest.approx((first + second) / 2)
    # Weights 1/log₂(i + 1): 1 and .63093 and twice .46084; twice .75647 and ½.
    first = (0.5 * 1 + 0.5 * 0.63093 + 2 * 0.46084) / (1 + 0.63093 + 2 * 0.46084)
    second = (0.75647 * 1.4 + 0.5 * 0.4) / (2 * 0.75647 + 0.5)
    assert found.ndcg == pytest.approx((first + second) / 2, abs=1e-5)


def test_kendall_is_a_mean_of_races_and_misordered_of_pairs() -> None:
    found = of()
    # First race: one of five pairs wrong. Second: one wrong, one of equal ratings.
    assert found.kendall == pytest.approx(((4 - 1) / 5 + (0 - 1) / 2) / 2)
    assert found.pairs == 7
    assert found.misordered == pytest.approx((1 + 1.5) / 7)


def test_metrics_of_win_probabilities() -> None:
    found = of()
    assert found.pair_accuracy == pytest.approx((4 + 0 + 0.5) / 7)
    assert found.sse == pytest.approx(0.75**2 + 2 * 0.2**2 + 2 * 0.1**2 + 0.8**2 + 0.5**2)
    product = 0.25 * 0.8 * 0.8 * 0.9 * 0.9 * 0.2 * 0.5
    assert found.log_loss == pytest.approx(-math.log(product) / 7)


def test_a_pair_half_in_a_view_counts_half() -> None:
    found = of("b")
    assert (found.races, found.entries, found.pairs) == (2, 2, 2.5)
    # Pairs of B: ab wrong, bc and bd right; eb wrong, ab even.
    assert found.misordered == pytest.approx((1 + 1 + 0.5) / 5)
    assert found.kendall == pytest.approx(((2 - 1) / 3 + (0 - 1) / 2) / 2)
    assert found.mae == pytest.approx((1 + 1.5) / 2)
    assert found.ap == pytest.approx((0 * 0.5 + 0.4 / 3) / 2)
    assert found.ndcg == pytest.approx((0.5 + 0.4) / 2)
    assert of("e").races == 1


def test_an_empty_view_has_no_figures() -> None:
    found = of("x")
    assert (found.races, found.entries, found.pairs) == (0, 0, 0)
    assert all(math.isnan(value) for value in (found.misordered, found.kendall, found.mae, found.ndcg))


def test_equal_values_share_their_mean_rank() -> None:
    assert metrics.ranks(np.array([30.0, 10.0, 20.0, 10.0]), np.zeros(4, int)).tolist() == [4, 1.5, 3, 1.5]


def test_misordered_and_log_loss_take_candidates() -> None:
    better, worse = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 0.0]])
    assert misordered(better, worse).tolist() == [[0, 0.5], [1, 0]]
    assert log_loss(np.array([[1.0, math.exp(-2)]])).tolist() == [[0, pytest.approx(2)]]
    # Being certain and wrong costs much, but not everything.
    assert log_loss(np.array([0.0]))[0] == pytest.approx(-math.log(1e-15))


def test_betting_follows_the_source() -> None:
    # terra-mystica: A wins four of five; X says 70 %, Y says 80 %: Y wins a quarter of a point.
    x, y = np.array([0.7] * 4 + [0.3]), np.array([0.8] * 4 + [0.2])
    assert metrics.betting(y, x) == pytest.approx(4 * 0.25 - 0.75)
    assert metrics.betting(x, y) == pytest.approx(-0.25)
    assert metrics.betting(x, x) == 0


def test_pairs_are_counted_on_which_two_models_disagree() -> None:
    first = np.array([0.6, 0.4, 0.9, 0.5, 0.6, 0.45])
    second = np.array([0.4, 0.7, 0.8, 0.2, 0.5, 0.55])
    assert (metrics.right_alone(first, second), metrics.right_alone(second, first)) == (1, 2)


def test_the_tightest_fifth_of_the_races_is_chosen() -> None:
    tightness = np.array([math.nan, 0.1, 0.9, 0.5, 0.9, 0.2, 0.3, 0.9, 0.0, 0.1, 0.2])
    assert np.flatnonzero(metrics.tightest(tightness)).tolist() == [2, 4]
    assert not metrics.tightest(np.array([math.nan, 1.0])).any()


def test_reliability_agrees_with_four_pairs_worked_by_hand() -> None:
    """Predictions of .91 and .93, one of them right; a wrong one of .66; and an even one."""
    found = reliability(np.array([0.91, 0.07, 0.34, 0.5]))
    assert found.weight.tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 2, 0]
    filled = found.weight > 0
    np.testing.assert_allclose(found.predicted[filled], [0.5, 0.66, 0.92])
    np.testing.assert_allclose(found.observed[filled], [0.5, 0.0, 0.5])
    assert np.isnan(found.predicted[~filled]).all()
    assert found.error == pytest.approx((0 + 0.66 + 2 * 0.42) / 4)


def test_weights_scale_the_counts() -> None:
    chance = np.array([0.8, 0.2, 0.2])
    weighted = reliability(chance[:2], np.array([1.0, 2.0]))
    np.testing.assert_allclose(weighted, reliability(chance))
    assert math.isnan(reliability(np.empty(0)).error)


def test_only_overconfident_probabilities_have_a_calibration_error() -> None:
    random = np.random.default_rng(1)
    favorite = random.uniform(0.5, 1.0, 200_000)
    chance = np.where(random.random(favorite.size) < favorite, favorite, 1 - favorite)
    assert reliability(chance).error < 0.006
    boast = np.where(chance > 0.5, 1 - (1 - chance) ** 2, chance**2)
    assert reliability(boast).error > 0.08
