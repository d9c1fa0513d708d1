"""Every view of the ledger shows the discriminators of players with the same name."""

from dataclasses import replace

from builders import entrant, existing, result, settler_of

from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import top_players
from racebot.queries.player import player_report
from racebot.queries.races import latest_races
from racebot.queries.standings import Listing
from racebot.races.result import Entrant
from racebot.standings.verify import verify
from racebot.web.api import endpoints
from racebot.web.site.ledger_view import LedgerView, PageRequest, Publication


def eve(number: str, time: int) -> Entrant:
    return entrant("eve", time=time, user_id=f"eve{number}", discriminator=number)


RACE = result("r", entrants=(eve("0001", 1), eve("0002", 2), entrant("bo", time=3, discriminator="0003")))
BOTH = {"Eve#0001", "Eve#0002"}


def test_reports_pages_and_api_show_discriminators(ledger: Ledger) -> None:
    settler_of(ledger, "elo-ffa").add_past_races([RACE], "import")
    view, expected = LedgerView(ledger, Publication()), {*BOTH, "Bo"}
    (board,) = view.boards
    assert {player.name for player in view.report(board).players} == expected
    assert {each.name for _, each in top_players(ledger, board.stored, Listing(), 3)} == expected
    assert player_report(ledger, "eve#0002", lambda _: Listing()).name == "Eve#0002"
    report = existing(view.race(RACE.name))
    assert {entrant.name for entrant in report.result} == expected
    (part,) = report.leaderboards
    assert {entrant.name for entrant in part.entrants} == expected
    assert any("Eve#0002 (" in reason for entrant in part.entrants for reason in entrant.reasons)
    (row,) = latest_races(ledger, board.key, 1)
    assert [winner.name for winner in row.winners] == ["Eve#0001"]
    assert {opponent.name for opponent in existing(view.player(board, "id-bo")).rivals()} == BOTH
    found = endpoints.find_players(PageRequest(view, "", {"name": "eve"}, served=True))
    assert {player.name for player in found.players} == BOTH


def test_a_backfill_of_known_races_brings_missing_discriminators(ledger: Ledger) -> None:
    settler = settler_of(ledger, "elo-ffa")
    old = replace(RACE, entrants=tuple(replace(e, discriminator=None) for e in RACE.entrants))
    settler.add_past_races([old], "import")
    (board,) = ledger.leaderboards.all()
    before = ledger.standings.all(board)
    assert {standing.name for standing in before} == {"Eve", "Bo"}
    assert settler.add_past_races([RACE], "backfill").known == 1
    after = ledger.standings.all(board)
    assert {standing.name for standing in after} == {*BOTH, "Bo"}
    assert [s.rating for s in after] == [s.rating for s in before]
    assert verify(settler.ledger, board) == []
