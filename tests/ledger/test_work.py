"""The open work of the bot: messages and races that it follows, and how long they are kept."""

from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, GOAL, NOON

from racebot.ledger.outbox import (
    Body,
    CaseRow,
    ChatBody,
    Delivery,
    Edit,
    InfoBody,
    Message,
    MetaBody,
    MetaEntry,
)
from racebot.ledger.store import Ledger
from racebot.queries.race import edits_of

LATER = NOON + timedelta(hours=1)
KEEP = timedelta(days=30)
EXPIRED = NOON + timedelta(days=31)


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
    assert [row.created_at for row in rows] == [NOON + timedelta(hours=number) for number in range(4)]
    assert [row.id for row in rows] == sorted(row.id for row in rows)


def test_a_guid_is_queued_once(ledger: Ledger) -> None:
    ledger.messages.put(message("g", body=ChatBody("one")), NOON)
    ledger.messages.put(message("g", body=ChatBody("two")), LATER)
    assert [row.message.body for row in ledger.messages.of("orb/r")] == [ChatBody("one")]


def test_message_that_cannot_be_read_is_left_out_and_named(ledger: Ledger, caplog) -> None:
    for guid in "ab":
        ledger.messages.put(message(guid), NOON)
    ledger.connection.db.execute("UPDATE outbox SET body = '{}' WHERE guid = 'a'")
    for _ in range(2):
        assert [row.message.guid for row in ledger.messages.of("orb/r")] == ["b"]
    assert len([line for line in caplog.messages if "orb/r" in line]) == 1
    assert edits_of(ledger, "orb/r", {}) == []


def test_edit_that_two_messages_tell_is_one(ledger: Ledger) -> None:
    for guid in "ab":
        ledger.messages.put(
            message(guid, body=ChatBody(guid, correction=1, edits=(Edit("id-ann", "dq"),))), NOON
        )
    assert [each.edit for each in edits_of(ledger, "orb/r", {"id-ann": "Ann"})] == ["dq"]


@pytest.mark.parametrize("state", Delivery)
def test_undelivered_messages_are_open(ledger: Ledger, state: Delivery) -> None:
    still_open = state in {Delivery.WAITING, Delivery.SENT}
    ledger.messages.put(message("g"), NOON)
    (row,) = ledger.messages.of("orb/r")
    ledger.messages.mark(row, state, LATER, "because")
    assert [r.state for r in ledger.messages.of("orb/r")] == [state]
    assert bool(ledger.messages.open_for("orb/r")) is still_open
    assert bool(ledger.messages.open_in(CATEGORY)) is still_open
    assert ledger.connection.db.execute("SELECT detail, updated_at FROM outbox").fetchone() == (
        "because",
        "2026-03-01T13:00:00.000000+00:00",
    )


def test_undelivered_messages_of_a_category_and_of_a_room_are_listed(ledger: Ledger) -> None:
    for guid, race in (("1", "orb/a"), ("2", "orb/b"), ("3", "orb/a"), ("4", "cup/x")):
        ledger.messages.put(message(guid, race=race), NOON)
    assert [row.message.guid for row in ledger.messages.open_in(CATEGORY)] == ["1", "2", "3"]
    assert [row.message.guid for row in ledger.messages.open_in("cup")] == ["4"]
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


# Races that the bot follows


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


def test_pending_races_come_oldest_first_and_are_due_when_their_next_look_has_come(ledger: Ledger) -> None:
    for race in (pending("b", 2, look=1), pending("a", 1, look=2), pending("c", 3, look=3)):
        ledger.cases.save(race)
    ledger.cases.save(CaseRow("cup/x", "cup", NOON + timedelta(days=99), NOON + timedelta(days=99)))
    assert [p.race for p in ledger.cases.polled(CATEGORY)] == ["orb/a", "orb/b", "orb/c"]
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


# Old work


def put(ledger: Ledger, race: str, guid: str, state: Delivery) -> None:
    """Store a message that has had its state since noon."""
    with ledger.transaction():
        ledger.messages.put(Message(race, CATEGORY, guid, ChatBody(guid)), NOON)
        row = next(row for row in ledger.messages.of(race) if row.message.guid == guid)
        ledger.messages.mark(row, state, NOON)


@pytest.mark.parametrize("is_pending", [False, True])
@pytest.mark.parametrize("state", Delivery)
def test_only_messages_whose_delivery_ended_are_deleted(
    ledger: Ledger, state: Delivery, *, is_pending: bool
) -> None:
    """Whether to correct or withdraw a pending race depends on what was said."""
    ended = state not in {Delivery.WAITING, Delivery.SENT} and not is_pending
    put(ledger, "orb/r", "g", state)
    if is_pending:
        ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON, NOON))
    assert ledger.messages.clear(NOON) == 0
    assert ledger.messages.clear(EXPIRED - KEEP) == int(ended)
    assert len(ledger.messages.of("orb/r")) == int(not ended)
