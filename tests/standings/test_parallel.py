from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import CATEGORY, GOAL, result

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings import verify as verification
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.parallel import replay_agrees
from racebot.standings.settle import Settler

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
    "another order": "UPDATE races SET counted_at = '2026-03-01T12:30:00.000000+00:00' WHERE name = 'orb/r7'",
    "an exclusion that was not carried out": (
        "INSERT INTO orders (given_at, kind, subject, reason) VALUES ('', 'exclude', 'orb/r4', '')"
    ),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.open(tmp_path / "ledger.db")
    races = [result(f"r{n}", NAMES[n % len(NAMES)], after=n) for n in range(11)]
    Settler(ledger, Plans(LeaderboardPlan("thurstone-hurdle"))).merge(races, "import")
    return ledger


def board_of(ledger: Ledger) -> Leaderboard:
    board = ledger.leaderboard(CATEGORY, GOAL)
    assert board is not None
    return board


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_an_intact_ledger_agrees_in_ranges_of_any_size(ledger: Ledger, size: int) -> None:
    seen: list[int] = []
    assert replay_agrees(ledger, board_of(ledger), seen.append, size=size, jobs=1)
    assert seen[-1] == 11
    assert len(seen) == -(-11 // size)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_every_difference_is_found_and_described(
    ledger: Ledger, damage: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger.write(damage)

    def in_ranges(*given: Any) -> bool:
        return replay_agrees(*given, size=size, jobs=1)

    monkeypatch.setattr(verification, "RANGE", 0)
    monkeypatch.setattr(verification, "replay_agrees", in_ranges)
    problems = verification.verify(ledger, board_of(ledger))
    assert problems
    monkeypatch.setattr(verification, "RANGE", 100)
    assert verification.verify(ledger, board_of(ledger)) == problems


def test_other_processes_replay_the_ranges(ledger: Ledger) -> None:
    assert replay_agrees(ledger, board_of(ledger), size=4, jobs=2)
