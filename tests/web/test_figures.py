"""Figures on pages: movement on leaderboards, a player's own, and those that explain a leaderboard."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from builders import NOON, existing, result

from racebot.queries.history import PlayedRace, fastest_of_goals, months_of, run
from racebot.queries.leaderboard import LeaderboardReport, Movement
from racebot.queries.player import OpponentRecord
from racebot.queries.standings import Listing
from racebot.ratings.model import PredictsFinish
from racebot.ratings.registry import MODELS, create
from racebot.web.html import explained as module, templating
from racebot.web.html.explained import histogram, race_figures
from racebot.web.site.ledger_view import LedgerView

from .conftest import RACES, Merge

# Leaderboards


def report(view: LedgerView) -> LeaderboardReport:
    return view.report(view.boards[0])


def moved(view: LedgerView) -> dict[str, Movement | None]:
    return {player.name: player.moved for player in report(view).players}


def test_movement_is_that_of_the_week_before_the_last_race(view: LedgerView) -> None:
    # A week before c: Cy 1200, Ann 1100, Di 1000, Bo 900, Ed 800. Now: Cy, Ann 1190, Di, Bo 810, Ed.
    assert report(view).since == NOON + timedelta(days=3)
    changes = {"Cy": 0, "Ann": 90, "Di": 0, "Bo": -90, "Ed": 0}
    assert moved(view) == {name: Movement(change, 0) for name, change in changes.items()}


def test_overtaking_moves_places(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "bo ann", after=240)])
    # Ann 1100, Bo 900; then Bo gains a fifth of the 11 in 20 that spoke for Ann.
    assert moved(view) == {"Bo": Movement(110, 1), "Ann": Movement(-110, -1)}


def test_newcomer_has_no_movement(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "cy ann", after=240)])
    assert [player.name for player in report(view).players if player.moved is None] == ["Cy"]


def test_player_not_listed_before_moves_in_points_only(merge: Merge) -> None:
    view = merge(listing=Listing(minimum_finishes=2))
    # Only Ann and Bo have finished twice, and not before c.
    assert moved(view) == {"Ann": Movement(90, None), "Bo": Movement(-90, None)}


def test_places_before_are_among_the_players_listed_before(merge: Merge) -> None:
    races = [result("a", "ann bo cy"), result("b", "ann bo", after=24), result("c", "ann cy", after=240)]
    view = merge(races, listing=Listing(inactive_days=2))
    # Bo was second of the three before c, and is not listed now that he has stayed away.
    cy = moved(view)["Cy"]
    assert cy is not None and cy.places == 1


# Players


def history(view: LedgerView, player: str) -> list[PlayedRace]:
    return list(view.history(view.boards[0], player))


def opponents(view: LedgerView) -> Sequence[OpponentRecord]:
    return existing(view.player(view.boards[0], "id-ann")).opponents


def test_opponents_are_not_ranked_in_races_that_neither_finished(merge: Merge) -> None:
    view = merge(
        [
            result("a", "ann bo"),
            result("b", "bo", dnf="ann cy", after=1),
            result("c", "cy", dnf="ann bo", after=2),
            result("d", "ann=bo", dnf="cy", after=3),
        ]
    )
    assert opponents(view) == [OpponentRecord("id-bo", 4, 1, 1, 1), OpponentRecord("id-cy", 3, 1, 1, 1)]


def test_opponents_with_equally_many_races_begin_with_the_last_one_met(merge: Merge) -> None:
    view = merge([result("a", "ann bo cy"), result("b", "bo ann", after=1), result("c", "cy ann", after=2)])
    assert [each.id for each in opponents(view)] == ["id-cy", "id-bo"]


def test_streaks_and_best_times_count_all_races(merge: Merge) -> None:
    season = ["won", "won", "won", "dnf", "lost", "won", "won", "won", "lost", "won", "won", "lost"]
    fields = {"won": ("ann bo", ""), "lost": ("bo ann", ""), "dnf": ("bo", "ann")}
    view = merge(result(f"r{n}", fields[how][0], dnf=fields[how][1], after=n) for n, how in enumerate(season))
    races = history(view, "id-ann")
    assert run(race.place == 1 for race in races) == (0, 3)
    assert run(race.place is not None for race in races) == (8, 8)
    of_goals = [replace(race, goal="Any" if race.sequence > 4 else "All") for race in races]
    assert [(best.goal, best.race) for best in fastest_of_goals(of_goals)] == [
        ("All", "orb/r0"),
        ("Any", "orb/r5"),
    ]


def test_months_have_their_races_newest_first(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "ann bo", after=24), result("c", "bo ann", after=24 * 40)]
    months = months_of(history(merge(races), "id-ann"))
    assert [(first_day, [race.race for race in raced]) for first_day, raced in months] == [
        (date(2026, 4, 1), ["orb/c"]),
        (date(2026, 3, 1), ["orb/a", "orb/b"]),
    ]


def test_standings_begin_with_the_leaderboard_last_raced_on(merge: Merge) -> None:
    view = merge([result("a", "ann bo", goal="First"), result("b", "ann cy", goal="Second", after=1)])
    assert [found.leaderboard for _, found in view.standings("id-ann")] == ["Second", "First"]
    assert [found.leaderboard for _, found in view.standings("id-bo")] == ["First"]


# How a leaderboard is explained


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep groups of any size."""
    monkeypatch.setattr(module, "LEAST", 1)


def of(view: LedgerView) -> SimpleNamespace:
    (board,) = view.boards
    return SimpleNamespace(**existing(race_figures(view, board)))


@pytest.mark.usefixtures("few")
def test_sizes_of_changes_are_grouped_by_races_before(view: LedgerView) -> None:
    # Before a and b nobody had raced: 100, 100, 200, 0, 200. In c, 90 each.
    assert of(view).changes == [
        (1, 1, 5, 100, 200),
        (2, 5, 2, 90, 90),
    ]


@pytest.mark.usefixtures("few")
def test_higher_rated_player_counts_as_ahead_and_a_tie_as_half(merge: Merge) -> None:
    # Four pairs of level newcomers, and Ann, with 1,100, who beat Bo, with 900.
    found = of(merge(provisional_races=1))
    assert found.pairs == 5
    assert found.higher_ahead == pytest.approx((4 * 0.5 + 1) / 5)


def test_unfair_looking_results_are_counted(view: LedgerView) -> None:
    found = of(view)
    assert (found.races, found.entries) == (3, 7)
    assert found.finished == pytest.approx(6 / 7)
    assert (found.unfinished, found.gained_unfinished, found.winners, found.lost_winning) == (1, 0, 3, 0)


def test_of_many_pairs_a_part_of_every_race_is_taken(merge: Merge, monkeypatch: pytest.MonkeyPatch) -> None:
    view = merge([result(f"r{n}", "ann bo cy di", after=n) for n in range(3)])
    assert of(view).pairs == 3 * 6
    monkeypatch.setattr(module, "PAIRS", 9)
    assert of(view).pairs == 3 * 4  # those one and three entrants apart


def test_distribution_counts_players_without_gaps() -> None:
    points = np.array([810, 800, 1000, 1190, 1200, -5])
    bars = histogram(points)
    assert [bar for bar in bars if bar[1]] == [(-100, 1), (800, 2), (1000, 1), (1100, 1), (1200, 1)]
    assert [low for low, _ in bars] == list(range(-100, 1300, 100))


def test_figures_use_only_the_last_races(view: LedgerView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RACES", 1)
    found = of(view)
    assert found.entries == len(RACES[-1].entrants)
    assert (found.changes, found.with_lead) == ([], None), "too few cases"


@pytest.mark.parametrize("key", MODELS)
def test_words_about_a_model_are_those_of_its_kind(key: str) -> None:
    text, model = templating.render("model.html", "", model=key).decode(), create(key)
    assert len(text) > 100
    assert ("in two steps" in text) == isinstance(model, PredictsFinish)
    assert ("The more races you have run" in text) == ("races" in model.columns)
    assert ("uncertainty" in text) == (not {"sigma", "deviation", "variance"}.isdisjoint(model.columns))
    assert ("depends on the rating" in text) == (len(getattr(model, "rates", ())) > 1)
    assert ("did not finish" in text) == (key != "previous-rank")
