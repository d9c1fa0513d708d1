"""Events and the orders that follow them: merges, annulments, penalties, edited rooms, late attempts."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import GOAL, NOON, existing, result, settler_of
from standings.seasons import board_of
from standings.test_orders import player

from racebot.errors import OrderError
from racebot.files.options import ReadOptions
from racebot.ledger.store import Ledger
from racebot.races.events import LATE, Event, EventSource, SourceKind, attempts
from racebot.races.result import NO_NAME
from racebot.races.rooms import RoomRule
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
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
    return steps(settler, hours).create("Cup", board_of(settler), until)


def racers(settler: Settler, event: Event) -> list[str]:
    """Return the players whose results in an event count."""
    return [str(each.user_id) for each in settler.ledger.events.combined(event).entrants]


def test_an_event_needs_another_name_than_one_that_was_imported(settler: Settler) -> None:
    settler.add_past_races([replace(result("event-cup", "ann bo"), leaderboard=GOAL)], "import")
    with pytest.raises(OrderError, match="event-cup"):
        created(settler)


def test_annulment_follows_a_merged_account(settler: Settler) -> None:
    event = created(settler)
    steps(settler).add_room(event, ROOM.name, result("room", "bo old", dnf="cy"))
    steps(settler).annul(event, player(settler, "old"), "no video")
    orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", NOON + 5 * HOUR)
    assert racers(settler, event) == ["id-bo", "id-cy"]
    steps(settler, 6).close(event)
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
    settler.boards.refresh()
    edited = result("room", "old ann", dnf="cy")
    settler.settle(edited, NOON + 5 * HOUR)
    assert settler.ledger.events.sources(event.name)[0].result == edited, "it is open"
    steps(settler, 5).close(event)
    settler.settle(ROOM, NOON + 6 * HOUR)
    assert settler.ledger.events.sources(event.name)[0].result == edited
    assert verify(settler.ledger, board_of(settler)) == []


def test_accounts_that_are_deleted_while_an_event_is_open_keep_their_results(settler: Settler) -> None:
    gone = replace(ROOM, entrants=(replace(ROOM.entrants[0], user_id=None, name=NO_NAME), *ROOM.entrants[1:]))
    event = created(settler)
    settler.settle(ROOM, NOON)
    steps(settler).add_room(event, ROOM.name, gone)
    settler.settle(gone, NOON + 5 * HOUR)
    steps(settler).close(event)
    steps(settler).reopen(settler.ledger.events.find("Cup"))
    settler.settle(gone, NOON + 6 * HOUR)
    assert racers(settler, event) == ["id-ann", "id-old", "id-cy"]


LONG = 150_000_000  # racers are a minute apart


def penalize(settler: Settler, race: str, name: str, amount: int, hours: float = 6) -> None:
    orders.penalize(settler, race, player(settler, name), amount, "warped", NOON + hours * HOUR)


def times(settler: Settler, race: str) -> dict[str, int]:
    """Return the finish times of a stored race in microseconds, by the player's name in lower case."""
    entrants = settler.ledger.races.find(race).result.entrants
    return {each.name.casefold(): each.finish_time for each in entrants if each.finish_time is not None}


def places(settler: Settler, race: str) -> dict[str, int | None]:
    (rated,) = settler.rated(race)
    assert verify(settler.ledger, rated.leaderboard) == []
    return {change.player.removeprefix("id-"): change.place for change in rated.changes}


def test_a_penalty_moves_a_result_until_it_is_taken_back(settler: Settler) -> None:
    """Ann finishes before Old. An event has a penalty while it is open and after it closed."""
    event = created(settler)
    steps(settler).add_room(event, ROOM.name, ROOM)
    with pytest.raises(OrderError, match="reason"):
        orders.penalize(settler, event.name, player(settler, "ann"), LONG, " ", NOON)
    penalize(settler, event.name, "ann", LONG)
    steps(settler, 6).close(event)
    assert places(settler, event.name) == {"ann": 2, "old": 1, "cy": None}
    first = times(settler, event.name)["ann"]
    for amount, place in ((2 * LONG, 2), (0, 1)):
        penalize(settler, event.name, "ann", amount, 7)
        assert times(settler, event.name)["ann"] == first - LONG + amount
        assert places(settler, event.name)["ann"] == place
    for name, amount in (("ann", 0), ("cy", LONG), ("bo", LONG)):
        with pytest.raises(OrderError):
            penalize(settler, event.name, name, amount)


def test_a_penalty_stays_when_the_site_shows_the_race_again(ledger: Ledger) -> None:
    """An edit, a deleted account, a merge and a forgotten name leave it at the one time that was ordered."""
    league = LeaderboardConfig(
        "elo-ffa", name="L", goals=(GOAL,), rule=RoomRule(finished=True, grace=timedelta())
    )
    settler = Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa"), (league,)))
    room = result("r", "ann bo cy", recorded=False)
    settler.add_past_races([result("old", "old cy", after=-9, recorded=False), room], "import")
    penalize(settler, room.name, "ann", LONG)
    assert places(settler, room.name) == {"ann": 3, "bo": 1, "cy": 2}
    site_time = {each.name.casefold(): each.finish_time for each in room.entrants}
    gone = replace(room.entrants[0], user_id=None, name=NO_NAME)
    for shown in (room, replace(room, entrants=(gone, *room.entrants[1:]))):
        settler.settle(shown, NOON + 7 * HOUR)
        assert places(settler, room.name) == {"ann": 3, "bo": 1, "cy": 2}
        assert times(settler, room.name) == site_time | {"ann": existing(site_time["ann"]) + LONG}
    orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", NOON + 8 * HOUR)
    orders.forget(settler, player(settler, "ann"), "", NOON + 8 * HOUR)
    assert places(settler, room.name)["ann"] == 3
    assert "warped" not in ledger.races.find(room.name).result.to_json()
    settler.settle(replace(room, recorded=True), NOON + 9 * HOUR)
    with pytest.raises(OrderError, match="recorded"):
        penalize(settler, room.name, "bo", LONG)
    penalize(settler, room.name, "ann", 0)
    assert times(settler, room.name)[NO_NAME] == site_time["ann"]


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
        read, _ = steps(settler).read_sheet(event, tmp_path / "times.csv", ReadOptions())
        steps(settler).add_sheet(event, read)
    if closes:
        steps(settler).close(event)
    with pytest.raises(OrderError, match="both raced in"):
        orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", NOON + 5 * HOUR)


def test_late_attempt_does_not_use_up_the_first_one(settler: Settler) -> None:
    event = created(settler)
    late = replace(ROOM, started_at=event.until + HOUR, ended_at=event.until + 2 * HOUR)
    sheet = replace(ROOM, name="orb/times.csv", ended_at=event.until + 3 * HOUR)
    sources = [
        EventSource(event.name, kind, shown.name, shown, ())
        for kind, shown in ((SourceKind.ROOM, late), (SourceKind.SHEET, sheet))
    ]
    assert [each.note for each in attempts(event, sources, {})] == [LATE] * 3 + [None] * 3
