from __future__ import annotations

from datetime import timedelta
from typing import Any

from builders import NOON, result

from racebot.standings.queries import Listing
from racebot.web import leaderboards
from racebot.web.view import View

from .conftest import Merge


def report(view: View) -> dict[str, Any]:
    return leaderboards.report(view, view.boards[0])


def moved(view: View) -> dict[str, Any]:
    return {entry["name"]: entry["moved"] for entry in report(view)["players"]}


def test_movement_is_that_of_the_week_before_the_last_race(view: View) -> None:
    # A week before c: Cy 1200, Ann 1100, Di 1000, Bo 900, Ed 800. Now: Cy, Ann 1190, Di, Bo 810, Ed.
    assert report(view)["since"] == (NOON + timedelta(days=3)).isoformat()
    assert moved(view) == {
        "Cy": {"points": 0, "places": 0},
        "Ann": {"points": 90, "places": 0},
        "Di": {"points": 0, "places": 0},
        "Bo": {"points": -90, "places": 0},
        "Ed": {"points": 0, "places": 0},
    }


def test_who_overtook_whom_moved_by_places(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "bo ann", after=240)])
    # Ann 1100, Bo 900; then Bo gains a fifth of the 11 in 20 that spoke for Ann.
    assert moved(view) == {"Bo": {"points": 110, "places": 1}, "Ann": {"points": -110, "places": -1}}


def test_who_had_not_raced_before_has_no_movement(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "cy ann", after=240)])
    assert moved(view)["Cy"] is None
    assert moved(view)["Bo"]["points"] == 0


def test_who_was_not_listed_then_has_points_but_no_places(merge: Merge) -> None:
    view = merge(listing=Listing(minimum_finishes=2))
    # Only Ann and Bo have finished twice, and not before c.
    assert moved(view) == {"Ann": {"points": 90, "places": None}, "Bo": {"points": -90, "places": None}}


def test_places_then_are_among_those_listed_then(merge: Merge) -> None:
    races = [
        result("a", "ann bo cy"),
        result("b", "ann bo", after=24),
        result("c", "ann cy", after=240),
    ]
    view = merge(races, listing=Listing(inactive_days=2))
    # Bo was second of the three before c, and is not listed now that he has stayed away.
    assert moved(view)["Cy"]["places"] == 1


def test_ratings_after_few_races_are_provisional(merge: Merge) -> None:
    view = merge(provisional_races=2)
    assert {e["name"]: e["provisional"] for e in report(view)["players"]} == {
        "Ann": False,
        "Bo": False,
        "Cy": True,
        "Di": True,
        "Ed": True,
    }


def test_a_leaderboard_without_races_has_no_movement(merge: Merge) -> None:
    view = merge([result("d", "fay")])
    assert report(view)["since"] is None
    assert report(view)["players"] == []


def test_races_come_newest_first_with_their_winners(view: View) -> None:
    races = leaderboards.races(view, view.boards[0], 2)
    assert [(race["race"], race["entrants"], race["finishers"]) for race in races] == [
        ("orb/c", 2, 2),
        ("orb/b", 3, 2),
    ]
    assert races[1]["winners"] == [{"id": "id-cy", "name": "Cy"}]
