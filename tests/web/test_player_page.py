from __future__ import annotations

from dataclasses import replace
from datetime import date

from builders import result

from racebot.queries.player import PlayedRace, PlayerStanding
from racebot.web.html.player import PlayerFigures, player_figures
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge


def standing(view: LedgerView, player: str) -> PlayerStanding:
    found = view.standing(view.boards[0], player)
    assert found is not None
    return found


def history(view: LedgerView, player: str) -> list[PlayedRace]:
    return list(view.history(view.boards[0], player))


def figures(view: LedgerView, player: str) -> PlayerFigures:
    return player_figures(view, history(view, player))


def test_opponents_are_not_ranked_in_races_that_neither_finished(merge: Merge) -> None:
    view = merge(
        [
            result("a", "ann bo"),
            result("b", "bo", dnf="ann cy", after=1),
            result("c", "cy", dnf="ann bo", after=2),
            result("d", "ann=bo", dnf="cy", after=3),
        ]
    )
    assert view.opponents(view.boards[0], "id-ann") == [("id-bo", 4, 1, 1), ("id-cy", 3, 1, 1)]


def test_opponents_with_equally_many_races_begin_with_the_last_one_met(merge: Merge) -> None:
    view = merge([result("a", "ann bo cy"), result("b", "bo ann", after=1), result("c", "cy ann", after=2)])
    opponents = view.opponents(view.boards[0], "id-ann")
    assert [each.id for each in opponents] == ["id-cy", "id-bo"]


def test_places_and_unfinished_races_are_counted(merge: Merge) -> None:
    field = ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
    races = [
        result("a", "ann b"),
        result("b", "ann b", after=1),
        result("c", "b c ann", after=2),
        result("d", " ".join([*field, "ann"]), after=3),
        result("e", "b", dnf="ann", after=4),
    ]
    found = figures(merge(races), "id-ann").places
    assert list(found.items()) == [("1", 2), ("3", 1), ("11+", 1), ("unfinished", 1)]


def test_best_and_worst_races_leave_out_provisional_ratings(merge: Merge) -> None:
    races = [
        result("big-win", "ann bo"),
        result("loss", "bo ann", after=1),
        result("win", "ann bo", after=2),
        result("late-loss", "cy ann", after=3),
    ]
    view = merge(races, provisional_races=1)
    found = figures(view, "id-ann")
    assert [race.race for race in found.best] == ["orb/win"]
    assert {race.race for race in found.worst} == {"orb/loss", "orb/late-loss"}
    assert found.worst[0].change == min(race.change for race in history(view, "id-ann"))
    assert found.only_settled
    newcomer = figures(merge([], provisional_races=9), "id-ann")
    assert {race.race for race in newcomer.best} == {"orb/big-win", "orb/win"}
    assert not newcomer.only_settled


def test_streaks_and_best_times_count_all_races(merge: Merge) -> None:
    season = ["won", "won", "won", "dnf", "lost", "won", "won", "won", "lost", "won", "won", "lost"]
    fields = {"won": ("ann bo", ""), "lost": ("bo ann", ""), "dnf": ("bo", "ann")}
    view = merge(result(f"r{n}", fields[how][0], dnf=fields[how][1], after=n) for n, how in enumerate(season))
    races = history(view, "id-ann")
    found = player_figures(
        view, [replace(race, goal="Any" if race.sequence > 4 else "All") for race in races]
    )
    assert (found.wins, found.finishes) == ((0, 3), (8, 8))
    assert [(best.goal, best.race, best.finish_time) for best in found.fastest] == [
        ("All", "orb/r0", 3600),
        ("Any", "orb/r5", 3600),
    ]


def test_months_have_their_races_newest_first(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "ann bo", after=24), result("c", "bo ann", after=24 * 40)]
    months = figures(merge(races), "id-ann").months
    assert [(first_day, [race.race for race in raced]) for first_day, raced in months] == [
        (date(2026, 4, 1), ["orb/c"]),
        (date(2026, 3, 1), ["orb/a", "orb/b"]),
    ]


def test_standings_begin_with_the_leaderboard_last_raced_on(merge: Merge) -> None:
    view = merge([result("a", "ann bo", goal="First"), result("b", "ann cy", goal="Second", after=1)])
    assert [found.leaderboard for _, found in view.standings("id-ann")] == ["Second", "First"]
    assert [found.leaderboard for _, found in view.standings("id-bo")] == ["First"]
