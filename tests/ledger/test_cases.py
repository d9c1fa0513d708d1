from __future__ import annotations

from datetime import timedelta
from typing import Any

from builders import CATEGORY, NOON

from racebot.ledger.cases import CaseRow
from racebot.ledger.store import Ledger

LATER = NOON + timedelta(hours=1)


def pending(slug: str, hours: float = 0, look: float = 0, **facts: Any) -> CaseRow:
    return CaseRow(
        f"orb/{slug}", CATEGORY, NOON + timedelta(hours=hours), NOON + timedelta(hours=look), **facts
    )


def test_pending_races_round_trip(ledger: Ledger) -> None:
    race = pending("r", 1.5, 2.25, misses=2, over=True, quiet=True, ordered_at=LATER, unrecorded_since=NOON)
    ledger.cases.save(race)
    assert ledger.cases.get("orb/r") == race
    assert ledger.cases.get("orb/s") is None
    ledger.cases.save(pending("r", 1.5, 9))
    assert ledger.cases.polled(CATEGORY) == [pending("r", 1.5, 9)]
    ledger.cases.remove("orb/r")
    ledger.cases.remove("orb/r")
    assert ledger.cases.polled(CATEGORY) == []


def test_pending_races_of_a_category_come_oldest_first(ledger: Ledger) -> None:
    for race in (pending("b", 2), pending("a", 1), pending("c", 3)):
        ledger.cases.save(race)
    ledger.cases.save(CaseRow("cup/x", "cup", NOON, NOON))
    assert [p.race for p in ledger.cases.polled(CATEGORY)] == ["orb/a", "orb/b", "orb/c"]


def test_due_races_are_those_whose_next_look_has_come(ledger: Ledger) -> None:
    for race in (pending("a", look=2), pending("b", look=1), pending("c", look=3)):
        ledger.cases.save(race)
    assert [p.race for p in ledger.cases.due(CATEGORY, NOON + timedelta(hours=2))] == ["orb/b", "orb/a"]
    assert ledger.cases.due(CATEGORY, NOON) == []
    assert ledger.cases.due("cup", NOON + timedelta(days=9)) == []


def test_unfinished_races_are_those_that_have_not_ended(ledger: Ledger) -> None:
    for race in ("orb/a", "orb/b"):
        ledger.cases.save(CaseRow(race, CATEGORY))
    ledger.cases.save(CaseRow("cup/x", "cup"))
    ledger.cases.save(pending("over"))
    assert sorted(row.race for row in ledger.cases.unfinished(CATEGORY)) == ["orb/a", "orb/b"]
    ledger.cases.remove("orb/a")
    ledger.cases.remove("orb/nosuch")
    assert ledger.cases.unfinished(CATEGORY) == [CaseRow("orb/b", CATEGORY)]
    assert ledger.cases.unfinished("cup") == [CaseRow("cup/x", "cup")]
