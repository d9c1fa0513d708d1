"""Figures on pages: movement on leaderboards, a player's own, and those that explain a leaderboard."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest
from builders import NOON, existing, result

from racebot.queries.leaderboard import LeaderboardReport, Movement
from racebot.queries.player import OpponentRecord, PlayedRace, fastest_of_goals, months_of, run
from racebot.queries.standings import Listing
from racebot.ratings.model import PredictsFinish
from racebot.ratings.registry import MODELS, create
from racebot.web.html import templating
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge

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


# How a leaderboard is explained


@pytest.mark.parametrize("key", MODELS)
def test_words_about_a_model_are_those_of_its_kind(key: str) -> None:
    text, model = templating.render("model.html", "", model=key).decode(), create(key)
    assert len(text) > 100
    assert ("in two steps" in text) == isinstance(model, PredictsFinish)
    assert ("The more races you have run" in text) == ("races" in model.columns)
    assert ("uncertainty" in text) == (not {"sigma", "deviation", "variance"}.isdisjoint(model.columns))
    assert ("depends on the rating" in text) == (len(getattr(model, "rates", ())) > 1)
    assert ("did not finish" in text) == (key != "previous-rank")
