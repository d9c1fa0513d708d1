"""Delivery of the outbox to a fake room that behaves like the site's, without a network."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from builders import CATEGORY, NOON, Clock, at_once, backoff, result, seen
from worker_support import PATIENCE, until

from racebot.bot.room.delivery import (
    HISTORY_LENGTH,
    MOST_REPETITIONS,
    MOST_TRIES,
    Conversation,
    OutboxDelivery,
)
from racebot.errors import ConnectionLost, LedgerUnavailable, TokenRefused
from racebot.ledger.connection import P, RunOnLedger, T
from racebot.ledger.outbox import Body, ChatBody, Delivery, InfoBody, Message, MetaBody, MetaEntry
from racebot.ledger.store import Ledger
from racebot.racetime.frames import (
    PONG,
    Action,
    ChatHistory,
    ChatMessage,
    Other,
    RaceUpdate,
    Refusal,
    SocketEvent,
)
from racebot.racetime.payload import Race
from racebot.settings.model import Settings

ROOM = "orb/r"
CLOSED = Refusal(("This race chat is now closed. No new messages may be added.",))
BAD_TOKEN = Refusal(("Permission denied. Check your authorization token.",))
SEED = "Seed: https://orbs.example/seed/77"
BLOCK = "Ratings by racebot (Any Orb): 1\N{NO-BREAK SPACE}Ann\N{NO-BREAK SPACE}1100\N{NO-BREAK SPACE}(+100)"
META = MetaBody((MetaEntry("Any Orb", "m", {"id-ann": (1000, 1100)}),))
BOARDS = [{"leaderboard": "Any Orb", "model": "m", "changes": {"id-ann": [1000, 1100]}}]
"""`META` as the site has it."""


class FakeRoom:
    """A room as the site keeps it, and the one socket that is open on it.

    `deaf` actions are lost on their way; `mute` ones are done, but their answers are lost.
    """

    def __init__(self, ledger: Ledger, clock: Clock, race: Race) -> None:
        self.ledger = ledger
        self.race = race
        self.clock = clock
        self.sender = self.new_sender()
        self.chat: list[ChatMessage] = []
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
        self.conversation = Conversation(self.send)
        self._answer(RaceUpdate(self.race))

    def new_sender(self, call: RunOnLedger = at_once, confirm_within: float = 0.05) -> OutboxDelivery:
        """Start the bot again."""
        settings = Settings()
        self.sender = OutboxDelivery(
            ROOM, self.ledger, call, self.clock, settings, "bot", backoff(), confirm_within
        )
        return self.sender

    async def deliver(self, *, connect: bool = True) -> None:
        if connect:
            self.connect()
        await self.sender.deliver(self.conversation)

    def put(self, guid: str, body: Body | None = None, *, sent: bool = False) -> None:
        """Queue a message, or one that was sent before the process died."""
        self.ledger.messages.put(Message(ROOM, CATEGORY, guid, body or ChatBody(f"text of {guid}")), NOON)
        if sent:
            self.ledger.messages.mark(self.ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)

    def put_texts(self, *guids: str) -> None:
        for guid in guids:
            self.put(guid)

    async def lose(self) -> None:
        """Deliver over a connection that is lost meanwhile."""
        with pytest.raises(ConnectionLost):
            await self.deliver()

    @property
    def states(self) -> list[str]:
        return [row.state.value for row in self.ledger.messages.of(ROOM)]

    @property
    def details(self) -> list[str | None]:
        return [row[0] for row in self.ledger.connection.rows("SELECT detail FROM outbox ORDER BY id")]

    def wrote(self, text: str, *, bot: str | None = "OrbBot", ago: float = 0) -> ChatMessage:
        text = text.replace("\N{ZERO WIDTH JOINER}", "") if self.strips_joiners else text
        posted = (self.clock() - timedelta(seconds=ago)).timestamp()
        return ChatMessage(
            f"m{len(self.chat)}", text, posted, None if bot else "id-ann", "Ann", False, bot, False
        )

    async def send(self, action: Action) -> None:
        data = action.data
        match action.name:
            case "message":
                self._say(data["message"], data["guid"], data)
            case "setinfo":
                text = data["info_bot"]
                if self._act("setinfo", text):
                    text = text.replace("\N{ZERO WIDTH JOINER}", "") if self.strips_joiners else text
                    self.race = replace(self.race, info_bot=text)
                    self._answer(Other("chat.message"))
                    self._answer(RaceUpdate(self.race), "setinfo")
            case "setmeta":
                if self._act("setmeta", dict(data)):
                    self.race = replace(self.race, bot_meta={**self.race.bot_meta, **data})
            case "ping":
                if self._act("ping", None):
                    self._answer(PONG, "ping")
            case "gethistory":
                if self._act("gethistory", None):
                    history = ChatHistory(tuple(self.chat[-self.history_length :]))
                    self._answer(history, "gethistory")

    def _say(self, text: str, guid: str, data: Mapping[str, Any]) -> None:
        self.buttons.append(data.get("actions"))
        if self._act("message", (text, guid)) and guid not in self.guids:
            self.guids.add(guid)
            self.chat.append(self.wrote(text))
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

    def _answer(self, event: SocketEvent, action: str = "") -> None:
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
def room(ledger: Ledger, clock: Clock) -> FakeRoom:
    return FakeRoom(ledger, clock, FINISHED)


# Chat


@pytest.mark.parametrize("strips_joiners", [True, False])
async def test_a_name_with_a_family_emoji_is_confirmed_even_if_the_site_strips_joiners(
    room: FakeRoom, *, strips_joiners: bool
) -> None:
    room.strips_joiners = strips_joiners
    name = "Ann\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    room.put("g1", ChatBody(name))
    room.put("g2", InfoBody((f"{BLOCK} {name}",)))
    await room.deliver()
    assert room.states == ["delivered", "delivered"]


async def test_buttons_go_with_the_message(ledger: Ledger, room: FakeRoom) -> None:
    buttons = {"Why?": {"message": "!why"}}
    with ledger.transaction():
        room.put("g1", ChatBody("hi", buttons=buttons))
    room.put("g2")
    await room.deliver()
    assert room.buttons == [buttons, None]


async def test_the_next_message_waits_for_the_echo(room: FakeRoom) -> None:
    room.new_sender(confirm_within=PATIENCE)
    room.put_texts("g1", "g2")
    room.mute = {"message"}
    delivering = asyncio.create_task(room.deliver())
    await until(lambda: room.done("message"))
    assert room.conversation.expected is not None
    assert room.states == ["sent", "waiting"], "marked as sent before it is sent"
    assert len(room.done("message")) == 1
    for other in (
        room.wrote("text of g1", bot=None),
        room.wrote("something else"),
        PONG,
        RaceUpdate(room.race),
    ):
        room.conversation.on_event(other)
        await asyncio.sleep(0)
    assert room.states == ["sent", "waiting"], "none of these is the echo"
    room.mute = set()
    room.conversation.on_event(room.wrote("text   of\ng1 "))
    await delivering
    assert room.states == ["delivered", "delivered"]
    assert room.conversation.expected is None


async def test_a_message_queued_during_a_delivery_is_delivered_too(room: FakeRoom) -> None:
    room.put("g1")
    delivering = asyncio.create_task(room.deliver())
    room.put("g2")
    await delivering
    assert room.said == ["text of g1", "text of g2"]


@pytest.mark.parametrize(
    ("action", "body"), [("message", ChatBody("t")), ("setmeta", META), ("setinfo", InfoBody((BLOCK,)))]
)
async def test_a_refused_message_is_not_sent_again(room: FakeRoom, caplog, action: str, body: Body) -> None:
    room.put("g1", body)
    room.put("g2")
    room.refusals = {action: [Refusal(("This field is required.",))]}
    await room.deliver()
    assert room.states == ["refused", "delivered"]
    assert room.details[0] == "This field is required."
    assert "message: This field is required." in caplog.text


@pytest.mark.parametrize("body", [ChatBody("t"), META, InfoBody((BLOCK,))], ids=type)
async def test_a_message_dropped_at_last_is_not_sent(ledger: Ledger, room: FakeRoom, body: Body) -> None:
    """The message is dropped between reading the outbox and sending."""
    room.put("g1", body)
    calls = 0

    async def meanwhile(work: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> T:
        nonlocal calls
        calls += 1
        if calls == 2:
            kind = ledger.messages.open_for(ROOM)[0].message.kind
            ledger.messages.drop_waiting(ROOM, kind, NOON, "the race is not recorded")
        return work(*args, **options)

    room.new_sender(call=meanwhile)
    await room.deliver()
    assert (room.actions, room.states) == ([], ["dropped"])


async def test_a_message_for_a_closed_chat_is_dropped_unsent(room: FakeRoom) -> None:
    room.put("g1")
    room.race = RECORDED
    room.connect()
    await asyncio.sleep(0)
    await room.deliver(connect=False)
    assert room.actions == []
    assert (room.states, room.details) == (["dropped"], ["chat is closed"])


async def test_a_message_refused_by_a_closed_chat_and_later_ones_are_dropped(room: FakeRoom) -> None:
    """The race is recorded between the last frame and the message."""
    room.put_texts("g1", "g2")
    room.connect()
    await asyncio.sleep(0)
    room.race = RECORDED
    await room.deliver(connect=False)
    assert room.done("message") == [("text of g1", "g1")]
    assert room.states == ["refused", "dropped"]
    assert "chat is now closed" in str(room.details[0])


# After a loss


async def test_a_message_that_arrived_is_found_in_the_history(room: FakeRoom, clock: Clock) -> None:
    """The process died after sending, before the echo."""
    room.put("g1")
    room.mute = {"message"}
    await room.lose()
    room.mute = set()
    room.guids.clear()
    clock.advance(hours=1)
    room.new_sender()
    await room.deliver()
    assert room.said == ["text of g1"]
    assert (room.states, room.details) == (["delivered"], ["found in the chat history"])


async def test_a_lost_message_is_sent_again_with_the_same_guid(room: FakeRoom) -> None:
    room.put("g1")
    room.deaf = {"message"}
    await room.lose()
    room.deaf = set()
    room.new_sender()
    await room.deliver()
    assert room.done("message") == [("text of g1", "g1")] * 2
    assert room.said == ["text of g1"]
    assert room.states == ["delivered"]


FULL = range(HISTORY_LENGTH)


@pytest.mark.parametrize(
    ("history", "is_sent_again"),
    [
        pytest.param([("text of g1", "OrbBot", 3600.0)], False, id="found though the clock is wrong"),
        pytest.param([("text of g1", "OrbBot", -3600.0)], False, id="found though the clock is wrong, too"),
        pytest.param([("text of g1", None, 0.0)], True, id="a user's line"),
        pytest.param([(f"line {n}", None, -1.0 - n) for n in FULL], False, id="too long ago"),
        pytest.param(
            [("old pin", None, 3600.0)] * 2 + [(f"line {n}", None, -1.0 - n) for n in FULL],
            False,
            id="too long ago, below old pins",
        ),
        pytest.param([(f"line {n}", None, 5.0 - n) for n in FULL], True, id="not in the history"),
    ],
)
async def test_a_message_sent_before_the_process_died_is_sent_again_unless_it_may_have_arrived(
    room: FakeRoom, history: list[tuple[str, str | None, float]], is_sent_again: bool
) -> None:
    room.put("g1", sent=True)
    room.chat = [room.wrote(text, bot=bot, ago=ago) for text, bot, ago in history]
    room.history_length = len(history)
    await room.deliver()
    assert room.done("message") == [("text of g1", "g1")] * is_sent_again
    assert room.states == ["delivered"]


async def test_a_message_that_a_busy_chat_hides_is_not_repeated_for_ever(room: FakeRoom) -> None:
    """Its time is no help: the clock of this machine was ahead when it was sent."""
    room.put("g1", sent=True)
    room.guids.add("g1")
    room.chat = [room.wrote(f"line {n}", bot=None, ago=5.0 - n) for n in FULL]
    for _ in range(MOST_REPETITIONS + 1):
        await room.lose()
    await room.deliver()
    assert room.states == ["delivered"]


async def test_an_earlier_message_with_the_same_text_is_no_echo(room: FakeRoom) -> None:
    room.put("g1", ChatBody("the same"))
    await room.deliver()
    room.put("g2", ChatBody("the same"), sent=True)
    await room.deliver()
    assert room.said == ["the same"] * 2
    await room.deliver()
    assert room.said == ["the same"] * 2
    assert room.states == ["delivered"] * 2


async def test_a_lost_refusal_does_not_block_later_messages(room: FakeRoom) -> None:
    """The refusal used up the guid, so a repetition would never be answered."""
    room.put("g1")
    room.put("g2", META)
    room.deaf = {"message"}
    await room.lose()
    room.race = RECORDED
    await room.deliver()
    assert len(room.done("message")) == 1
    assert room.states == ["dropped", "delivered"]


@pytest.mark.parametrize("action", ["message", "gethistory"])
async def test_a_refused_token_keeps_the_message(ledger: Ledger, room: FakeRoom, action: str) -> None:
    room.put("g1")
    if action == "gethistory":
        ledger.messages.mark(ledger.messages.open_for(ROOM)[0], Delivery.SENT, NOON)
    room.refusals = {action: [BAD_TOKEN]}
    with pytest.raises(TokenRefused, match="the site refuses the token"):
        await room.deliver()
    assert room.states == ["sent"]
    await room.deliver()
    assert room.said == ["text of g1"]
    assert room.states == ["delivered"]


# Meta


async def test_meta_is_set_and_confirmed_by_the_ping_after_it(room: FakeRoom) -> None:
    room.put("g1", META)
    room.race = replace(RECORDED, bot_meta={"seed": 77})
    await room.deliver()
    assert room.actions == [("setmeta", {"racebot": BOARDS}), ("ping", None)]
    assert room.race.bot_meta == {"seed": 77, "racebot": BOARDS}
    assert room.states == ["delivered"]


async def test_meta_without_a_pong_is_checked_on_the_next_connection(room: FakeRoom) -> None:
    room.put("g1", META)
    room.race, room.deaf = RECORDED, {"ping"}
    await room.lose()
    assert room.states == ["sent"]
    room.deaf = set()
    await room.deliver()
    assert len(room.done("setmeta")) == 1, "the new connection shows it"
    assert room.states == ["delivered"]


async def test_a_refusal_before_the_ping_is_sent_counts(room: FakeRoom, monkeypatch) -> None:
    """Events that arrive while the socket is still sending count, too."""
    room.put("g1", META)

    async def slow(action: Action) -> None:
        if action.name == "setmeta":
            room.conversation.on_event(Refusal(("Data provided is too large to save.",)))
            await asyncio.sleep(0)

    monkeypatch.setattr(room, "send", slow)
    await room.deliver()
    assert room.states == ["refused"]


async def test_meta_waits_until_the_connection_shows_the_race(room: FakeRoom) -> None:
    room.put("g1", META)
    room.conversation.on_event(RaceUpdate(replace(RECORDED, bot_meta={"racebot": BOARDS})))
    room.conversation = Conversation(room.send)
    with pytest.raises(ConnectionLost, match="the site does not show the race"):
        await room.deliver(connect=False)
    assert room.states == ["waiting"], "an earlier connection may have shown old data"


@pytest.mark.parametrize("wait", ["exchange", "next_race", "race"])
async def test_what_comes_with_a_cancellation_does_not_undo_it(room: FakeRoom, wait: str) -> None:
    talk = room.conversation = Conversation(AsyncMock())
    how = {"confirms": bool, "within": PATIENCE} if wait == "exchange" else {"within": PATIENCE}
    task = asyncio.create_task(getattr(talk, wait)(**how))
    await asyncio.sleep(0.01)
    talk.on_event(RaceUpdate(RECORDED))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# Info


async def test_info_block_is_merged_into_the_info_box_once(room: FakeRoom) -> None:
    room.race = replace(RECORDED, info_bot=SEED)
    for guid in ("g1", "g2"):
        room.put(guid, InfoBody((BLOCK,)))
        await room.deliver()
    assert room.race.info_bot == f"{SEED}\n{BLOCK}"
    assert len(room.done("setinfo")) == 1
    assert room.states == ["delivered", "dropped"]


async def test_an_info_box_set_before_a_crash_is_not_set_again(room: FakeRoom) -> None:
    """Each `setinfo` makes the site post a line in chat."""
    room.put("g1", InfoBody((BLOCK,)))
    room.race, room.mute = RECORDED, {"setinfo"}
    await room.lose()
    room.mute = set()
    room.new_sender()
    await room.deliver()
    assert len(room.done("setinfo")) == 1
    assert room.states == ["delivered"]


async def test_an_info_box_that_the_site_sets_late_is_not_set_again(room: FakeRoom) -> None:
    """The site may carry out what a lost connection sent after it has shown the race on a new one."""
    room.put("g1", InfoBody((BLOCK,)), sent=True)
    room.race = RECORDED
    room.new_sender(confirm_within=PATIENCE)
    delivering = asyncio.create_task(room.deliver())
    await until(lambda: room.conversation.shown is not None)
    room.conversation.on_event(RaceUpdate(replace(RECORDED, info_bot=BLOCK)))
    await delivering
    assert room.done("setinfo") == []
    assert room.states == ["delivered"]


async def test_only_a_frame_with_the_info_box_confirms_it_even_trimmed(room: FakeRoom) -> None:
    room.race, room.deaf = RECORDED, {"setinfo"}
    for guid, shown, within in (("g1", f"{BLOCK}\r\n", PATIENCE), ("g2", SEED, 0.5)):
        room.new_sender(confirm_within=within)
        room.put(guid, InfoBody((f"{BLOCK}  " if guid == "g1" else "Another block",)))
        delivering = asyncio.create_task(room.deliver())
        await until(lambda: room.states[-1] == "sent")
        room.conversation.on_event(RaceUpdate(replace(RECORDED, info_bot=shown)))
        await asyncio.wait({delivering})
    assert room.states == ["delivered", "sent"]
    assert isinstance(delivering.exception(), ConnectionLost)


async def test_an_info_box_that_never_shows_is_set_a_few_times_only(room: FakeRoom) -> None:
    """Each `setinfo` makes the site post a line in chat."""
    room.put("g1", InfoBody(("Ratings by racebot (Any Orb): 1 Ann 1000→1100 (+100)",)))
    room.deaf = {"setinfo"}
    for _ in range(3):
        await room.lose()
    await room.deliver()
    assert len(room.done("setinfo")) == 3
    assert (room.states, room.details) == (["refused"], ["never confirmed by the site"])


@pytest.mark.parametrize("trouble", ["token", "connection"])
async def test_an_info_box_that_was_not_set_is_tried_again_however_often(
    room: FakeRoom, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """The site refuses the token, or the connection is lost before the message is sent."""
    room.put("g1", InfoBody((BLOCK,)))
    room.race = RECORDED
    with monkeypatch.context() as patch:

        async def refused(action: Action) -> None:
            if trouble == "connection":
                raise ConnectionLost("the socket closed")
            room.conversation.on_event(BAD_TOKEN)

        patch.setattr(room, "send", refused)
        for _ in range(MOST_TRIES["info"] + 1):
            with pytest.raises((ConnectionLost, TokenRefused)):
                await room.deliver()
    await room.deliver()
    assert (room.states, len(room.done("setinfo"))) == (["delivered"], 1)


async def test_a_full_disk_costs_no_message(ledger: Ledger, clock: Clock) -> None:
    full = True

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if full and getattr(work, "__name__", "") in {"mark", "mark_sent"}:
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    room = FakeRoom(ledger, clock, FINISHED)
    room.new_sender(call=call)
    room.put("g1", InfoBody((BLOCK,)))
    for _ in range(MOST_TRIES["info"] + 1):
        with pytest.raises(LedgerUnavailable):
            await room.deliver()
    full = False
    await room.deliver()
    assert (room.states, len(room.done("setinfo"))) == (["delivered"], 1)


# Answers


async def test_answers_come_after_the_outbox(room: FakeRoom) -> None:
    room.sender.answer("the answer", "m1")
    room.put("g1")
    await room.deliver()
    assert room.said == ["text of g1", "the answer"]
    await room.deliver()
    assert len(room.done("message")) == 2, "once each"


@pytest.mark.parametrize("lost", ["deaf", "mute", "token"])
async def test_an_answer_is_given_once_if_the_connection_is_lost_meanwhile(room: FakeRoom, lost: str) -> None:
    """Whether the site received it or not, or refused the token."""
    room.sender.answer("the answer", "m1")
    room.refusals = {"message": [BAD_TOKEN]} if lost == "token" else {}
    setattr(room, lost, {"message", "ping"})
    with pytest.raises(TokenRefused if lost == "token" else ConnectionLost):
        await room.deliver()
    setattr(room, lost, set())
    await room.deliver()
    await room.deliver()
    assert room.said == ["the answer"]
    assert len(set(room.done("message"))) == 1, "the guid is the same"


async def test_a_command_that_is_read_again_after_a_restart_is_answered_once(room: FakeRoom) -> None:
    for text in ("before", "after"):
        room.new_sender()
        room.sender.answer(text, "m1")
        await room.deliver()
    assert room.said == ["before"]


@pytest.mark.parametrize("reason", ["closed", "expired"])
async def test_an_answer_that_comes_too_late_is_dropped(room: FakeRoom, monkeypatch, reason: str) -> None:
    if reason == "closed":
        room.race = RECORDED
    else:
        monkeypatch.setattr("racebot.bot.room.delivery.ANSWER_EXPIRES", -1.0)
    room.sender.answer("the answer", "m1")
    await room.deliver()
    assert room.actions == []


async def test_a_refused_answer_is_dropped(room: FakeRoom) -> None:
    room.refusals["message"] = [Refusal(("Something is wrong",))]
    room.sender.answer("the answer", "m1")
    room.sender.answer("another", "m2")
    await room.deliver()
    assert room.said == ["another"]
