from pathlib import Path

import pytest
from builders import CATEGORY, GOAL, dump, existing, result

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

RULES = RatingRules(LeaderboardConfig("thurstone-hurdle"))
NAMES = ["ann bo cy", "bo ann", "di cy ann", "ed bo", "cy ed di bo"]
DAMAGE = {
    "a state before": "UPDATE changes SET state_before = '[1.0, 2.0]' WHERE sequence = 6",
    "a state after": "UPDATE changes SET state_after = '[1.0, 2.0]' WHERE sequence = 5 AND player = 'id-cy'",
    "a short state before": "UPDATE changes SET state_before = '[1.0]' WHERE player = 'id-bo'",
    "only short states before": "UPDATE changes SET state_before = '[1.0]' WHERE sequence = 6",
    "an impossible state": "UPDATE changes SET state_before = '[Infinity, -1.0]' WHERE sequence = 6",
    "points": "UPDATE changes SET points_after = points_after + 1 WHERE sequence = 7",
    "a number of races": "UPDATE changes SET races_before = races_before + 1 WHERE sequence = 9",
    "parts": "UPDATE changes SET parts = '[]' WHERE sequence = 4",
    "a place": "UPDATE changes SET place = 3 WHERE sequence = 8",
    "a missing change": "DELETE FROM changes WHERE sequence = 3 AND player = 'id-di'",
    "a note": "UPDATE rated SET note = 'x' WHERE sequence = 2",
    "a missing race": "DELETE FROM rated WHERE sequence = 10",
    "a standing's rating": "UPDATE standings SET rating = rating + 1e-9 WHERE player = 'id-bo'",
    "a standing's short state": "UPDATE standings SET state = '[1.0]' WHERE player = 'id-bo'",
    "a standing's wins": "UPDATE standings SET wins = wins + 1 WHERE player = 'id-bo'",
    "a standing's last race": "UPDATE standings SET last_race_at = '2026-03-01T00:00:00.000000+00:00'",
    "a missing standing": "DELETE FROM standings WHERE player = 'id-ed'",
    "an altered result": "UPDATE races SET result = replace(result, 'id-bo', 'id-zed') WHERE name = 'orb/r3'",
    "an unreadable result": "UPDATE races SET result = '{' WHERE name = 'orb/r3'",
    "an extra standing": (
        "INSERT INTO standings VALUES (1, 'id-zed', '[1, 1]', 1, 1000, 1, 1, 1, '2026-03-01T12:00:00+00:00')"
    ),
    "another sequence": "UPDATE rated SET sequence = 19 WHERE race = 'orb/r4'",
    "another model": "UPDATE leaderboards SET model = 'plackett-luce', parameters = '{}'",
    "a lost result": "DELETE FROM races WHERE name = 'orb/r5'",
    "an added result": (
        "INSERT INTO races SELECT 'orb/d', 'orb', goal, ended_at, ended_at, 'live', NULL, '', result, 1,"
        " '', 0, 0 FROM races LIMIT 1"
    ),
    "another order": "UPDATE races SET counted_at = '2026-03-01T12:30:00.000000+00:00' WHERE name = 'orb/r7'",
    "an exclusion that was not carried out": (
        "INSERT INTO orders (given_at, kind, subject, reason) VALUES ('', 'exclude', 'orb/r4', '')"
    ),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.open(tmp_path / "ledger.db")
    races = [result(f"r{n}", NAMES[n % len(NAMES)], after=n) for n in range(11)]
    races.append(result("alone", "zed", after=11))
    Settler(ledger, RULES).add_past_races(races, "import")
    return ledger


def board_of(ledger: Ledger) -> Leaderboard:
    return existing(ledger.leaderboards.get(CATEGORY, GOAL))


@pytest.mark.parametrize("kind", DAMAGE)
def test_every_difference_is_reported_and_a_rebuild_repairs_it(ledger: Ledger, kind: str) -> None:
    ledger.connection.db.execute("PRAGMA foreign_keys = OFF")
    assert ledger.connection.write(DAMAGE[kind])
    ledger.connection.db.execute("PRAGMA foreign_keys = ON")
    before = dump(ledger)
    problems = verify(ledger, board_of(ledger))
    assert problems
    assert dump(ledger) == before, "verify writes nothing"
    assert all("\n" not in problem.text for problem in problems)
    if "result" not in kind:  # only the site can repair a result
        Settler(ledger, RULES).rebuild(board_of(ledger))
        assert verify(ledger, board_of(ledger)) == []


@pytest.mark.parametrize("damage", [text for kind, text in DAMAGE.items() if "short state" in kind])
def test_no_platform_explains_states_of_another_length(ledger: Ledger, damage: str) -> None:
    ledger.connection.write(damage)
    ledger.connection.write("UPDATE rated_on SET platform = 'another computer'")
    assert any(problem.remedy for problem in verify(ledger, board_of(ledger)))
