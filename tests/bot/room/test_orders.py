"""Orders come first: they wait for nothing, are carried out once, and show what they change everywhere."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from unittest.mock import AsyncMock, Mock

import pytest
from builders import CATEGORY, NOON, Clock, at_once, chat_body, existing, result, seen
from room_support import NAME, Follower
from worker_support import spaced, until

from racebot.bot.room import answers, events as cases
from racebot.bot.room.answers import CommandHandler
from racebot.bot.room.events import Signal
from racebot.bot.room.inbox import Inbox, RoomContext, WorkerContext
from racebot.bot.room.orders import RoomOrder
from racebot.errors import LedgerUnavailable, SiteError
from racebot.ledger.outbox import InfoBody, MetaBody
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.races.rooms import RoomRule
from racebot.racetime.frames import ChatHistory, ChatMessage, RaceUpdate
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.text.format import Count

TEXTS = Texts()
ON = TEXTS.quiet.format(quiet=Count(False), command="")
COUNTS = TEXTS.counts.format(record=Count(False), over=Count(True), waits=Count(False))
WAITS = TEXTS.counts.format(record=Count(False), over=Count(False), waits=Count(True))
CUSTOM: dict[str, Any] = {"goal": "Cup 1", "custom_goal": True, "recordable": False, "recorded": False}
CUP = LeaderboardConfig("elo-ffa", name="Cup", rule=RoomRule(custom_goals=("Cup*",), finished=True))
FIRST = result("r", "ann bo", dnf="cy", **CUSTOM)
EDITED = result("r", "bo ann", dnf="cy", **CUSTOM)


def line(text: str, at: float = 0.0, **facts: Any) -> ChatMessage:
    """A moderator's chat line, so many seconds after the end of the race."""
    given = {"user_id": "id-ann", "user_name": "Ann", "can_moderate": True, "bot": None, "is_system": False}
    return ChatMessage(f"{text} {at}", text, NOON.timestamp() + at, **{**given, **facts})


def race(result: RaceResult = FIRST, **facts: Any) -> Race:
    return seen(result, custom_goal=True, **facts)


SYSTEM = line("Owner changed finish time for Ann", user_id=None, can_moderate=False, is_system=True)


class Room:
    """A room whose race ended, with an inbox that tests feed. The race cannot be read over HTTP."""

    def __init__(self, ledger: Ledger, clock: Clock, *, orders_only: bool = False) -> None:
        self.ledger, self.clock = ledger, clock
        self.settler = Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa"), (CUP,)))
        self.follower = Follower(self.settler, clock, quiet_seconds=0)
        self.said, self.shown_races = list[str](), list[Race]()
        self.call: Callable[..., Any] = at_once
        self.follow_goal = AsyncMock()
        self.handler = CommandHandler(self.follower.work, Settings(), silent=orders_only)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Inbox]:
        site = Mock(race=AsyncMock(side_effect=SiteError("down")), clock=self.clock)
        delivery = Mock(answer=lambda text, *_, **__: self.said.append(text))

        async def call(*arguments: Any, **options: Any) -> Any:
            return await self.call(*arguments, **options)

        worker = WorkerContext(
            *(Settings(), site, self.settler, call, self.clock, FailureLog(), Mock(), Mock()),
            on_race=self.shown_races.append,
        )
        context = RoomContext(worker, None, self.follower.work, self.follow_goal, self.handler)
        inbox = Inbox(NAME, context, cast("Any", delivery), lambda: None)
        task = asyncio.create_task(inbox.run())
        try:
            yield inbox
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def shown(self) -> dict[str, Any]:
        """Return the last queued info box, `bot_meta` and chat messages."""
        rows = self.ledger.messages.of(NAME)
        info = [row.message.body.blocks for row in rows if isinstance(row.message.body, InfoBody)]
        meta = [row.message.body.leaderboards for row in rows if isinstance(row.message.body, MetaBody)]
        chat = [spaced(chat_body(row).text) for row in rows if row.message.kind == "chat"]
        return {"info": info and spaced(info[-1][0]), "meta": meta and meta[-1], "chat": chat}


@pytest.fixture
def room(ledger: Ledger, clock: Clock) -> Room:
    return Room(ledger, clock)


def event(room: Room) -> None:
    board = CUP.leaderboard(CATEGORY, "")
    steps = EventSteps(room.settler, NOON)
    steps.create("Week 1", board, NOON + timedelta(days=1))


async def _never(_: Race) -> None:
    await asyncio.Event().wait()


CARRIED_OUT: dict[str, Callable[[Room], object]] = {
    "off": lambda room: (row := room.ledger.cases.get(NAME)) and row.quiet,
    "on": lambda room: ON in room.said,
    "count": lambda room: room.ledger.races.has(NAME),
    "skip": lambda room: room.ledger.orders.all()[-1].kind == "skip",
    "event Week 1": lambda room: room.ledger.events.rooms(),
    "redo": lambda room: any("Ann" in text for text in room.shown()["chat"]),
    "hide me": lambda room: room.ledger.people.is_hidden("id-ann"),
}


@pytest.mark.parametrize("goal", [None, SiteError("down"), _never], ids=["known", "down", "slow"])
@pytest.mark.parametrize("order", CARRIED_OUT)
async def test_an_order_waits_for_no_read_nor_expires(room: Room, order: str, goal: Any, monkeypatch) -> None:
    """An edit was announced, and every read of the race, or of its goal, fails. Answers expire at once."""
    room.follow_goal.side_effect = goal
    monkeypatch.setattr(answers, "EXPIRES", 0.0)
    monkeypatch.setattr("racebot.bot.room.inbox.EXPIRES", 0.0)
    event(room)
    async with room.open() as inbox:
        for frame in (RaceUpdate(race()), SYSTEM, line("!why"), line(f"!ratings {order}", 1.0)):
            inbox.on_frame(frame)
        await until(lambda: inbox.race and CARRIED_OUT[order](room) and room.shown_races)


async def test_an_order_is_kept_while_the_ledger_is_busy(room: Room, monkeypatch) -> None:
    monkeypatch.setattr("racebot.bot.failures.FIRST_PAUSE", 0.01)
    failed: list[object] = []

    async def call(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if work == room.handler.orders.carry_out and len(failed) < 3:
            failed.append(work)
            raise LedgerUnavailable("busy")
        return work(*arguments, **options)

    room.call = call
    async with room.open() as inbox:
        for frame in (RaceUpdate(race()), line("!ratings skip", 1.0), line("!ratings count", 2.0)):
            inbox.on_frame(frame)
        await until(lambda: room.said)
        await until(lambda: len(room.ledger.orders.all()) == 2)
    assert [order.kind for order in room.ledger.orders.all()] == ["skip", "count"]
    assert len(failed) == 3


# What an order changes


async def test_a_race_that_is_skipped_and_counted_again_shows_what_counts_everywhere(room: Room) -> None:
    """Between the two, a moderator edits the result."""
    async with room.open() as inbox:
        inbox.on_frame(RaceUpdate(race()))
        inbox.on_frame(line("!ratings count", 1.0))
        await until(lambda: room.shown()["info"])
        assert "1 Ann" in room.shown()["info"]
        await until(lambda: any("1 Ann" in text for text in room.shown()["chat"]))
        room.follower.deliver()

        inbox.on_frame(line("!ratings skip", 2.0))
        await until(lambda: room.shown()["info"] == TEXTS.not_counted)
        assert room.shown()["meta"] == ()
        assert room.shown()["chat"][-1] == TEXTS.skipped.format(command="!ratings")
        room.follower.deliver()

        inbox.put(cases.Read(race(EDITED, version=2), 0.0))
        inbox.on_frame(line("!ratings count", 3.0))
        await until(lambda: "1 Bo" in room.shown()["info"])
        await until(lambda: "1 Bo" in room.shown()["chat"][-1])
    (entry,) = room.shown()["meta"]
    assert list(entry.changes) == ["id-bo", "id-ann", "id-cy"]
    assert room.shown()["chat"][-1].startswith("Ratings by racebot (Cup): "), "it counts already"


def settle(room: Room, given: RaceResult = FIRST) -> None:
    room.follower.show_final(given)
    room.follower.deliver()
    room.follower.on(NAME, Signal.COUNT)
    room.follower.deliver()


def exclude(room: Room, *, undo: bool) -> None:
    orders.exclude(room.settler, existing(room.ledger.races.get(NAME)), "asked", NOON, undo=undo)


def skip(room: Room, *, undo: bool) -> None:
    orders.skip(room.settler, NAME, "asked", NOON, undo=undo)


def put_into_event(room: Room, *, undo: bool) -> None:
    steps = EventSteps(room.settler, NOON)
    if undo:
        steps.remove(room.ledger.events.find("Week 1"), [NAME])
    else:
        event(room)
        steps.add_room(room.ledger.events.find("Week 1"), NAME, FIRST)


@pytest.mark.parametrize("give", [exclude, skip, put_into_event])
def test_orders_of_the_shell_have_the_same_effects(room: Room, give: Callable[..., None]) -> None:
    settle(room)
    room.ledger.posts.put(FIRST, ["1"], None)
    before = room.shown()
    give(room, undo=False)
    assert room.ledger.orders.races_since(0) == [NAME]
    assert room.follower.work.follow_order(NAME)
    shown = room.shown()
    assert (shown["info"], shown["meta"]) == (TEXTS.not_counted, ())
    assert shown["chat"][-1] == TEXTS.not_counted
    assert room.ledger.posts.get(NAME, "1").wanted == "withdrawn"
    room.follower.deliver()
    give(room, undo=True)
    if give is put_into_event:  # the next look at the room settles it
        room.follower.on(NAME, Signal.COUNT)
    room.follower.work.follow_order(NAME)
    shown = room.shown()
    assert (shown["info"], shown["meta"]) == (before["info"], before["meta"])
    assert "1 Ann" in shown["chat"][-1]


# Edits of a race that counts without a record


def test_an_edit_of_a_race_that_counts_is_corrected_in_chat_and_so_is_its_end(room: Room) -> None:
    room.follower.show_final(replace(FIRST, name=f"{CATEGORY}/earlier"))
    room.follower.on(f"{CATEGORY}/earlier", Signal.COUNT)
    settle(room)
    points = {c.player: c.points_after for r in room.settler.rated(NAME) for c in r.changes}
    (correction,) = room.follower.announce(EDITED)
    assert correction.startswith("Correction (")
    (back,) = room.follower.announce(FIRST)
    assert back.startswith("Correction (")
    for player in ("ann", "bo"):
        shown = spaced(back).partition(f" {player.title()} ")[2]
        assert shown.startswith(f"{points[f'id-{player}']:.0f} "), "rated as before this race"
    assert room.follower.announce(FIRST) == [], "each is said once"


# Orders in a chat history


def history(*lines: ChatMessage) -> ChatHistory:
    return ChatHistory(lines, NOON.timestamp() + 30)


OLD = {
    "a quiet order that was carried out": ("off", timedelta(seconds=5)),
    "hide me": ("hide me", timedelta(0)),
    "show me": ("show me", timedelta(0)),
    "redo": ("redo", timedelta(0)),
}


@pytest.mark.parametrize(("order", "after"), OLD.values(), ids=OLD)
def test_an_old_order_is_not_repeated_after_a_restart(room: Room, order: str, after: timedelta) -> None:
    lines = history(line(f"!ratings {order}", 5.0))
    assert room.handler.of_history(lines, NOON + after, is_first=True) == []


@pytest.mark.parametrize("last", ["count", "skip"])
async def test_an_order_whether_a_race_counts_is_obeyed_once(ledger: Ledger, clock: Clock, last: str) -> None:
    first = "skip" if last == "count" else "count"
    said = line(f"!ratings {first}", 1.0), line(f"!ratings {last}", 2.0)
    for number, lines in enumerate((said, said, said[:1]), start=1):
        room = Room(ledger, clock)
        async with room.open() as inbox:
            inbox.on_frame(RaceUpdate(race()))
            inbox.on_frame(history(*lines))
            await until(ledger.orders.all)
            await until(lambda: inbox.may_leave() or not inbox._orders)
        assert [order.kind for order in ledger.orders.all()] == [last], number


@pytest.mark.parametrize(
    ("order", "answer", "is_over"),
    [("count", COUNTS, True), ("count", WAITS, False), ("skip", TEXTS.skipped, True)],
)
async def test_an_order_that_is_given_again_is_answered_and_stored(
    ledger: Ledger, clock: Clock, order: str, answer: str, is_over: bool
) -> None:
    shown = race() if is_over else replace(race(), status="in_progress", result=None)
    said = [line(f"!ratings {order}", at) for at in (1.0, 2.0)]
    room = Room(ledger, clock)
    async with room.open() as inbox:
        for frame in (RaceUpdate(shown), *said):
            inbox.on_frame(frame)
        await until(lambda: len(room.said) == 2)
    assert set(room.said) == {answer.format(command="!ratings")}
    orders.skip(room.settler, NAME, "by the shell", NOON + timedelta(seconds=3), undo=order == "skip")
    again = Room(ledger, clock)
    async with again.open() as inbox:
        inbox.on_frame(RaceUpdate(shown))
        inbox.on_frame(history(*said))
        await until(lambda: inbox.race and not (inbox._events or inbox._orders))
    assert orders.is_skipped(ledger, NAME) == (order == "count"), "the shell's order was the last"


def test_log_says_why_a_race_changes_no_ratings(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    room.follower.frame(race())
    room.follower.frame(replace(race(), status="cancelled", result=None))
    assert caplog.messages[-1].endswith("cancelled or set to do not record; no ratings change")
    unmatched = replace(FIRST, name=f"{CATEGORY}/other", goal="Another game", custom_goal=True)
    room.follower.frame(replace(race(unmatched), custom_goal=True))
    assert caplog.messages[-1].endswith("no leaderboard has such races; no ratings change")


def test_orders_given_while_the_connection_was_lost_are_carried_out(room: Room) -> None:
    old, given = line("!ratings off", -400.0), line("!ratings skip", -300.0)
    lines = room.handler.of_history(history(old, given, line("!why", -300.0)), None, is_first=False)
    assert lines == [old, given]


def order_of(room: Room, text: str, race: Race) -> RoomOrder:
    return existing(existing(room.handler.parse(line(text, 1.0), race)).order)


def test_a_clock_that_is_ahead_swallows_no_order_of_a_moderator(room: Room) -> None:
    orders.skip(room.settler, NAME, "by the shell", NOON + timedelta(days=1))
    room.handler.orders.carry_out(order_of(room, "!ratings count", race()), race())
    assert not orders.is_skipped(room.ledger, NAME)


def test_a_result_that_is_not_final_is_not_counted_by_an_order(room: Room) -> None:
    racing = Entrant("id-cy", "Cy", EntrantStatus.RACING)
    shown = replace(FIRST, entrants=(*FIRST.entrants[:2], racing))
    assert not shown.final
    room.follower.frame(race(shown))
    room.follower.on(NAME, Signal.COUNT, Signal.TICK)
    assert not room.ledger.races.has(NAME)
    event(room)
    room.handler.orders.carry_out(order_of(room, "!ratings event Week 1", race(shown)), race(shown))
    room.follower.frame(race(shown))
    (source,) = room.ledger.events.sources(f"{CATEGORY}/event-week-1")
    assert source.result is None, "an event cannot be closed with racers still racing"
