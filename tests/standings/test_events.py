"""Events and the orders that follow them: merges, annulments, edited rooms, late attempts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import NOON, result, settler_of
from standings.seasons import board_of
from standings.test_orders import player

from racebot.errors import OrderError
from racebot.files.options import ReadOptions
from racebot.ledger.store import Ledger
from racebot.races.events import LATE, Event, EventSource, SourceKind, Timing, attempts
from racebot.standings import orders
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

HOUR = timedelta(hours=1)
ROOM = result("room", "ann old", dnf="cy")


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    """All players of the event have raced, but Ann and Old never in one race."""
    settler = settler_of(ledger, "elo-ffa")
    settler.add_past_races([result("a", "ann bo", after=-9), result("b", "old cy", after=-8)], "import")
    return settler


def steps(settler: Settler, hours: float = 4) -> EventSteps:
    return EventSteps(settler, NOON + hours * HOUR)


def created(settler: Settler, hours: float = 4) -> Event:
    until = NOON + 99 * HOUR
    return steps(settler, hours).create("Cup", board_of(settler), until, Timing.REAL, shown=True)


def racers(settler: Settler, event: Event) -> list[str]:
    """Return the players whose results in an event count."""
    return [str(each.user_id) for each in settler.ledger.events.combined(event, NOON).entrants]


def test_annulment_follows_a_merged_account(settler: Settler) -> None:
    event = created(settler)
    steps(settler).add_room(event, ROOM.name, result("room", "bo old", dnf="cy"))
    steps(settler).annul(event, player(settler, "old"), "no video")
    orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", NOON + 5 * HOUR)
    assert racers(settler, event) == ["id-bo", "id-cy"]
    steps(settler, 6).close(event, early=True)
    assert racers(settler, event) == ["id-bo", "id-cy"]


def test_annulment_ends_with_its_event(settler: Settler) -> None:
    event = created(settler)
    steps(settler).add_room(event, ROOM.name, ROOM)
    steps(settler).annul(event, player(settler, "ann"), "no video")
    steps(settler).remove(event)
    again = created(settler, hours=5)
    steps(settler, 5).add_room(again, ROOM.name, ROOM)
    assert racers(settler, again) == ["id-ann", "id-old", "id-cy"]


def test_room_of_a_closed_event_keeps_the_result_that_counts(settler: Settler) -> None:
    event = created(settler)
    steps(settler).add_room(event, ROOM.name, ROOM)
    settler.refresh_rules()
    edited = result("room", "old ann", dnf="cy")
    settler.settle(edited, NOON + 5 * HOUR)
    assert settler.ledger.events.sources(event.name)[0].result == edited, "it is open"
    steps(settler, 5).close(event, early=True)
    settler.settle(ROOM, NOON + 6 * HOUR)
    assert settler.ledger.events.sources(event.name)[0].result == edited
    assert verify(settler.ledger, board_of(settler)) == []


@pytest.mark.parametrize("kind", SourceKind)
@pytest.mark.parametrize("closes", [False, True])
def test_accounts_that_met_in_an_event_are_two_people(
    settler: Settler, tmp_path: Path, kind: SourceKind, closes: bool
) -> None:
    event = created(settler)
    if kind is SourceKind.ROOM:
        steps(settler).add_room(event, ROOM.name, ROOM)
    else:
        (tmp_path / "times.csv").write_text("name,time\nann,0:59:00\nold,1:00:00\n")
        steps(settler).add_sheet(event, tmp_path / "times.csv", ReadOptions())
    if closes:
        steps(settler).close(event, early=True)
    with pytest.raises(OrderError, match="both raced in"):
        orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", NOON + 5 * HOUR)


def test_late_attempt_does_not_use_up_the_first_one(settler: Settler) -> None:
    event = created(settler)
    late = replace(ROOM, started_at=event.until + HOUR, ended_at=event.until + 2 * HOUR)
    sheet = replace(ROOM, name="orb/times.csv", ended_at=event.until + 3 * HOUR)
    sources = [
        EventSource(event.name, kind, shown.name, shown, (), event.until, "")
        for kind, shown in ((SourceKind.ROOM, late), (SourceKind.SHEET, sheet))
    ]
    assert [each.note for each in attempts(event, sources, {})] == [LATE] * 3 + [None] * 3
