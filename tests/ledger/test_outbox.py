from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, NOON, result

from racebot.errors import LedgerError
from racebot.ledger.outbox import Delivery, Message
from racebot.ledger.pending_races import PendingRace
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


def test_work_is_part_of_the_ledgers_transaction(ledger: Ledger) -> None:
    with pytest.raises(LedgerError), ledger.transaction():  # noqa: PT012
        ledger.pending.save(pending("r"))
        ledger.outbox.put(message("g"), NOON)
        ledger.backfills.keep(CATEGORY, 1, [result("a", "ann")], NOON)
        raise LedgerError("halt")
    assert ledger.pending.all(CATEGORY) == []
    assert ledger.outbox.of("orb/r") == []
    assert ledger.backfills.results(CATEGORY) == []
