from __future__ import annotations

from datetime import timedelta

import pytest
from builders import CATEGORY, NOON, result

from racebot.ledger.cases import CaseRow
from racebot.ledger.outbox import ChatBody, Delivery, Message, MetaBody
from racebot.ledger.store import Ledger
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

KEEP = timedelta(days=30)
LATER = NOON + timedelta(days=31)


def put(ledger: Ledger, race: str, guid: str, state: Delivery) -> None:
    """Store a message that has had its state since noon."""
    with ledger.transaction():
        ledger.messages.put(Message(race, CATEGORY, guid, ChatBody(guid)), NOON)
        row = next(row for row in ledger.messages.of(race) if row.message.guid == guid)
        ledger.messages.mark(row, state, NOON)


@pytest.mark.parametrize("state", Delivery)
def test_only_messages_whose_delivery_ended_are_deleted(ledger: Ledger, state: Delivery) -> None:
    ended = state not in {Delivery.WAITING, Delivery.SENT}
    put(ledger, "orb/r", "g", state)
    assert ledger.clear_old(keep=KEEP, now=NOON + KEEP) == (0, 0)
    assert ledger.clear_old(keep=KEEP, now=LATER) == (int(ended), 0)
    assert len(ledger.messages.of("orb/r")) == int(not ended)


def test_messages_of_pending_races_are_kept(ledger: Ledger) -> None:
    """Whether to correct or withdraw it depends on what was said."""
    put(ledger, "orb/r", "g", Delivery.DELIVERED)
    with ledger.transaction():
        ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON, NOON))
    assert ledger.clear_old(keep=KEEP, now=LATER) == (0, 0)
    assert len(ledger.messages.of("orb/r")) == 1


def test_abandoned_backfill_is_deleted_and_a_recent_one_is_kept(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.backfills.save_page("orb", 1, [result("a", "ann bo")], NOON)
        ledger.backfills.save_page("other", 1, [result("b", "ann bo")], LATER)
    assert ledger.clear_old(keep=KEEP, now=LATER) == (0, 1)
    assert (ledger.backfills.count("orb"), ledger.backfills.count("other")) == (0, 1)
    assert ledger.backfills.next_page("orb", not_before=NOON) == 1


def test_ratings_can_be_replayed_after_old_data_is_deleted(ledger: Ledger) -> None:
    settler = Settler(ledger, Plans(LeaderboardPlan("plackett-luce")))
    settler.settle(
        result("first", "ann bo", dnf="cy"),
        lambda rated: [Message("orb/first", CATEGORY, "g", MetaBody())],
        NOON,
    )
    (row,) = ledger.messages.of("orb/first")
    with ledger.transaction():
        ledger.messages.mark(row, Delivery.DELIVERED, NOON)
    (board,) = ledger.leaderboards.all()
    before = ledger.standings.all(board)
    assert ledger.clear_old(keep=KEEP, now=LATER) == (1, 0)
    assert verify(settler.ledger, board) == []
    assert settler.rebuild(board) == 1
    assert ledger.standings.all(board) == before
