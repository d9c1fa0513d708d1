"""Players with the same name are told apart by their discriminators in every view of the ledger."""

from __future__ import annotations

from dataclasses import replace

from builders import CATEGORY, GOAL, entrant, result

from racebot.ledger.store import Ledger
from racebot.races.result import Entrant
from racebot.standings import queries
from racebot.standings.plan import LeaderboardPlan, Plans
from racebot.standings.queries import Listing
from racebot.standings.settle import Settler
from racebot.web import api, leaderboards, players, races
from racebot.web.view import Publication, View


def eve(number: str, time: int) -> Entrant:
    return entrant("eve", time=time, user_id=f"eve{number}", discriminator=number)


RACE = result("r", entrants=(eve("0001", 1), eve("0002", 2), entrant("bo", time=3, discriminator="0003")))
BOTH = {"Eve#0001", "Eve#0002"}


def settled(ledger: Ledger) -> Settler:
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    settler.merge([RACE], "import")
    return settler


def test_leaderboards_movers_players_and_races_show_discriminators(ledger: Ledger) -> None:
    settled(ledger)
    board = ledger.leaderboard(CATEGORY, GOAL)
    assert board is not None
    expected = {*BOTH, "Bo"}
    assert {entry["name"] for entry in queries.leaderboard(ledger, board, Listing())["players"]} == expected
    assert {standing.name for _, standing in queries.first_of(ledger, board, Listing(), 3)} == expected
    assert {entry["name"] for entry in queries.movers(ledger, board)} <= expected
    assert queries.player(ledger, "eve#0002", {})["name"] == "Eve#0002"
    (part,) = queries.race(ledger, "r")["leaderboards"]
    assert {entry["name"] for entry in part["entrants"]} == expected
    assert any("beat Eve#0002" in reason for entry in part["entrants"] for reason in entry["moved_by"])


def test_pages_and_api_show_discriminators(ledger: Ledger) -> None:
    settled(ledger)
    view = View(ledger, Publication())
    (board,) = view.boards
    assert {entry["name"] for entry in leaderboards.report(view, board)["players"]} == {*BOTH, "Bo"}
    assert [winner["name"] for race in leaderboards.races(view, board, 1) for winner in race["winners"]] == [
        "Eve#0001"
    ]
    assert {row["name"] for row in players.opponents(view, board, "id-bo")} == BOTH
    report = races.report(view, RACE.name)
    assert report is not None
    assert {entry["name"] for entry in report["result"]} == {*BOTH, "Bo"}
    assert {found["name"] for found in api.find_players(view, {"name": "eve"})["players"]} == BOTH


def test_a_backfill_of_known_races_brings_missing_discriminators(ledger: Ledger) -> None:
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    old = replace(RACE, entrants=tuple(replace(e, discriminator=None) for e in RACE.entrants))
    settler.merge([old], "import")
    board = ledger.leaderboard(CATEGORY, GOAL)
    assert board is not None
    before = ledger.standings(board)
    assert {standing.name for standing in before} == {"Eve", "Bo"}
    assert settler.merge([RACE], "backfill").known == 1
    after = ledger.standings(board)
    assert {standing.name for standing in after} == {*BOTH, "Bo"}
    assert [s.rating for s in after] == [s.rating for s in before]
    assert settler.verify(board) == []
