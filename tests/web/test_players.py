from __future__ import annotations

from typing import Any

from builders import result

from racebot.standings.queries import Listing
from racebot.web import players
from racebot.web.view import View

from .conftest import Merge


def report(view: View, player: str) -> dict[str, Any]:
    found = players.report(view, view.boards[0], player)
    assert found is not None
    return found


def test_a_player_with_every_race(view: View) -> None:
    ann = report(view, "id-ann")
    assert (ann["points"], ann["place"], ann["listed"], ann["races"]) == (1190, 2, 5, 2)
    assert [(race["race"], race["place"], race["entrants"], race["change"]) for race in ann["history"]] == [
        ("orb/a", 1, 2, 100),
        ("orb/c", 1, 2, 90),
    ]
    assert players.report(view, view.boards[0], "id-nobody") is None


def test_who_is_not_listed_has_no_place(merge: Merge) -> None:
    view = merge(listing=Listing(minimum_finishes=1))
    assert (report(view, "id-ed")["place"], report(view, "id-ed")["listed"]) == (None, 4)


def test_opponents_count_who_was_ahead_and_not_where_neither_finished(merge: Merge) -> None:
    view = merge(
        [
            result("a", "ann bo"),
            result("b", "bo", dnf="ann cy", after=1),
            result("c", "cy", dnf="ann bo", after=2),
            result("d", "ann=bo", dnf="cy", after=3),
        ]
    )
    found = {each["name"]: each for each in report(view, "id-ann")["opponents"]}
    assert [found["Bo"][key] for key in ("met", "ahead", "behind")] == [4, 1, 1]
    assert [found["Cy"][key] for key in ("met", "ahead", "behind")] == [3, 1, 1]
    assert next(iter(found)) == "Bo"


def test_places_taken_and_races_not_finished(merge: Merge) -> None:
    field = ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
    races = [
        result("a", "ann b"),
        result("b", "ann b", after=1),
        result("c", "b c ann", after=2),
        result("d", " ".join([*field, "ann"]), after=3),
        result("e", "b", dnf="ann", after=4),
    ]
    found = report(merge(races), "id-ann")["places"]
    assert [(row["place"], row["races"]) for row in found] == [
        ("1", 2),
        ("3", 1),
        ("11+", 1),
        ("unfinished", 1),
    ]


def test_best_and_worst_races_are_those_after_the_rating_had_settled(merge: Merge) -> None:
    races = [
        result("big-win", "ann bo"),
        result("loss", "bo ann", after=1),
        result("win", "ann bo", after=2),
        result("late-loss", "cy ann", after=3),
    ]
    settled = report(merge(races, provisional_races=1), "id-ann")
    assert [race["race"] for race in settled["best"]] == ["orb/win"]
    assert {race["race"] for race in settled["worst"]} == {"orb/loss", "orb/late-loss"}
    assert settled["worst"][0]["change"] == min(race["change"] for race in settled["history"])
    assert settled["only_settled"]


def test_best_races_of_a_newcomer_are_of_all_there_are(view: View) -> None:
    found = report(view, "id-ann")
    assert [race["race"] for race in found["best"]] == ["orb/a", "orb/c"]
    assert not found["only_settled"]


def test_the_peak_is_the_first_race_with_the_most_points(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "bo ann", after=1)])
    assert report(view, "id-ann")["peak"]["race"] == "orb/a"


def test_months_sum_up_the_races_newest_first(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "ann bo", after=24), result("c", "bo ann", after=24 * 40)]
    found = report(merge(races), "id-ann")
    assert [(f"{row['month']:%Y-%m}", row["races"], row["points"]) for row in found["months"]] == [
        ("2026-04", 1, found["points"]),
        ("2026-03", 2, found["history"][1]["after"]),
    ]
    assert sum(row["change"] for row in found["months"]) == found["points"] - 1000


def test_standings_on_every_leaderboard_the_last_raced_first(merge: Merge) -> None:
    view = merge([result("a", "ann bo", goal="First"), result("b", "ann cy", goal="Second", after=1)])
    assert [standing["leaderboard"] for _, standing in players.standings(view, "id-ann")] == [
        "Second",
        "First",
    ]
    assert [standing["leaderboard"] for _, standing in players.standings(view, "id-bo")] == ["First"]
