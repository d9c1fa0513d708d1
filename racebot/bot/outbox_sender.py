"""Delivering a room's outbox over its socket, each message once.

The site acknowledges nothing but by showing: a chat message comes back as the bot's own, `info_bot` and
`bot_meta` show in the race's data. A message whose arrival is not known, because the connection or the
process died, is looked for in the chat history before it is said again with the same guid.

Answers to commands wait in memory behind the outbox, and are tried once: who asked can ask again.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from racebot.chat import info_box
from racebot.chat.info_box import InfoPolicy
from racebot.chat.templates import Texts
from racebot.errors import ConnectionLost, LedgerUnavailable
from racebot.ledger.queue import Delivery, OutboxRow
from racebot.ledger.store import Ledger
from racebot.observe import metrics
from racebot.racetime.payload import (
    ChatHistory,
    ChatMessage,
    Event,
    Pong,
    PrivateNote,
    Race,
    RaceUpdate,
    Refusal,
)
from racebot.racetime.socket import RoomSocket
from racebot.text import safe

log = logging.getLogger(__name__)

ANSWER_WITHIN = 10.0
"""Seconds after which a connection that does not show what we sent counts as lost."""
MOST_TRIES = {"chat": 20, "meta": 20, "info": 3}
"""Connections over which one message is tried: what the site never shows must not be repeated for ever."""
ECHO_WITHIN = 3.0
"""The same for the answer to a command: a rating message may be waiting behind it."""
ANSWER_EXPIRES = 60.0
"""Seconds after which the answer to a command is no longer worth giving."""

Call = Callable[..., Awaitable[Any]]
"""Runs a function with its arguments on the ledger's own thread."""


class TokenRefused(ConnectionLost):
    """The site refused an action because of the token: get a new one and connect again."""


class Courier:
    """Delivers what the outbox holds for one room.

    Args:
        name: the race.
        ledger: for the outbox.
        call: runs ledger work.
        clock: the current time, with its offset.
        info: what may be done with `info_bot`.
        texts: by which our own line in it is known.
        answer_within: seconds in which the site must show what we sent.
    """

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        call: Call,
        clock: Callable[[], datetime],
        info: InfoPolicy,
        texts: Texts,
        answer_within: float = ANSWER_WITHIN,
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._call = call
        self._clock = clock
        self._info = info
        self._texts = texts
        self._answer_within = answer_within
        self._race: Race | None = None
        self._seen = asyncio.Event()
        self._tries: Counter[int] = Counter()
        self._answers: deque[tuple[float, str, str | None]] = deque()
        self._waiting: tuple[Callable[[Event], bool], asyncio.Future[Event]] | None = None

    def hear(self, event: Event) -> None:
        """Take in an event of the room: it may be the answer that a delivery waits for."""
        if isinstance(event, RaceUpdate):
            self._race = event.race
            self._seen.set()
        if self._waiting is not None:
            wanted, answer = self._waiting
            if not answer.done() and (isinstance(event, Refusal) or wanted(event)):
                answer.set_result(event)

    @property
    def expects_answer(self) -> bool:
        """Whether a delivery waits for what the site says to it."""
        return self._waiting is not None

    def answer(self, text: str, to: str | None) -> None:
        """Give this answer next, to one user alone or, where `to` is None, to the room."""
        self._answers.append((time.monotonic() + ANSWER_EXPIRES, text, to))

    def joined(self) -> None:
        """A new connection is open: what the last one showed may be old."""
        self._seen.clear()

    async def deliver(self, socket: RoomSocket) -> None:
        """Deliver all that is open, in order, and then the answers.

        Raises:
            TokenRefused: the token is no good any more.
            ConnectionLost: the socket closed, or the site does not answer.
        """
        while (rows := await self._open_rows()) or self._answers:
            if not rows:
                await self._give(socket, *self._answers.popleft())
                continue
            row = rows[0]
            self._tries[row.id] += 1
            if self._tries[row.id] > MOST_TRIES[row.message.kind]:
                log.warning("%s: a message was never confirmed; given up", self._name)
                await self._mark(row, Delivery.REFUSED, "never confirmed by the site")
            else:
                try:
                    await self._deliver(socket, row)
                except LedgerUnavailable:
                    self._tries[row.id] -= 1  # a full disk says nothing of what the site shows
                    raise

    async def _open_rows(self) -> list[OutboxRow]:
        rows: list[OutboxRow] = await self._call(self._ledger.outbox.open_for, self._name)
        return rows

    async def _deliver(self, socket: RoomSocket, row: OutboxRow) -> None:
        match row.message.kind:
            case "chat":
                await self._chat(socket, row)
            case "meta":
                await self._meta(socket, row)
            case "info":
                await self._set_info(socket, row)

    async def _chat(self, socket: RoomSocket, row: OutboxRow) -> None:
        text = str(row.message.body["text"])
        if row.state is Delivery.SENT:
            history = await self._exchange(socket.ask_history(), lambda e: isinstance(e, ChatHistory))
            if isinstance(history, ChatHistory) and await self._call(self._arrived, row, history):
                await self._mark(row, Delivery.DELIVERED, "found in the chat history")
                return
            if (await self._current_race()).recorded:
                # Said again it would go unanswered: a refusal that was lost has used its guid up.
                await self._mark(row, Delivery.DROPPED, "chat was closed before it arrived")
                return
        elif self._race is not None and self._race.recorded:
            await self._mark(row, Delivery.DROPPED, "chat is closed")
            return
        elif not await self._take(row):
            return
        answer = await self._exchange(
            socket.say(text, row.message.guid, buttons=row.message.body.get("buttons")),
            lambda e: isinstance(e, ChatMessage) and _is_ours(e, text),
        )
        await self._conclude(row, answer, "chat message")

    def _arrived(self, row: OutboxRow, history: ChatHistory) -> bool:
        """Whether the chat shows a message beside those of the same words that were delivered before it.

        When it was posted is not asked: the site's clock, or ours, may be wrong.
        """
        text = str(row.message.body["text"])
        delivered = [
            each
            for each in self._ledger.outbox.of(self._name)
            if each.id < row.id and each.state is Delivery.DELIVERED and each.message.body.get("text") == text
        ]
        return sum(_is_ours(message, text) for message in history.messages) > len(delivered)

    async def _give(self, socket: RoomSocket, expires: float, text: str, to: str | None) -> None:
        race = await self._current_race()
        if time.monotonic() > expires or race.recorded:
            return

        def shown(event: Event) -> bool:
            if to is not None:
                return isinstance(event, PrivateNote) and event.bot is not None and event.to == to
            return isinstance(event, ChatMessage) and _is_ours(event, text)

        within = min(ECHO_WITHIN, self._answer_within)
        answer = await self._exchange(socket.say(text, str(uuid.uuid4()), to=to), shown, within)
        if isinstance(answer, Refusal):
            log.warning("%s: an answer was refused: %s", self._name, "; ".join(answer.errors))

    async def _meta(self, socket: RoomSocket, row: OutboxRow) -> None:
        race = await self._current_race()
        ours = info_box.meta(race.bot_meta, row.message.body["leaderboards"])
        if _holds(race.bot_meta, ours):
            await self._mark(row, Delivery.DELIVERED)
            return
        if not await self._take(row):
            return

        # Nothing shows that `setmeta` was taken, but actions are answered in order: once the ping that
        # follows it is answered, a refusal would have been.
        async def set_and_ping() -> None:
            await socket.set_meta(ours)
            await socket.ping()

        answer = await self._exchange(set_and_ping(), lambda e: isinstance(e, Pong))
        await self._conclude(row, answer, "bot_meta")

    async def _set_info(self, socket: RoomSocket, row: OutboxRow) -> None:
        race = await self._current_race()
        text = info_box.merged_info(race.info_bot, row.message.body["blocks"], self._info, self._texts)
        if text is None and row.state is Delivery.SENT:
            await self._mark(row, Delivery.DELIVERED, "found in the info box")
            return
        if text is None:
            await self._mark(row, Delivery.DROPPED, f"left as it is ({self._info.value})")
            return
        if not await self._take(row):
            return
        answer = await self._exchange(
            socket.set_info(text), lambda e: isinstance(e, RaceUpdate) and _same_lines(e.race.info_bot, text)
        )
        await self._conclude(row, answer, "info block")

    async def _current_race(self) -> Race:
        """The race by the last frame of this connection, its first one waited for."""
        try:
            async with asyncio.timeout(self._answer_within):
                await self._seen.wait()
        except TimeoutError:
            raise ConnectionLost(f"{self._name}: the site does not show the race") from None
        assert self._race is not None  # noqa: S101 - set with the event
        return self._race

    async def _conclude(self, row: OutboxRow, answer: Event, what: str) -> None:
        if isinstance(answer, Refusal):
            log.warning("%s: %s refused: %s", self._name, what, "; ".join(answer.errors))
            await self._mark(row, Delivery.REFUSED, "; ".join(answer.errors))
            if answer.chat_closed:
                await self._give_up_chat()
        else:
            await self._mark(row, Delivery.DELIVERED)

    async def _give_up_chat(self) -> None:
        def write() -> None:
            with self._ledger.transaction():
                self._ledger.outbox.drop_waiting(self._name, "chat", self._clock(), "chat is closed")

        await self._call(write)

    async def _exchange(
        self, action: Awaitable[None], wanted: Callable[[Event], bool], within: float | None = None
    ) -> Event:
        """Send, and wait for the event that answers it or for a refusal."""
        within = self._answer_within if within is None else within
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._waiting = (wanted, answer)
        try:
            await action
            async with asyncio.timeout(within):
                event = await answer
        except TimeoutError:
            raise ConnectionLost(f"{self._name}: no answer within {within:g} s") from None
        finally:
            self._waiting = None
        if isinstance(event, Refusal) and event.token_refused:
            raise TokenRefused(f"{self._name}: the token is refused")
        return event

    async def _take(self, row: OutboxRow) -> bool:
        # That something may have been said must be known for certain before it is.
        def write() -> bool:
            with self._ledger.transaction(lasting=row.message.kind == "chat"):
                return self._ledger.outbox.take(row, self._clock())

        taken: bool = await self._call(write)
        return taken

    async def _mark(self, row: OutboxRow, state: Delivery, detail: str | None = None) -> None:
        kind = row.message.kind
        metrics.MESSAGES.labels(kind, state.value).inc()
        if kind == "chat" and state is Delivery.DELIVERED:
            metrics.MESSAGE_SECONDS.observe((self._clock() - row.created_at).total_seconds())

        # What these marks say shows in the room, and is found there again.
        def write() -> None:
            with self._ledger.transaction(lasting=False):
                self._ledger.outbox.mark(row, state, self._clock(), detail)

        await self._call(write)


def _is_ours(message: ChatMessage, text: str) -> bool:
    """Whether a message is ours, by its words: the site may drop what cannot be seen."""

    def words(text: str) -> list[str]:
        return safe.printable(text).split()

    return message.bot is not None and words(message.text) == words(text)


def _holds(meta: Mapping[str, object], ours: Mapping[str, object]) -> bool:
    return all(meta.get(key) == value for key, value in ours.items())


def _same_lines(left: str, right: str) -> bool:
    return [line.strip() for line in left.strip().splitlines()] == [
        line.strip() for line in right.strip().splitlines()
    ]
