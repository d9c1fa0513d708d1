from __future__ import annotations

from datetime import timedelta

import pytest
from builders import CATEGORY, GOAL, NOON, result

from racebot.errors import LedgerError
from racebot.ledger.cases import CaseRow
from racebot.ledger.outbox import Body, ChatBody, Delivery, Edit, InfoBody, Message, MetaBody, MetaEntry
from racebot.ledger.store import Ledger

LATER = NOON + timedelta(hours=1)


def message(guid: str, race: str = "orb/r", body: Body | None = None) -> Message:
    return Message(race, race.partition("/")[0], guid, body or ChatBody(guid))


def guids(ledger: Ledger, race: str = "orb/r") -> list[str]:
    return [row.message.guid for row in ledger.messages.open_for(race)]


def test_messages_round_trip_in_their_order(ledger: Ledger) -> None:
    text = "1 Ann 1500→1510 (+10) · ¿?"
    whole = ChatBody(
        text,
        True,
        "key",
        2,
        (Edit("id-ann", "dq"),),
        {GOAL: {"id-ann": text}},
        {"id-ann": ("done", 5), "id-bo": ("dnf", None)},
        {"Why?": {"url": "x"}},
        True,
    )
    meta = MetaBody((MetaEntry(GOAL, "elo-ffa", {"id-ann": (1, 2)}),))
    bodies: list[Body] = [
        whole,
        ChatBody("hi", greets=True),
        ChatBody("no", withdraws=True),
        meta,
        InfoBody(("a", "b")),
    ]
    messages = [message(f"g-{9 - number}", body=body) for number, body in enumerate(bodies)]
    for number, each in enumerate(messages):
        ledger.messages.put(each, NOON + timedelta(hours=number))
    rows = ledger.messages.open_for("orb/r")
    assert [row.message for row in rows] == messages
    assert {row.state for row in rows} == {Delivery.WAITING}
    assert [row.created_at for row in rows] == [NOON + timedelta(hours=number) for number in range(5)]
    assert [row.id for row in rows] == sorted(row.id for row in rows)


def test_a_guid_is_queued_once(ledger: Ledger) -> None:
    ledger.messages.put(message("g", body=ChatBody("one")), NOON)
    ledger.messages.put(message("g", body=ChatBody("two")), LATER)
    assert [row.message.body for row in ledger.messages.of("orb/r")] == [ChatBody("one")]


def test_the_error_for_a_damaged_message_names_the_fix_in_one_line(ledger: Ledger) -> None:
    ledger.messages.put(message("g"), NOON)
    ledger.connection.db.execute("UPDATE outbox SET body = '{}'")
    with pytest.raises(LedgerError, match=r"\Aa stored chat message .*: restore a backup\Z"):
        ledger.messages.of("orb/r")


@pytest.mark.parametrize("state", Delivery)
def test_undelivered_messages_are_open(ledger: Ledger, state: Delivery) -> None:
    still_open = state in {Delivery.WAITING, Delivery.SENT}
    ledger.messages.put(message("g"), NOON)
    (row,) = ledger.messages.of("orb/r")
    ledger.messages.mark(row, state, LATER, "because")
    assert [r.state for r in ledger.messages.of("orb/r")] == [state]
    assert bool(ledger.messages.open_for("orb/r")) is still_open
    assert ledger.messages.rooms(CATEGORY) == (["orb/r"] if still_open else [])
    assert ledger.connection.db.execute("SELECT detail, updated_at FROM outbox").fetchone() == (
        "because",
        "2026-03-01T13:00:00.000000+00:00",
    )


def test_rooms_with_undelivered_messages_are_listed(ledger: Ledger) -> None:
    for guid, race in (("1", "orb/a"), ("2", "orb/b"), ("3", "orb/a"), ("4", "cup/x")):
        ledger.messages.put(message(guid, race=race), NOON)
    assert sorted(ledger.messages.rooms(CATEGORY)) == ["orb/a", "orb/b"]
    assert ledger.messages.rooms("cup") == ["cup/x"]
    assert guids(ledger, "orb/a") == ["1", "3"]


def test_only_waiting_messages_of_one_kind_and_room_are_dropped(ledger: Ledger) -> None:
    for guid, race, body in (
        ("sent", "orb/r", None),
        ("waiting", "orb/r", None),
        ("meta", "orb/r", MetaBody()),
        ("else", "orb/s", None),
    ):
        ledger.messages.put(message(guid, race, body), NOON)
    ledger.messages.mark(ledger.messages.open_for("orb/r")[0], Delivery.SENT, NOON)
    ledger.messages.drop_waiting("orb/r", "chat", LATER, "the race goes on")
    assert guids(ledger) == ["sent", "meta"]
    assert guids(ledger, "orb/s") == ["else"]
    assert ledger.connection.db.execute(
        "SELECT guid, detail FROM outbox WHERE state = 'dropped'"
    ).fetchall() == [("waiting", "the race goes on")]


def test_work_is_part_of_the_ledgers_transaction(ledger: Ledger) -> None:
    with pytest.raises(LedgerError), ledger.transaction():  # noqa: PT012
        ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON, NOON))
        ledger.messages.put(message("g"), NOON)
        ledger.backfills.save_page(CATEGORY, 1, [result("a", "ann")], NOON)
        raise LedgerError("halt")
    assert ledger.cases.polled(CATEGORY) == []
    assert ledger.messages.of("orb/r") == []
    assert ledger.backfills.results(CATEGORY) == []
