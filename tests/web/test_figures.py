from __future__ import annotations

import numpy as np
import pytest
from builders import result

from racebot.queries.races import last_entries
from racebot.ratings.model import PredictsFinish
from racebot.ratings.registry import MODELS, create
from racebot.standings.counting import LeaderboardPlan
from racebot.web.html import explained as module, templating
from racebot.web.html.explained import ChangeSizes, RaceFigures, histogram, race_figures
from racebot.web.site.ledger_view import LedgerView

from .conftest import RACES, Merge


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep groups of any size."""
    monkeypatch.setattr(module, "LEAST", 1)


def of(view: LedgerView) -> RaceFigures:
    (board,) = view.boards
    found = race_figures(view, board, create(board.stored.model, board.stored.parameters))
    assert found is not None
    return found


@pytest.mark.usefixtures("few")
def test_sizes_of_changes_are_grouped_by_races_before(view: LedgerView) -> None:
    # Before a and b nobody had raced: 100, 100, 200, 0, 200. In c, 90 each.
    assert of(view).changes == [
        ChangeSizes(first=1, last=1, cases=5, median=100, large=200),
        ChangeSizes(first=2, last=5, cases=2, median=90, large=90),
    ]


@pytest.mark.usefixtures("few")
def test_higher_rated_player_counts_as_ahead_and_a_tie_as_half(merge: Merge) -> None:
    # Four pairs of level newcomers, and Ann, with 1,100, who beat Bo, with 900.
    found = of(merge(provisional_races=1))
    assert found.pairs == 5
    assert found.higher_ahead == pytest.approx((4 * 0.5 + 1) / 5)
    (gap,) = found.gaps
    assert (gap.points, gap.high, gap.cases, gap.happened) == (150, 250, 1, 1.0)
    assert gap.predicted == pytest.approx(1 / (1 + np.exp(-0.2)))


@pytest.mark.usefixtures("few")
def test_an_upset_counts_against_the_higher_rated(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "bo ann", after=1)]
    (gap,) = of(merge(races, provisional_races=1)).gaps
    assert gap.happened == 0.0
    assert gap.predicted == pytest.approx(1 / (1 + np.exp(-0.2)))


def test_unfair_looking_results_are_counted(view: LedgerView) -> None:
    found = of(view)
    assert (found.races, found.entries) == (3, 7)
    assert found.finished == pytest.approx(6 / 7)
    assert (found.unfinished, found.gained_unfinished, found.winners, found.lost_winning) == (1, 0, 3, 0)


def test_unfinished_entries_that_gained_are_counted(merge: Merge) -> None:
    # Ties between unfinished racers are draws, in which the lowest rated gains.
    plan = LeaderboardPlan("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "unfinished": "tie"})
    races = [result("a", "ann bo"), *(result(f"r{n}", "ann", dnf="bo di", after=n + 1) for n in range(3))]
    view = merge(races, plan)
    gained = view.ledger.connection.db.execute(
        "SELECT count(*) FROM changes WHERE place IS NULL AND points_after > points_before"
    ).fetchone()[0]
    assert of(view).gained_unfinished == gained


def test_chances_of_finishing_are_compared_with_results(merge: Merge) -> None:
    plan = LeaderboardPlan("thurstone-hurdle")
    races = [result(f"r{n}", "ann bo", dnf="cy" if n % 2 else "", after=n) for n in range(60)]
    view = merge(races, plan)
    found = of(view)
    model = create("thurstone-hurdle")
    states = [row.state for row in last_entries(view.ledger, view.boards[0].key, 1000)]
    expected = float(np.mean(model.finish_probability(np.array(states))))  # type: ignore[attr-defined]
    cases = sum(row.cases for row in found.finishing)
    assert cases == found.entries == 150
    mean = sum(row.cases * row.predicted for row in found.finishing) / cases
    assert mean == pytest.approx(expected)
    happened = sum(row.cases * row.happened for row in found.finishing) / cases
    assert happened == pytest.approx(120 / 150)


def test_distribution_counts_players_without_gaps() -> None:
    points = np.array([810, 800, 1000, 1190, 1200, -5])
    bars = histogram(points)
    assert [bar for bar in bars if bar[1]] == [(-100, 1), (800, 2), (1000, 1), (1100, 1), (1200, 1)]
    assert [low for low, _ in bars] == list(range(-100, 1300, 100))


def test_figures_use_only_the_last_races(view: LedgerView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RACES", 1)
    found = of(view)
    assert found.entries == len(RACES[-1].entrants)
    assert (found.changes, found.gaps) == ([], []), "too few cases"


@pytest.mark.parametrize("key", MODELS)
def test_words_about_a_model_are_those_of_its_kind(key: str) -> None:
    text, model = templating.render("model.html", "", model=key).decode(), create(key)
    assert len(text) > 100
    assert ("in two steps" in text) == isinstance(model, PredictsFinish)
    assert ("The more races you have run" in text) == ("races" in model.columns)
    assert ("uncertainty" in text) == (not {"sigma", "deviation", "variance"}.isdisjoint(model.columns))
    assert ("depends on the rating" in text) == (len(getattr(model, "rates", ())) > 1)
    assert ("did not finish" in text) == (key != "previous-rank")
