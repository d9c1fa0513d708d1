"""Seeds of a bracket."""

from dataclasses import replace

import pytest
from builders import NOON, result, settler_of

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.seeds import seed_list
from racebot.queries.standings import Listing
from racebot.races.result import Profile
from racebot.scoring.rules import rules_of
from racebot.standings.orders import hide

LISTING = Listing(minimum_finishes=2)
RACES = (result("a", "ann bo élan"), result("b", "ann bo élan", after=24), result("c", "cy ann", after=48))
"""Two finishes of Ann, Bo and Élan, in this order, and one win of Cy, who is not ranked."""


@pytest.fixture
def board(ledger: Ledger) -> Leaderboard:
    ann = Profile(twitch="ann_tv")
    races = [
        replace(
            race, entrants=tuple(replace(e, profile=ann if e.name == "Ann" else None) for e in race.entrants)
        )
        for race in RACES
    ]
    settler_of(ledger, "thurstone-hurdle").add_past_races(races, "backfill")
    return ledger.leaderboards.all()[0]


def test_listed_players_are_seeded_with_what_a_bracket_needs(ledger: Ledger, board: Leaderboard) -> None:
    found = seed_list(ledger, board, LISTING)
    seeds = [(each.seed, each.place, each.name) for each in found.seeds]
    assert seeds == [(1, 1, "Ann"), (2, 2, "Bo"), (3, 3, "Élan")]
    assert seed_list(ledger, board, LISTING, limit=2).seeds == found.seeds[:2]
    ann = found.seeds[0]
    assert (ann.id, ann.twitch, ann.races) == ("id-ann", "ann_tv", 3)
    assert ann.note == f"place 1 of 3; {ann.points} points after 3 races"


def test_entrants_are_found_as_in_chat_and_unlisted_ones_come_last(
    ledger: Ledger, board: Leaderboard
) -> None:
    found = seed_list(ledger, board, LISTING, [" @CY ", "elan", "bo#0001", "", "Anne", "id-bo", "Ann_TV"])
    assert [(each.seed, each.place, each.name) for each in found.seeds] == [
        (1, 1, "Ann"),
        (2, 2, "Bo"),
        (3, 3, "Élan"),
        (4, None, "Cy"),
    ]
    assert "1 of 2 finishes" in found.seeds[3].note
    assert [(each.entrant, each.nearest) for each in found.missing] == [("Anne", "Ann")]


def test_hidden_players_are_neither_seeded_nor_suggested(ledger: Ledger, board: Leaderboard) -> None:
    hide(settler_of(ledger, "thurstone-hurdle"), ledger.players.find("id-ann"), "", NOON)
    found = seed_list(ledger, board, LISTING, ["Ann", "Anne", "Bo"])
    assert [each.name for each in found.seeds] == ["Bo"]
    assert [(each.entrant, each.nearest) for each in found.missing] == [("Ann", ""), ("Anne", "")]


def test_scores_order_the_seeds_of_a_scored_league(ledger: Ledger) -> None:
    timed = result("a", "ann bo cy")
    settler_of(ledger, "thurstone-hurdle").add_past_races([timed], "import")
    board = ledger.leaderboards.all()[0]
    found = seed_list(ledger, board, Listing(scoring=rules_of("sgl-2025")))
    assert [each.name for each in found.seeds] == ["Ann", "Bo", "Cy"]
    assert all(f"score {each.score:.3f}" in each.note for each in found.seeds)


def test_equal_scores_are_seeded_by_rating_and_say_so(ledger: Ledger) -> None:
    twice = [result("a", "bo ann"), result("b", "ann bo", after=24)]
    settler_of(ledger, "thurstone-hurdle").add_past_races(twice, "import")
    (board,) = ledger.leaderboards.all()
    found = seed_list(ledger, board, Listing(scoring=rules_of("sgl-2025")))
    assert found.seeds[0].score == found.seeds[1].score
    assert found.seeds[0].points != found.seeds[1].points
    assert "by rating" in found.seeds[1].note
