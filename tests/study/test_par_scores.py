import pytest
from builders import result

from racebot.ratings.registry import create
from racebot.scoring.rules import rules_of
from racebot.study.history import History
from racebot.study.paired import compare


def test_pairs_are_ordered_by_the_mean_score_of_earlier_races() -> None:
    """Ann beats Bo and Cy joins late: the fourth and fifth race have one pair with three earlier races.

    Both orders expect Ann before Bo, who wins the fifth.
    """
    orders = ["ann bo", "ann bo", "ann bo", "ann bo cy", "bo ann cy"]
    races = [result(f"r{n}", order, after=n) for n, order in enumerate(orders)]
    for each in compare(History.of(races), races, create("thurstone-hurdle"), rules_of("sgl-2025")):
        assert each.cases.tolist() == [0, 0, 0, 1, 1]
        assert each.cost.tolist() == [0, 0, 0, 0, 1]
        assert each.mean() == pytest.approx(0.5)


def test_scores_see_margins_that_ratings_do_not() -> None:
    """Bo won twice by a minute; a forfeit then costs his mean a whole race."""
    orders = [("bo ann", ""), ("bo ann", ""), ("ann", "bo"), ("bo ann", "")]
    races = [result(f"r{n}", order, dnf=dnf, after=n) for n, (order, dnf) in enumerate(orders)]
    _, by_score = compare(History.of(races), races, create("thurstone-hurdle"), rules_of("sgl-2025"))
    assert by_score.cost.tolist() == [0, 0, 0, 1]
