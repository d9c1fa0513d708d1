"""Delivers a room's outbox, then the answers to its commands.

The site sends no acknowledgements. A chat message comes back as the bot's own message; `info_bot` and
`bot_meta` appear in the race's data. If the connection or the process dies before that, the chat history
shows whether the message arrived. If it did not, it is sent again with the same guid.
"""

import asyncio
import logging
import time
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from racebot.bot.failures import Backoff
from racebot.chat import info_box
from racebot.errors import ConnectionLost, LedgerError, TokenRefused
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.outbox import ChatBody, Delivery, InfoBody, MetaBody, OutboxRow, chat_messages
from racebot.ledger.store import Ledger
from racebot.racetime import frames
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.text.safe import visible

log = logging.getLogger(__name__)

CONFIRM_WITHIN = 10.0
"""Seconds to wait for the site to show what we sent, before the connection counts as lost."""
ANSWER_WITHIN = 3.0  # the same for an answer to a command, which must not delay a rating message
ANSWER_EXPIRES = 60.0  # seconds after which an answer to a command is dropped
INFO_WITHIN = 3.0
"""Seconds in which the site may still carry out a `setinfo` that was sent on a lost connection."""
MOST_TRIES = {"chat": 20, "meta": 20, "info": 3}
"""How often to try a message that the site never shows. Fewer for `setinfo`: each posts a chat line."""
MOST_REPETITIONS = 2
"""How often to repeat a chat message without an echo while the history has no room for it."""
HISTORY_LENGTH = 100  # number of messages in the site's chat history, not counting pinned ones

Confirms = Callable[[frames.SocketEvent], bool]
"""Returns whether an event shows that the site carried out an action."""


class Conversation:
    """One connection to the room: actions out, and the events that confirm or refuse them."""

    def __init__(self, send: Callable[[frames.Action], Awaitable[None]]) -> None:
        self._send = send
        self.shown: Race | None = None
        """The race as this connection showed it last, None before its first frame."""
        self.has_sent = False
        """Whether any action was sent for the message that is being delivered."""
        self._came = asyncio.Event()
        self.expected: tuple[Confirms, asyncio.Future[frames.SocketEvent]] | None = None
        """What the site has yet to confirm or refuse."""

    def on_event(self, event: frames.SocketEvent) -> None:
        """Process an event of the room, which may confirm or refuse an action."""
        if isinstance(event, frames.RaceUpdate):
            self.shown = event.race
            self._came.set()
        if self.expected is not None:
            confirms, answer = self.expected
            if not answer.done() and (isinstance(event, frames.Refusal) or confirms(event)):
                answer.set_result(event)

    async def race(self, within: float) -> Race:
        """Return the race as this connection shows it, waiting so many seconds for its first frame."""
        try:
            async with asyncio.timeout(within):  # Python 3.11's wait_for can swallow a cancellation
                await self._came.wait()
        except TimeoutError:
            raise ConnectionLost("the site does not show the race") from None
        assert self.shown is not None  # noqa: S101 - set together with the event
        return self.shown

    async def next_race(self, within: float) -> None:
        """Wait for another frame with the race, for at most so many seconds."""
        self._came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._came.wait()
        self._came.set()

    async def exchange(self, *sent: frames.Action, confirms: Confirms, within: float) -> frames.SocketEvent:
        """Send actions, and return the event that confirms or refuses them.

        Raises:
            ConnectionLost: the socket closed, or no such event comes within so many seconds.
            TokenRefused: the site refuses the token.
        """
        answer: asyncio.Future[frames.SocketEvent] = asyncio.get_running_loop().create_future()
        self.expected = confirms, answer
        try:
            for action in sent:
                await self._send(action)
            self.has_sent = True
            async with asyncio.timeout(within):
                event = await answer
        except TimeoutError:
            raise ConnectionLost(f"no answer within {within:g} s") from None
        finally:
            self.expected = None
        if isinstance(event, frames.Refusal) and event.token_refused:
            raise TokenRefused("the site refuses the token")
        return event


@dataclass
class OutboxDelivery:
    """Delivers one room's outbox in order, then the answers to commands.

    `bot` is the bot's client id: two bots in one room must not send equal guids. The site must show what was
    sent `within` so many seconds.
    """

    name: str
    ledger: Ledger
    call: RunOnLedger
    clock: Callable[[], datetime]
    settings: Settings
    bot: str
    backoff: Backoff
    within: float = CONFIRM_WITHIN
    _tries: Counter[int] = field(default_factory=Counter)
    _room: Conversation = field(init=False)
    _rows: Sequence[OutboxRow] = ()
    _row: OutboxRow = field(init=False)
    """The message that is being delivered, one of `_rows`."""
    _answers: deque[tuple[frames.Action, float]] = field(default_factory=deque)
    """Answers, and when they expire. They are kept in memory only, since players can ask again."""

    def answer(self, text: str, asked_in: str) -> None:
        """Queue an answer to a command.

        The guid is made from the id of the chat message with the command, so that the site ignores a second
        answer, even after a restart.
        """
        guid = uuid.uuid5(uuid.NAMESPACE_URL, f"racebot:{self.bot}:answer:{asked_in}")
        self._answers.append((frames.message_action(text, str(guid)), time.monotonic() + ANSWER_EXPIRES))

    async def deliver(self, room: Conversation) -> None:
        """Deliver all open messages in order, then the answers. Raise as `Conversation.exchange` does."""
        while True:
            rows = await self.call(self.ledger.messages.of, self.name)
            unfinished = [row for row in rows if row.state in {Delivery.WAITING, Delivery.SENT}]
            if due := [row for row in unfinished if not self.backoff.rests(self._item(row))]:
                self._room, self._rows, self._row, room.has_sent = room, rows, due[0], False
                try:
                    await self._deliver_first()
                    self.backoff.worked(self._item(self._row))
                except (TokenRefused, LedgerError):
                    raise
                except (ConnectionLost, asyncio.CancelledError):  # the listener, too, notices a lost socket
                    self._tries[self._row.id] += room.has_sent
                    raise
                except Exception as error:  # the messages after it go on
                    self._tries[self._row.id] += 1
                    self.backoff.note(self._item(self._row), error)
            elif self._answers:
                await self._give_answer(room)
            else:
                return

    def _item(self, row: OutboxRow) -> str:
        return f"{self.name} {row.message.kind} message {row.id}"

    async def _deliver_first(self) -> None:
        row = self._row
        if self._tries[row.id] >= MOST_TRIES[row.message.kind]:
            log.warning("%s: gave up on a %s message", self.name, row.message.kind)
            await self._mark(Delivery.REFUSED, "never confirmed by the site")
            return
        match row.message.body:
            case ChatBody() as body:
                await self._send_chat(row, body)
            case MetaBody() as body:
                await self._send_meta(body)
            case InfoBody() as body:
                await self._send_info(row, body)

    async def _send_chat(self, row: OutboxRow, body: ChatBody) -> None:
        race = self._room.shown
        if row.state is Delivery.SENT:
            history = await self._history()
            if self._arrived(body.text, history):
                await self._mark(Delivery.DELIVERED, "found in the chat history")
                return
            # The site takes a guid once. If repetitions have no echo, later lines hide the message.
            is_full = len(history) >= HISTORY_LENGTH  # messages before the last hundred are pinned
            is_older = is_full and history[-HISTORY_LENGTH].posted_at > row.updated_at.timestamp()
            if is_older or (is_full and self._tries[row.id] > MOST_REPETITIONS):
                await self._mark(Delivery.DELIVERED, "too long ago for the chat history")
                return
            if (await self._room.race(self.within)).recorded:
                # If a refusal was lost, the site would silently ignore a message with the same guid.
                await self._mark(Delivery.DROPPED, "chat was closed before it arrived")
                return
        elif race is not None and race.recorded:
            await self._mark(Delivery.DROPPED, "chat is closed")
            return
        elif not await self._mark_sent():
            return
        message = frames.message_action(body.text, row.message.guid, buttons=body.buttons)
        await self._conclude(await self._exchange(message, confirms=_echo_of(body.text)))

    async def _send_meta(self, body: MetaBody) -> None:
        race = await self._room.race(self.within)
        keys = info_box.meta(race.bot_meta, body.leaderboards)
        if all(race.bot_meta.get(key) == value for key, value in keys.items()):
            await self._mark(Delivery.DELIVERED)
        elif await self._mark_sent():
            # The site merges the keys into its own.
            await self._conclude(
                await self._exchange(frames.Action("setmeta", keys), frames.PING, confirms=_is_pong)
            )

    async def _send_info(self, row: OutboxRow, body: InfoBody) -> None:
        until = time.monotonic() + min(INFO_WITHIN, self.within)
        while True:
            race = await self._room.race(self.within)
            append = self.settings.info_block == "append"
            text = info_box.merged_info(race.info_bot, body.blocks, self.settings.texts, append=append)
            left = until - time.monotonic()
            if text is None or row.state is not Delivery.SENT or left <= 0:
                break
            await self._room.next_race(left)
        if text is None and row.state is Delivery.SENT:
            await self._mark(Delivery.DELIVERED, "found in the info box")
        elif text is None:
            await self._mark(
                Delivery.DROPPED, "the info box has it, has no room for it, or is left to others"
            )
        elif await self._mark_sent():
            sent = frames.Action("setinfo", {"info_bot": text})
            await self._conclude(await self._exchange(sent, confirms=_shows_info(text)))

    async def _conclude(self, event: frames.SocketEvent) -> None:
        """Store whether the site carried the message out or refused it."""
        if not isinstance(event, frames.Refusal):
            await self._mark(Delivery.DELIVERED)
            return
        reason, kind = "; ".join(event.errors), self._row.message.kind
        log.warning("%s: the site refused a %s message: %s", self.name, kind, reason)
        await self._mark(Delivery.REFUSED, reason)
        if event.chat_closed:
            messages, now = self.ledger.messages, self.clock()
            await self.call(messages.drop_waiting, self.name, "chat", now, "chat is closed")

    async def _history(self) -> Sequence[frames.ChatMessage]:
        """Return the last messages of chat, or none if the site refuses to show them."""
        event = await self._exchange(
            frames.GET_HISTORY, confirms=lambda event: isinstance(event, frames.ChatHistory)
        )
        return event.messages if isinstance(event, frames.ChatHistory) else ()

    async def _exchange(self, *sent: frames.Action, confirms: Confirms) -> frames.SocketEvent:
        return await self._room.exchange(*sent, confirms=confirms, within=self.within)

    async def _mark_sent(self) -> bool:
        """Store that the message is about to be sent. Return False if it was dropped in the meantime."""
        # A chat message must never be sent twice, so the mark must be on disk before it is sent.
        return await self.call(self.ledger.messages.mark_sent, self._row, self.clock())

    async def _mark(self, state: Delivery, detail: str | None = None) -> None:
        await self.call(self.ledger.messages.mark, self._row, state, self.clock(), detail)

    def _arrived(self, text: str, history: Sequence[frames.ChatMessage]) -> bool:
        """Return whether the history shows this message, apart from earlier ones with the same text.

        Compares texts and counts messages, because the site's clock or ours may be wrong.
        """
        earlier = sum(
            each.id < self._row.id and each.state is Delivery.DELIVERED and body.text == text
            for each, body in chat_messages(self._rows)
        )
        return sum(map(_echo_of(text), history)) > earlier

    async def _give_answer(self, room: Conversation) -> None:
        message, expires = self._answers[0]
        race = await room.race(self.within)
        if time.monotonic() <= expires and not race.recorded:
            # If the connection is lost, it is sent again: the site ignores a guid that it knows.
            within = min(ANSWER_WITHIN, self.within)
            event = await room.exchange(message, frames.PING, confirms=_is_pong, within=within)
            if isinstance(event, frames.Refusal):
                log.warning("%s: the site refused an answer: %s", self.name, "; ".join(event.errors))
        self._answers.popleft()


def _is_pong(event: frames.SocketEvent) -> bool:
    return event == frames.PONG


def _echo_of(text: str) -> Confirms:
    """Recognise our own message by its visible text, since the site may drop invisible characters."""
    words = visible(text).split()

    def echo(event: frames.SocketEvent) -> bool:
        return (
            isinstance(event, frames.ChatMessage)
            and event.bot is not None
            and visible(event.text).split() == words
        )

    return echo


def _shows_info(text: str) -> Confirms:
    def lines(info: str) -> list[str]:
        return [visible(line).strip() for line in info.strip().splitlines()]

    return lambda event: isinstance(event, frames.RaceUpdate) and lines(event.race.info_bot) == lines(text)
