from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, NOON, result

from racebot.errors import LedgerError
from racebot.ledger.queue import Delivery, Message, PendingRace
from racebot.ledger.store import Ledger

LATER = NOON + timedelta(hours=1)


def pending(slug: str, hours: float = 0, look: float = 0, **facts: Any) -> PendingRace:
    return PendingRace(
        f"orb/{slug}", CATEGORY, NOON + timedelta(hours=hours), NOON + timedelta(hours=look), **facts
    )


def message(guid: str, kind: Any = "chat", race: str = "orb/r", **body: object) -> Message:
    return Message(race, race.partition("/")[0], kind, guid, body or {"text": guid})


def guids(ledger: Ledger, race: str = "orb/r") -> list[str]:
    return [row.message.guid for row in ledger.outbox.open_for(race)]


# Pending


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


def test_pending_races_of_a_category_oldest_first(ledger: Ledger) -> None:
    for race in (pending("b", 2), pending("a", 1), pending("c", 3)):
        ledger.pending.save(race)
    ledger.pending.save(PendingRace("cup/x", "cup", NOON, NOON))
    assert [p.race for p in ledger.pending.all(CATEGORY)] == ["orb/a", "orb/b", "orb/c"]


def test_pending_races_that_are_due(ledger: Ledger) -> None:
    for race in (pending("a", look=2), pending("b", look=1), pending("c", look=3)):
        ledger.pending.save(race)
    assert [p.race for p in ledger.pending.due(CATEGORY, NOON + timedelta(hours=2))] == ["orb/b", "orb/a"]
    assert ledger.pending.due(CATEGORY, NOON) == []
    assert ledger.pending.due("cup", NOON + timedelta(days=9)) == []


def test_unfinished_races_that_are_watched(ledger: Ledger) -> None:
    for race in ("orb/a", "orb/b", "orb/a"):
        ledger.pending.join(race, CATEGORY)
    ledger.pending.join("cup/x", "cup")
    assert sorted(ledger.pending.joined(CATEGORY)) == ["orb/a", "orb/b"]
    ledger.pending.leave("orb/a")
    ledger.pending.leave("orb/nosuch")
    assert ledger.pending.joined(CATEGORY) == ["orb/b"]
    assert ledger.pending.joined("cup") == ["cup/x"]
    assert [ledger.pending.is_joined(race) for race in ("orb/a", "orb/b", "cup/x")] == [False, True, True]


# Outbox


def test_messages_round_trip_in_their_order(ledger: Ledger) -> None:
    first = message("g-1", "chat", text="1 Ann 1500→1510 (+10) · ¿?")
    second = message("a-2", "meta", leaderboards=[{"changes": {"id-ann": [1, 2]}}])
    ledger.outbox.put(first, NOON)
    ledger.outbox.put(second, LATER)
    rows = ledger.outbox.open_for("orb/r")
    assert [row.message for row in rows] == [first, second]
    assert [row.state for row in rows] == [Delivery.WAITING] * 2
    assert [row.created_at for row in rows] == [NOON, LATER]
    assert rows[0].id < rows[1].id


def test_a_guid_is_queued_once(ledger: Ledger) -> None:
    ledger.outbox.put(message("g", text="one"), NOON)
    ledger.outbox.put(message("g", text="two"), LATER)
    assert [row.message.body for row in ledger.outbox.of("orb/r")] == [{"text": "one"}]


def test_a_kind_must_be_known(ledger: Ledger) -> None:
    ledger.outbox.put(message("g", "dance"), NOON)
    assert ledger.outbox.of("orb/r") == []


@pytest.mark.parametrize(
    ("state", "still_open"),
    [
        (Delivery.WAITING, True),
        (Delivery.SENT, True),
        (Delivery.DELIVERED, False),
        (Delivery.REFUSED, False),
        (Delivery.DROPPED, False),
    ],
)
def test_undelivered_messages_are_returned_in_order(
    ledger: Ledger, state: Delivery, still_open: bool
) -> None:
    ledger.outbox.put(message("g"), NOON)
    (row,) = ledger.outbox.of("orb/r")
    ledger.outbox.mark(row, state, LATER, "because")
    assert [r.state for r in ledger.outbox.of("orb/r")] == [state]
    assert bool(ledger.outbox.open_for("orb/r")) is still_open
    assert ledger.outbox.rooms(CATEGORY) == (["orb/r"] if still_open else [])
    assert ledger.db.execute("SELECT detail, updated_at FROM outbox").fetchone() == (
        "because",
        "2026-03-01T13:00:00.000000+00:00",
    )


def test_rooms_with_undelivered_messages(ledger: Ledger) -> None:
    for guid, race in (("1", "orb/a"), ("2", "orb/b"), ("3", "orb/a"), ("4", "cup/x")):
        ledger.outbox.put(message(guid, race=race), NOON)
    assert sorted(ledger.outbox.rooms(CATEGORY)) == ["orb/a", "orb/b"]
    assert ledger.outbox.rooms("cup") == ["cup/x"]
    assert guids(ledger, "orb/a") == ["1", "3"]


def test_only_waiting_messages_of_one_kind_and_room_are_dropped(ledger: Ledger) -> None:
    for guid, kind, race in (
        ("sent", "chat", "orb/r"),
        ("waiting", "chat", "orb/r"),
        ("meta", "meta", "orb/r"),
        ("else", "chat", "orb/s"),
    ):
        ledger.outbox.put(message(guid, kind, race), NOON)
    ledger.outbox.mark(ledger.outbox.open_for("orb/r")[0], Delivery.SENT, NOON)
    ledger.outbox.drop_waiting("orb/r", "chat", LATER, "the race goes on")
    assert guids(ledger) == ["sent", "meta"]
    assert guids(ledger, "orb/s") == ["else"]
    assert ledger.db.execute("SELECT guid, detail FROM outbox WHERE state = 'dropped'").fetchall() == [
        ("waiting", "the race goes on")
    ]


# Staging


def test_each_fetched_page_is_stored(ledger: Ledger) -> None:
    assert ledger.staging.next_page(CATEGORY, not_before=NOON) == 1
    with ledger.transaction():
        ledger.staging.keep(CATEGORY, 1, [result("a", "ann"), result("b", "bo")], NOON)
    with ledger.transaction():
        ledger.staging.keep(CATEGORY, 2, [result("b", "cy"), result("c", "ann")], LATER)
    assert ledger.staging.next_page(CATEGORY, not_before=NOON) == 3
    kept = {r.name: r for r in ledger.staging.results(CATEGORY)}
    assert kept == {
        f"orb/{slug}": result(slug, who) for slug, who in (("a", "ann"), ("b", "cy"), ("c", "ann"))
    }


def test_first_page_starts_a_new_backfill(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.staging.keep(CATEGORY, 1, [result("a", "ann")], NOON)
        ledger.staging.keep(CATEGORY, 2, [result("b", "ann")], NOON)
        ledger.staging.keep(CATEGORY, 1, [result("c", "ann")], LATER)
    assert [r.name for r in ledger.staging.results(CATEGORY)] == ["orb/c"]
    assert ledger.staging.next_page(CATEGORY, not_before=LATER) == 2


def test_an_old_backfill_is_not_resumed(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.staging.keep(CATEGORY, 1, [result("a", "ann")], NOON)
    assert ledger.staging.next_page(CATEGORY, not_before=NOON) == 2
    assert ledger.staging.next_page(CATEGORY, not_before=NOON + timedelta(microseconds=1)) == 1


def test_categories_have_their_own_backfills(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.staging.keep(CATEGORY, 1, [result("a", "ann")], NOON)
        ledger.staging.keep("cup", 1, [result("x", "ann", name="cup/x")], NOON)
        ledger.staging.keep("cup", 2, [], NOON)
    ledger.staging.clear("cup")
    assert ledger.staging.results("cup") == []
    assert ledger.staging.next_page("cup", not_before=NOON) == 1
    assert ledger.staging.next_page(CATEGORY, not_before=NOON) == 2
    assert [r.name for r in ledger.staging.results(CATEGORY)] == ["orb/a"]
    assert (ledger.staging.count(CATEGORY), ledger.staging.count("cup")) == (1, 0)


def test_work_is_part_of_the_ledgers_transaction(ledger: Ledger) -> None:
    with pytest.raises(LedgerError), ledger.transaction():  # noqa: PT012
        ledger.pending.save(pending("r"))
        ledger.outbox.put(message("g"), NOON)
        ledger.staging.keep(CATEGORY, 1, [result("a", "ann")], NOON)
        raise LedgerError("halt")
    assert ledger.pending.all(CATEGORY) == []
    assert ledger.outbox.of("orb/r") == []
    assert ledger.staging.results(CATEGORY) == []
