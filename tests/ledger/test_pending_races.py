from __future__ import annotations

from datetime import timedelta
from typing import Any

from builders import CATEGORY, NOON

from racebot.ledger.pending_races import PendingRace
from racebot.ledger.store import Ledger

LATER = NOON + timedelta(hours=1)


def pending(slug: str, hours: float = 0, look: float = 0, **facts: Any) -> PendingRace:
    return PendingRace(
        f"orb/{slug}", CATEGORY, NOON + timedelta(hours=hours), NOON + timedelta(hours=look), **facts
    )


def test_pending_races_round_trip(ledger: Ledger) -> None:
    race = pending("r", 1.5, 2.25, announced_key="abc", corrections=3)
    ledger.pending.save(race)
    assert ledger.pending.get("orb/r") == race
    assert ledger.pending.get("orb/s") is None
    ledger.pending.save(pending("r", 1.5, 9))
    assert ledger.pending.all(CATEGORY) == [pending("r", 1.5, 9)]
    ledger.pending.remove("orb/r")
    ledger.pending.remove("orb/r")
    assert ledger.pending.all(CATEGORY) == []


def test_pending_races_of_a_category_come_oldest_first(ledger: Ledger) -> None:
    for race in (pending("b", 2), pending("a", 1), pending("c", 3)):
        ledger.pending.save(race)
    ledger.pending.save(PendingRace("cup/x", "cup", NOON, NOON))
    assert [p.race for p in ledger.pending.all(CATEGORY)] == ["orb/a", "orb/b", "orb/c"]


def test_due_races_are_those_whose_next_look_has_come(ledger: Ledger) -> None:
    for race in (pending("a", look=2), pending("b", look=1), pending("c", look=3)):
        ledger.pending.save(race)
    assert [p.race for p in ledger.pending.due(CATEGORY, NOON + timedelta(hours=2))] == ["orb/b", "orb/a"]
    assert ledger.pending.due(CATEGORY, NOON) == []
    assert ledger.pending.due("cup", NOON + timedelta(days=9)) == []


def test_joined_rooms_are_remembered_until_the_bot_leaves(ledger: Ledger) -> None:
    for race in ("orb/a", "orb/b", "orb/a"):
        ledger.pending.join(race, CATEGORY)
    ledger.pending.join("cup/x", "cup")
    assert sorted(ledger.pending.joined(CATEGORY)) == ["orb/a", "orb/b"]
    ledger.pending.leave("orb/a")
    ledger.pending.leave("orb/nosuch")
    assert ledger.pending.joined(CATEGORY) == ["orb/b"]
    assert ledger.pending.joined("cup") == ["cup/x"]
    assert [ledger.pending.is_joined(race) for race in ("orb/a", "orb/b", "cup/x")] == [False, True, True]
