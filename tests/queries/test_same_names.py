"""Every view of the ledger shows the discriminators of players with the same name."""

from dataclasses import replace

from builders import CATEGORY, GOAL, entrant, existing, result, settler_of

from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report, top_players
from racebot.queries.player import player_report
from racebot.queries.race import race_report
from racebot.queries.races import latest_races
from racebot.queries.standings import Listing
from racebot.races.result import Entrant
from racebot.standings.settle import Settler
from racebot.standings.verify import verify
from racebot.web.api import endpoints
from racebot.web.site.ledger_view import LedgerView, PageRequest, Publication


def eve(number: str, time: int) -> Entrant:
    return entrant("eve", time=time, user_id=f"eve{number}", discriminator=number)


RACE = result("r", entrants=(eve("0001", 1), eve("0002", 2), entrant("bo", time=3, discriminator="0003")))
BOTH = {"Eve#0001", "Eve#0002"}


def settled(ledger: Ledger) -> Settler:
    settler = settler_of(ledger, "elo-ffa")
    settler.add_past_races([RACE], "import")
    return settler


def test_reports_show_discriminators(ledger: Ledger) -> None:
    settled(ledger)
    board = ledger.leaderboards.get(CATEGORY, GOAL)
    assert board is not None
    expected = {*BOTH, "Bo"}
    report = leaderboard_report(ledger, board, Listing())
    assert {player.name for player in report.players} == expected
    assert {standing.name for _, standing in top_players(ledger, board, Listing(), 3)} == expected
    assert player_report(ledger, "eve#0002", lambda _: Listing()).name == "Eve#0002"
    (part,) = race_report(ledger, "r").leaderboards
    assert {entrant.name for entrant in part.entrants} == expected
    assert any("Eve#0002 (" in reason for entrant in part.entrants for reason in entrant.reasons)


def test_pages_and_api_show_discriminators(ledger: Ledger) -> None:
    settled(ledger)
    view = LedgerView(ledger, Publication())
    (board,) = view.boards
    assert {player.name for player in view.report(board).players} == {*BOTH, "Bo"}
    (row,) = latest_races(ledger, board.key, 1)
    assert [winner.name for winner in row.winners] == ["Eve#0001"]
    assert {opponent.name for opponent in existing(view.player(board, "id-bo")).rivals()} == BOTH
    report = view.race(RACE.name)
    assert report is not None
    assert {entrant.name for entrant in report.result} == {*BOTH, "Bo"}
    found = endpoints.find_players(PageRequest(view, "", {"name": "eve"}, served=True))
    assert {player.name for player in found.players} == BOTH


def test_a_backfill_of_known_races_brings_missing_discriminators(ledger: Ledger) -> None:
    settler = settler_of(ledger, "elo-ffa")
    old = replace(RACE, entrants=tuple(replace(e, discriminator=None) for e in RACE.entrants))
    settler.add_past_races([old], "import")
    board = ledger.leaderboards.get(CATEGORY, GOAL)
    assert board is not None
    before = ledger.standings.all(board)
    assert {standing.name for standing in before} == {"Eve", "Bo"}
    assert settler.add_past_races([RACE], "backfill").known == 1
    after = ledger.standings.all(board)
    assert {standing.name for standing in after} == {*BOTH, "Bo"}
    assert [s.rating for s in after] == [s.rating for s in before]
    assert verify(settler.ledger, board) == []
