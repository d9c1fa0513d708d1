"""Leaderboards as pages show them: movement and provisional ratings."""

from __future__ import annotations

from datetime import timedelta

from builders import NOON, result

from racebot.queries.leaderboard import LeaderboardReport, Movement
from racebot.queries.listing import Listing
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge


def report(view: LedgerView) -> LeaderboardReport:
    return view.report(view.boards[0])


def moved(view: LedgerView) -> dict[str, Movement | None]:
    return {player.name: player.moved for player in report(view).players}


def test_movement_is_that_of_the_week_before_the_last_race(view: LedgerView) -> None:
    # A week before c: Cy 1200, Ann 1100, Di 1000, Bo 900, Ed 800. Now: Cy, Ann 1190, Di, Bo 810, Ed.
    assert report(view).since == NOON + timedelta(days=3)
    assert moved(view) == {
        "Cy": Movement(0, 0),
        "Ann": Movement(90, 0),
        "Di": Movement(0, 0),
        "Bo": Movement(-90, 0),
        "Ed": Movement(0, 0),
    }


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


def test_ratings_after_few_races_are_provisional(merge: Merge) -> None:
    view = merge(provisional_races=2)
    assert {player.name: player.provisional for player in report(view).players} == {
        "Ann": False,
        "Bo": False,
        "Cy": True,
        "Di": True,
        "Ed": True,
    }
