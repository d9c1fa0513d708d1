"""Delivery of the outbox to a fake room that behaves like the site's, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, NOON, Clock, at_once, result, seen
from worker_support import PATIENCE, until

from racebot.bot.room.delivery import HISTORY_LENGTH, MOST_TRIES, Conversation, OutboxDelivery
from racebot.chat.info_box import InfoPolicy, info_block
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.errors import ConnectionLost, LedgerUnavailable, TokenRefused
from racebot.ledger.outbox import (
    Body,
    ChatBody,
    Delivery,
    InfoBody,
    Kind,
    Message,
    MetaBody,
    MetaEntry,
    OutboxRow,
)
from racebot.ledger.store import Ledger
from racebot.ledger.thread import P, RunOnLedger, T
from racebot.races.change import Change
from racebot.racetime.actions import Action
from racebot.racetime.frames import ChatHistory, ChatMessage, Event, Ignored, Pong, RaceUpdate, Refusal
from racebot.racetime.payload import Race

ROOM = "orb/r"
CLOSED = Refusal(("This race chat is now closed. No new messages may be added.",))
BAD_TOKEN = Refusal(("Permission denied. Check your authorization token.",))
SEED = "Seed: https://orbs.example/seed/77"
BLOCK = info_block(result("r", "ann"), "Any Orb", [Change("id-ann", 1, (1.0,), (1.1,), 1000, 1100, 3)])
META = MetaBody((MetaEntry("Any Orb", "m", {"id-ann": (1000, 1100)}),))
BOARDS = [{"leaderboard": "Any Orb", "model": "m", "changes": {"id-ann": [1000, 1100]}}]
"""`META` as the site has it."""


class FakeRoom:
    """A room as the site keeps it, and the one socket that is open on it.

    `deaf` actions are lost on their way; `mute` ones are done, but their answers are lost.
    """

    def __init__(self, clock: Clock, race: Race) -> None:
        self.race = race
        self.clock = clock
        self.chat: list[ChatMessage] = []
        self.notes: list[tuple[str, str]] = []
        self.buttons: list[Any] = []
        self.guids: set[str] = set()
        self.actions: list[tuple[str, Any]] = []
        self.refusals: dict[str, list[Refusal]] = {}
        self.deaf: set[str] = set()
        self.mute: set[str] = set()
        self.history_length = HISTORY_LENGTH
        self.strips_joiners = False
        self.conversation = Conversation(self.send)

    def connect(self) -> None:
        """Open a new connection; the first frame shows the race."""
        self.conversation = Conversation(self._receive)
        self._answer(RaceUpdate(self.race))

    def wrote(self, text: str, *, bot: str | None = "OrbBot", ago: float = 0) -> ChatMessage:
        text = text.replace("\N{ZERO WIDTH JOINER}", "") if self.strips_joiners else text
        posted = (self.clock() - timedelta(seconds=ago)).timestamp()
        return ChatMessage(
            f"m{len(self.chat)}", text, posted, None if bot else "id-ann", "Ann", False, bot, False
        )

    async def _receive(self, action: Action) -> None:
        await self.send(action)

    async def send(self, action: Action) -> None:
        data = action.data
        match action.name:
            case "message":
                self._say(data["message"], data["guid"], data.get("direct_to"), data)
            case "unpin_message":
                if self._act("unpin_message", data["message"]):
                    self.chat = [replace(m, pinned=m.pinned and m.id != data["message"]) for m in self.chat]
            case "setinfo":
                text = data["info_bot"]
                if self._act("setinfo", text):
                    text = text.replace("\N{ZERO WIDTH JOINER}", "") if self.strips_joiners else text
                    self.race = replace(self.race, info_bot=text)
                    self._answer(Ignored("chat.message"))
                    self._answer(RaceUpdate(self.race), "setinfo")
            case "setmeta":
                if self._act("setmeta", dict(data)):
                    self.race = replace(self.race, bot_meta={**self.race.bot_meta, **data})
            case "ping":
                if self._act("ping", None):
                    self._answer(Pong(), "ping")
            case "gethistory":
                if self._act("gethistory", None):
                    history = ChatHistory(tuple(self.chat[-self.history_length :]))
                    self._answer(history, "gethistory")

    def _say(self, text: str, guid: str, to: str | None, data: Mapping[str, Any]) -> None:
        self.buttons.append(data.get("actions"))
        if self._act("message", (text, guid)) and guid not in self.guids:
            self.guids.add(guid)
            if to is not None:
                self.notes.append((text, to))
                self._answer(Ignored("chat.dm"), "message")
                return
            self.chat.append(replace(self.wrote(text), pinned=data.get("pinned", False)))
            self._answer(self.chat[-1], "message")

    def _act(self, action: str, data: Any) -> bool:
        """Return whether the action reached the site and was accepted."""
        self.actions.append((action, data))
        if action in self.deaf:
            return False
        if self.refusals.get(action):
            self._answer(self.refusals[action].pop(0))
            return False
        if action == "message" and self.race.recorded:
            self._answer(CLOSED)
            return False
        return True

    def _answer(self, event: Event, action: str = "") -> None:
        if action not in self.mute:
            asyncio.get_running_loop().call_soon(self.conversation.on_event, event)

    @property
    def said(self) -> list[str]:
        return [message.text for message in self.chat]

    def done(self, action: str) -> list[Any]:
        return [data for name, data in self.actions if name == action]


FINISHED = seen(result("r", "ann bo", recorded=False))
RECORDED = replace(FINISHED, recorded=True)


@pytest.fixture
def room(clock: Clock) -> FakeRoom:
    return FakeRoom(clock, FINISHED)


@pytest.fixture
def sender(ledger: Ledger, clock: Clock) -> OutboxDelivery:
    return sender_of(ledger, clock)


def sender_of(
    ledger: Ledger,
    clock: Clock,
    info: InfoPolicy = InfoPolicy.WHEN_EMPTY,
    call: RunOnLedger = at_once,
    confirm_within: float = 0.05,
) -> OutboxDelivery:
    return OutboxDelivery(ROOM, ledger, call, clock, info, DEFAULT_TEXTS, confirm_within)


async def deliver(sender: OutboxDelivery, room: FakeRoom, *, connect: bool = True) -> None:
    if connect:
        room.connect()
    await sender.deliver(room.conversation)


def put(ledger: Ledger, guid: str, body: Body | None = None) -> None:
    ledger.messages.put(Message(ROOM, CATEGORY, guid, body or ChatBody(f"text of {guid}")), NOON)


def states(ledger: Ledger) -> list[str]:
    return [row.state.value for row in ledger.messages.of(ROOM)]


def details(ledger: Ledger) -> list[str | None]:
    return [
        row[0] for row in ledger.connection.db.execute("SELECT detail FROM outbox ORDER BY id").fetchall()
    ]


# Chat


async def test_echo_confirms_a_message(ledger: Ledger, sender: OutboxDelivery, room: FakeRoom) -> None:
    put(ledger, "g1")
    put(ledger, "g2")
    await deliver(sender, room)
    assert room.done("message") == [("text of g1", "g1"), ("text of g2", "g2")]
    assert states(ledger) == ["delivered", "delivered"]


@pytest.mark.parametrize("strips_joiners", [True, False])
async def test_a_name_with_a_family_emoji_is_confirmed_even_if_the_site_strips_joiners(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, *, strips_joiners: bool
) -> None:
    room.strips_joiners = strips_joiners
    name = "Ann\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    put(ledger, "g1", ChatBody(name))
    put(ledger, "g2", InfoBody((f"{BLOCK} {name}",)))
    await deliver(sender, room)
    assert states(ledger) == ["delivered", "delivered"]


async def test_only_the_mark_before_a_chat_message_waits_for_the_disk(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, all other states can be read from the room."""
    marks: list[tuple[Kind, str, bool]] = []
    mark = ledger.messages.mark

    def note(row: OutboxRow, state: Delivery, *rest: Any) -> None:
        (level,) = ledger.connection.db.execute("PRAGMA synchronous").fetchone()
        marks.append((row.message.kind, state.value, level == 2))
        mark(row, state, *rest)

    mark_sent = ledger.messages.mark_sent

    def note_sent(row: OutboxRow, *rest: Any) -> bool:
        (level,) = ledger.connection.db.execute("PRAGMA synchronous").fetchone()
        marks.append((row.message.kind, "sent", level == 2))
        return mark_sent(row, *rest)

    monkeypatch.setattr(ledger.messages, "mark", note)
    monkeypatch.setattr(ledger.messages, "mark_sent", note_sent)
    put(ledger, "g1")
    put(ledger, "g2", META)
    await deliver(sender, room)
    assert marks == [
        ("chat", "sent", True),
        ("chat", "delivered", False),
        ("meta", "sent", False),
        ("meta", "delivered", False),
    ]


async def test_an_empty_outbox_sends_nothing(sender: OutboxDelivery, room: FakeRoom) -> None:
    await deliver(sender, room)
    assert room.actions == []


async def test_buttons_go_with_the_message(ledger: Ledger, sender: OutboxDelivery, room: FakeRoom) -> None:
    buttons = {"Why?": {"message": "!why"}}
    with ledger.transaction():
        put(ledger, "g1", ChatBody("hi", buttons=buttons))
    put(ledger, "g2")
    await deliver(sender, room)
    assert room.buttons == [buttons, None]


async def test_the_next_message_waits_for_the_echo(ledger: Ledger, clock: Clock, room: FakeRoom) -> None:
    sender = sender_of(ledger, clock, confirm_within=PATIENCE)
    put(ledger, "g1")
    put(ledger, "g2")
    room.mute = {"message"}
    delivering = asyncio.create_task(deliver(sender, room))
    await until(lambda: room.done("message"))
    assert room.conversation.expects_confirmation
    assert states(ledger) == ["sent", "waiting"], "marked as sent before it is sent"
    assert len(room.done("message")) == 1
    for other in (
        room.wrote("text of g1", bot=None),
        room.wrote("something else"),
        Pong(),
        RaceUpdate(room.race),
    ):
        room.conversation.on_event(other)
        await asyncio.sleep(0)
    assert states(ledger) == ["sent", "waiting"], "none of these is the echo"
    room.mute = set()
    room.conversation.on_event(room.wrote("text   of\ng1 "))
    await delivering
    assert states(ledger) == ["delivered", "delivered"]
    assert not room.conversation.expects_confirmation


async def test_a_message_queued_during_a_delivery_is_delivered_too(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    delivering = asyncio.create_task(deliver(sender, room))
    put(ledger, "g2")
    await delivering
    assert room.said == ["text of g1", "text of g2"]


async def test_messages_for_other_rooms_stay_queued(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    ledger.messages.put(Message("orb/else", CATEGORY, "g", ChatBody("hi")), NOON)
    await deliver(sender, room)
    assert room.said == []
    assert [row.state for row in ledger.messages.of("orb/else")] == [Delivery.WAITING]


async def test_a_refused_message_is_not_sent_again(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    put(ledger, "g1")
    put(ledger, "g2")
    room.refusals = {"message": [Refusal(("message: This field is required.",))]}
    await deliver(sender, room)
    assert states(ledger) == ["refused", "delivered"]
    assert details(ledger)[0] == "message: This field is required."
    assert "orb/r: the site refused a chat message: message: This field is required." in caplog.text


async def test_a_message_for_a_closed_chat_is_dropped_unsent(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    room.race = RECORDED
    room.connect()
    await asyncio.sleep(0)
    await deliver(sender, room, connect=False)
    assert room.actions == []
    assert (states(ledger), details(ledger)) == (["dropped"], ["chat is closed"])


async def test_a_message_refused_by_a_closed_chat_is_marked_refused(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    """The race is recorded between the last frame and the message."""
    put(ledger, "g1")
    room.connect()
    await asyncio.sleep(0)
    room.race = RECORDED
    await deliver(sender, room, connect=False)
    assert states(ledger) == ["refused"]
    assert "chat is now closed" in str(details(ledger)[0])


async def test_a_silent_site_counts_as_a_lost_connection(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    room.deaf = {"message"}
    with pytest.raises(ConnectionLost, match=r"no answer within 0\.05 s"):
        await deliver(sender, room)
    assert states(ledger) == ["sent"]
    assert not room.conversation.expects_confirmation


# After a loss


async def test_a_message_that_arrived_is_found_in_the_history(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, clock: Clock
) -> None:
    """The process died after sending, before the echo."""
    put(ledger, "g1")
    room.mute = {"message"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    room.mute = set()
    room.guids.clear()
    clock.advance(hours=1)
    again = sender_of(ledger, clock)
    await deliver(again, room)
    assert room.said == ["text of g1"]
    assert (states(ledger), details(ledger)) == (["delivered"], ["found in the chat history"])


async def test_a_replaced_message_is_unpinned_even_if_the_connection_was_lost_before(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    for guid in ("g1", "g2"):
        put(ledger, guid, ChatBody(guid, pin=True))
    room.deaf = {"unpin_message"}
    room.mute = {"ping"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    assert [message.pinned for message in room.chat] == [True, True]
    room.deaf, room.mute = set(), set()
    await deliver(sender, room)
    assert [message.pinned for message in room.chat] == [False, True]
    assert states(ledger) == ["delivered", "delivered"]
    assert room.said == ["g1", "g2"], "nothing is said twice"


async def test_a_lost_message_is_sent_again_with_the_same_guid(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, clock: Clock
) -> None:
    put(ledger, "g1")
    room.deaf = {"message"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    room.deaf = set()
    again = sender_of(ledger, clock)
    await deliver(again, room)
    assert room.done("message") == [("text of g1", "g1")] * 2
    assert room.said == ["text of g1"]
    assert states(ledger) == ["delivered"]


@pytest.mark.parametrize("pinned", [0, 2])
async def test_a_message_older_than_the_history_counts_as_delivered(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, pinned: int
) -> None:
    """The process died after sending, and over 100 lines followed; pinned messages may be older."""
    put(ledger, "g1")
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    old = [room.wrote("pinned", bot=None, ago=3600) for _ in range(pinned)]
    later = [room.wrote(f"line {n}", bot=None, ago=-1 - n) for n in range(HISTORY_LENGTH)]
    room.chat = old + later
    room.history_length = HISTORY_LENGTH + pinned
    await deliver(sender, room)
    assert room.done("message") == []
    assert states(ledger) == ["delivered"]


async def test_a_message_missing_from_a_history_that_reaches_back_is_sent_again(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.chat = [room.wrote(f"line {n}", bot=None, ago=5 - n) for n in range(HISTORY_LENGTH)]
    await deliver(sender, room)
    assert room.done("message") == [("text of g1", "g1")]


async def test_the_same_text_from_a_user_is_no_echo(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.chat = [room.wrote("text of g1", bot=None)]
    await deliver(sender, room)
    assert room.done("message") == [("text of g1", "g1")]
    assert states(ledger) == ["delivered"]


async def test_an_earlier_message_with_the_same_text_is_no_echo(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", ChatBody("the same"))
    await deliver(sender, room)
    put(ledger, "g2", ChatBody("the same"))
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    await deliver(sender, room)
    assert room.said == ["the same"] * 2
    await deliver(sender, room)
    assert room.said == ["the same"] * 2
    assert states(ledger) == ["delivered"] * 2


@pytest.mark.parametrize("seconds", [-3600, 3600])
async def test_a_message_is_found_although_the_clock_of_the_site_is_wrong(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, seconds: float
) -> None:
    put(ledger, "g1")
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.chat = [room.wrote("text of g1", ago=seconds)]
    await deliver(sender, room)
    assert room.done("message") == []
    assert states(ledger) == ["delivered"]


@pytest.mark.parametrize(
    ("kind", "body"), [("chat", ChatBody("t")), ("meta", META), ("info", InfoBody((BLOCK,)))]
)
async def test_a_message_dropped_at_the_last_moment_is_not_sent(
    ledger: Ledger, clock: Clock, room: FakeRoom, kind: Kind, body: Body
) -> None:
    """The message is dropped between reading the outbox and sending."""
    put(ledger, "g1", body)
    calls = 0

    async def meanwhile(work: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> T:
        nonlocal calls
        calls += 1
        if calls == 2:
            ledger.messages.drop_waiting(ROOM, kind, NOON, "the race is not recorded")
        return work(*args, **options)

    sender = sender_of(ledger, clock, call=meanwhile)
    await deliver(sender, room)
    assert room.actions == []
    assert states(ledger) == ["dropped"]


async def test_a_lost_message_is_dropped_once_the_race_is_recorded(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1")
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    put(ledger, "g2", META)
    room.race = RECORDED
    await deliver(sender, room)
    assert room.done("message") == []
    assert states(ledger) == ["dropped", "delivered"]


async def test_a_lost_refusal_does_not_block_later_messages(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    """The refusal used up the guid, so a repetition would never be answered."""
    put(ledger, "g1")
    put(ledger, "g2", META)
    room.deaf = {"message"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    room.race = RECORDED
    await deliver(sender, room)
    assert len(room.done("message")) == 1
    assert states(ledger) == ["dropped", "delivered"]


async def test_a_closed_chat_receives_no_further_message(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    """Even if the frame that shows the record is lost."""
    put(ledger, "g1")
    put(ledger, "g2")
    room.refusals = {"message": [CLOSED]}
    await deliver(sender, room)
    assert room.done("message") == [("text of g1", "g1")]
    assert states(ledger) == ["refused", "dropped"]


@pytest.mark.parametrize("action", ["message", "gethistory"])
async def test_a_refused_token_keeps_the_message(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, clock: Clock, action: str
) -> None:
    put(ledger, "g1")
    if action == "gethistory":
        ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.refusals = {action: [BAD_TOKEN]}
    with pytest.raises(TokenRefused, match="the site refuses the token"):
        await deliver(sender, room)
    assert states(ledger) == ["sent"]
    await deliver(sender, room)
    assert room.said == ["text of g1"]
    assert states(ledger) == ["delivered"]


# Meta


async def test_meta_is_set_and_confirmed_by_the_ping_after_it(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", META)
    room.race = replace(RECORDED, bot_meta={"seed": 77})
    await deliver(sender, room)
    assert room.actions == [("setmeta", {"racebot": BOARDS}), ("ping", None)]
    assert room.race.bot_meta == {"seed": 77, "racebot": BOARDS}
    assert states(ledger) == ["delivered"]


async def test_meta_that_is_already_set_is_not_set_again(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", META)
    room.race = replace(RECORDED, bot_meta={"racebot": BOARDS})
    await deliver(sender, room)
    assert room.actions == []
    assert states(ledger) == ["delivered"]


async def test_meta_without_a_pong_is_checked_on_the_next_connection(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", META)
    room.race, room.deaf = RECORDED, {"ping"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    assert states(ledger) == ["sent"]
    room.deaf = set()
    await deliver(sender, room)
    assert len(room.done("setmeta")) == 1, "the new connection shows it"
    assert states(ledger) == ["delivered"]


async def test_refused_meta_is_marked_with_the_reason(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", META)
    room.refusals = {"setmeta": [Refusal(("Data provided is too large to save.",))]}
    await deliver(sender, room)
    assert (states(ledger), details(ledger)) == (["refused"], ["Data provided is too large to save."])


async def test_a_refusal_before_the_ping_is_sent_counts(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events that arrive while the socket is still sending count, too."""
    put(ledger, "g1", META)

    async def slow(action: Action) -> None:
        if action.name == "setmeta":
            room.conversation.on_event(Refusal(("Data provided is too large to save.",)))
            await asyncio.sleep(0)

    monkeypatch.setattr(room, "send", slow)
    await deliver(sender, room)
    assert states(ledger) == ["refused"]


async def test_meta_waits_until_the_connection_shows_the_race(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", META)
    room.conversation.on_event(RaceUpdate(replace(RECORDED, bot_meta={"racebot": BOARDS})))
    room.conversation = Conversation(room.send)
    with pytest.raises(ConnectionLost, match="the site does not show the race"):
        await deliver(sender, room, connect=False)
    assert states(ledger) == ["waiting"], "an earlier connection may have shown old data"


# Info


@pytest.mark.parametrize(
    ("policy", "before", "after", "state"),
    [
        (InfoPolicy.WHEN_EMPTY, "", BLOCK, "delivered"),
        (InfoPolicy.WHEN_EMPTY, "Ratings by racebot (Any Orb): old", BLOCK, "delivered"),
        (InfoPolicy.WHEN_EMPTY, SEED, SEED, "dropped"),
        (InfoPolicy.APPEND, SEED, f"{SEED}\n{BLOCK}", "delivered"),
        (InfoPolicy.APPEND, "x" * 990, "x" * 990, "dropped"),
        (InfoPolicy.NEVER, "", "", "dropped"),
    ],
)
async def test_info_block_is_merged_into_the_info_box(
    ledger: Ledger, clock: Clock, room: FakeRoom, policy: InfoPolicy, before: str, after: str, state: str
) -> None:
    put(ledger, "g1", InfoBody((BLOCK,)))
    sender = sender_of(ledger, clock, policy)
    room.race = replace(RECORDED, info_bot=before)
    await deliver(sender, room)
    assert room.race.info_bot == after
    assert len(room.done("setinfo")) == (state == "delivered")
    assert states(ledger) == [state]


async def test_an_info_box_set_before_a_crash_is_not_set_again(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, clock: Clock
) -> None:
    """Each `setinfo` makes the site post a line in chat."""
    put(ledger, "g1", InfoBody((BLOCK,)))
    room.race, room.mute = RECORDED, {"setinfo"}
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    room.mute = set()
    again = sender_of(ledger, clock)
    await deliver(again, room)
    assert len(room.done("setinfo")) == 1
    assert states(ledger) == ["delivered"]


async def test_an_info_box_that_the_site_sets_late_is_not_set_again(
    ledger: Ledger, clock: Clock, room: FakeRoom
) -> None:
    """The site may carry out what a lost connection sent after it has shown the race on a new one."""
    put(ledger, "g1", InfoBody((BLOCK,)))
    ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.race = RECORDED
    sender = sender_of(ledger, clock, confirm_within=PATIENCE)
    delivering = asyncio.create_task(deliver(sender, room))
    await until(lambda: room.conversation.shown is not None)
    room.conversation.on_event(RaceUpdate(replace(RECORDED, info_bot=BLOCK)))
    await delivering
    assert room.done("setinfo") == []
    assert states(ledger) == ["delivered"]


async def test_an_info_box_that_the_site_trims_is_recognized(
    ledger: Ledger, clock: Clock, room: FakeRoom
) -> None:
    sender = sender_of(ledger, clock, confirm_within=PATIENCE)
    put(ledger, "g1", InfoBody((BLOCK + "  ",)))
    room.race, room.mute = RECORDED, {"setinfo"}
    delivering = asyncio.create_task(deliver(sender, room))
    await until(lambda: states(ledger) == ["sent"])
    room.conversation.on_event(RaceUpdate(replace(RECORDED, info_bot=SEED)))
    await asyncio.sleep(0.01)
    assert states(ledger) == ["sent"], "an earlier frame confirms nothing"
    room.conversation.on_event(RaceUpdate(replace(RECORDED, info_bot=f"{BLOCK}\r\n")))
    await delivering
    assert states(ledger) == ["delivered"]


async def test_a_refused_info_block_is_marked_with_the_reason(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    put(ledger, "g1", InfoBody((BLOCK,)))
    room.refusals = {"setinfo": [Refusal(("info_bot: no",))]}
    await deliver(sender, room)
    assert (states(ledger), details(ledger)) == (["refused"], ["info_bot: no"])


async def test_meta_and_info_go_out_in_order(ledger: Ledger, sender: OutboxDelivery, room: FakeRoom) -> None:
    put(ledger, "g1", META)
    put(ledger, "g2", InfoBody((BLOCK,)))
    room.race = RECORDED
    await deliver(sender, room)
    assert [action for action, _ in room.actions] == ["setmeta", "ping", "setinfo"]
    assert states(ledger) == ["delivered", "delivered"]


async def test_an_info_box_that_never_shows_is_set_a_few_times_only(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom
) -> None:
    """Each `setinfo` makes the site post a line in chat."""
    put(ledger, "g1", InfoBody(("Ratings by racebot (Any Orb): 1 Ann 1000→1100 (+100)",)))
    room.deaf = {"setinfo"}
    for _ in range(3):
        with pytest.raises(ConnectionLost):
            await deliver(sender, room)
    await deliver(sender, room)
    assert len(room.done("setinfo")) == 3
    assert (states(ledger), details(ledger)) == (["refused"], ["never confirmed by the site"])


@pytest.mark.parametrize("lost", [{"gethistory"}, {"unpin_message", "ping"}], ids=min)
async def test_a_site_that_takes_messages_but_answers_no_request_is_not_asked_for_ever(
    ledger: Ledger, sender: OutboxDelivery, room: FakeRoom, lost: set[str]
) -> None:
    """The message is pinned, so that its delivery needs the history and an unpinning, which a ping ends."""
    for guid in ("g1", "g2"):
        put(ledger, guid, ChatBody(guid, pin=True))
    room.deaf = lost
    for _ in range(MOST_TRIES["chat"]):
        with pytest.raises(ConnectionLost):
            await deliver(sender, room)
    await deliver(sender, room)
    assert states(ledger) == ["delivered", "refused"]


@pytest.mark.parametrize("trouble", ["token", "connection"])
async def test_an_info_box_that_was_not_set_is_tried_again_however_often(
    ledger: Ledger,
    sender: OutboxDelivery,
    room: FakeRoom,
    monkeypatch: pytest.MonkeyPatch,
    trouble: str,
) -> None:
    """The site refuses the token, or the connection is lost before the message is sent."""
    put(ledger, "g1", InfoBody((BLOCK,)))
    room.race = RECORDED
    with monkeypatch.context() as patch:

        async def refused(action: Action) -> None:
            if trouble == "connection":
                raise ConnectionLost("the socket closed")
            room.conversation.on_event(BAD_TOKEN)

        patch.setattr(room, "send", refused)
        for _ in range(MOST_TRIES["info"] + 1):
            with pytest.raises((ConnectionLost, TokenRefused)):
                await deliver(sender, room)
    await deliver(sender, room)
    assert (states(ledger), len(room.done("setinfo"))) == (["delivered"], 1)


async def test_a_full_disk_costs_no_message(ledger: Ledger, clock: Clock) -> None:
    full = True

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if full and getattr(work, "__name__", "") == "write":
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    room, sender = FakeRoom(clock, FINISHED), sender_of(ledger, clock, call=call)
    put(ledger, "g1", InfoBody((BLOCK,)))
    for _ in range(MOST_TRIES["info"] + 1):
        with pytest.raises(LedgerUnavailable):
            await deliver(sender, room)
    full = False
    await deliver(sender, room)
    assert (states(ledger), len(room.done("setinfo"))) == (["delivered"], 1)


# Answers


async def test_answers_come_after_the_outbox(ledger: Ledger, sender: OutboxDelivery, room: FakeRoom) -> None:
    sender.answer("the answer", "m1", to=None)
    sender.answer("for Ann", "m2", to="id-ann")
    put(ledger, "g1")
    await deliver(sender, room)
    assert room.said == ["text of g1", "the answer"]
    assert room.notes == [("for Ann", "id-ann")]
    await deliver(sender, room)
    assert len(room.done("message")) == 3, "once each"


@pytest.mark.parametrize("lost", ["deaf", "mute"])
async def test_an_answer_is_given_once_if_the_connection_is_lost_meanwhile(
    sender: OutboxDelivery, room: FakeRoom, lost: str
) -> None:
    """Whether the site received it or not."""
    sender.answer("the answer", "m1", to=None)
    setattr(room, lost, {"message", "ping"})
    with pytest.raises(ConnectionLost):
        await deliver(sender, room)
    setattr(room, lost, set())
    await deliver(sender, room)
    await deliver(sender, room)
    assert room.said == ["the answer"]
    assert len(set(room.done("message"))) == 1, "the guid is the same"


async def test_a_command_that_is_read_again_after_a_restart_is_answered_once(
    ledger: Ledger, clock: Clock, room: FakeRoom
) -> None:
    for text in ("before", "after"):
        sender = sender_of(ledger, clock)
        sender.answer(text, "m1", to=None)
        await deliver(sender, room)
    assert room.said == ["before"]


async def test_an_answer_that_the_token_prevented_is_given_after_reconnecting(
    sender: OutboxDelivery, room: FakeRoom
) -> None:
    sender.answer("the answer", "m1", to=None)
    room.refusals = {"message": [BAD_TOKEN]}
    with pytest.raises(TokenRefused):
        await deliver(sender, room)
    await deliver(sender, room)
    assert room.said == ["the answer"]


async def test_a_closed_chat_receives_no_answer(ledger: Ledger, clock: Clock) -> None:
    room, sender = FakeRoom(clock, RECORDED), sender_of(ledger, clock)
    sender.answer("the answer", "m1", to=None)
    await deliver(sender, room)
    assert room.actions == []


async def test_an_expired_answer_is_dropped(
    sender: OutboxDelivery, room: FakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("racebot.bot.room.delivery.ANSWER_EXPIRES", -1.0)
    sender.answer("the answer", "m1", to=None)
    await deliver(sender, room)
    assert room.actions == []


async def test_a_refused_answer_is_dropped(sender: OutboxDelivery, room: FakeRoom) -> None:
    room.refusals["message"] = [Refusal(("direct_to: Unrecognised user",))]
    sender.answer("the answer", "m1", to="id-gone")
    sender.answer("another", "m2", to=None)
    await deliver(sender, room)
    assert room.said == ["another"]
