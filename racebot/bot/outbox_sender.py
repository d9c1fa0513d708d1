"""Carries out the commands of `racebot.bot.outbox_protocol`, over a room's socket and the ledger."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime

from racebot.bot.outbox_commands import (
    Command,
    DropWaitingChat,
    Mark,
    ReadOutbox,
    Take,
    Wait,
    Warn,
)
from racebot.bot.outbox_protocol import OutboxProtocol
from racebot.ledger.outbox import Delivery, OutboxRow
from racebot.ledger.store import Ledger
from racebot.ledger.thread import RunOnLedger
from racebot.racetime.actions import Action
from racebot.racetime.frames import Event
from racebot.racetime.socket import RoomSocket
from racebot.telemetry import metrics

log = logging.getLogger(__name__)


class OutboxSender:
    """Delivers one room's outbox and the answers to its commands.

    Args:
        name: the race.
        ledger: holds the outbox.
        call: runs work on the ledger's thread.
        clock: the current time, with its offset.
        protocol: decides what to send, and whether it has arrived.
    """

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        call: RunOnLedger,
        clock: Callable[[], datetime],
        protocol: OutboxProtocol,
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._call = call
        self._clock = clock
        self._protocol = protocol
        self._event_came = asyncio.Event()

    @property
    def expects_confirmation(self) -> bool:
        """Return whether the site has yet to confirm or refuse something."""
        return self._protocol.expects_confirmation

    def on_joined(self) -> None:
        """Start over on a new connection."""
        self._protocol.on_joined()

    def on_event(self, event: Event) -> None:
        """Process an event of the room, which may confirm or refuse a message."""
        self._protocol.on_event(event)
        self._event_came.set()

    def answer(self, text: str, asked_in: str, *, to: str | None) -> None:
        """Queue an answer to the command in a chat message, for one user, or for the room if `to` is None."""
        self._protocol.answer(text, asked_in, time.monotonic(), to=to)

    async def deliver(self, socket: RoomSocket) -> None:
        """Deliver all open messages in order, then the answers.

        Raises:
            TokenRefused: the site refuses the token.
            ConnectionLost: the socket closed, or the site does not respond.
            LedgerUnavailable: the ledger cannot be written at the moment.
        """
        try:
            while (command := self._protocol.next_command(time.monotonic())) is not None:
                await self._carry_out(command, socket)
        finally:
            self._protocol.stop()

    async def _carry_out(self, command: Command, socket: RoomSocket) -> None:
        match command:
            case Action():
                await socket.send(command)
            case Wait(until):
                await self._wait(until)
            case ReadOutbox():
                self._protocol.on_outbox(await self._call(self._ledger.outbox.of, self._name))
            case Take(row):
                self._protocol.on_taken(await self._take(row))
            case Mark(row, state, detail):
                await self._mark(row, state, detail)
            case DropWaitingChat(detail):
                await self._drop_waiting_chat(detail)
            case Warn(text):
                log.warning("%s: %s", self._name, text)

    async def _wait(self, until: float) -> None:
        self._event_came.clear()
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._event_came.wait()
        except TimeoutError:
            pass

    async def _take(self, row: OutboxRow) -> bool:
        # A chat message must never be sent twice, so the mark must be on disk before it is sent.
        def write() -> bool:
            with self._ledger.transaction(lasting=row.message.kind == "chat"):
                return self._ledger.outbox.take(row, self._clock())

        return await self._call(write)

    async def _mark(self, row: OutboxRow, state: Delivery, detail: str | None) -> None:
        kind = row.message.kind
        metrics.MESSAGES.labels(kind, state.value).inc()
        if kind == "chat" and state is Delivery.DELIVERED:
            metrics.MESSAGE_SECONDS.observe((self._clock() - row.created_at).total_seconds())

        # If a power cut loses this mark, the room still shows what was delivered.
        def write() -> None:
            with self._ledger.transaction(lasting=False):
                self._ledger.outbox.mark(row, state, self._clock(), detail)

        await self._call(write)

    async def _drop_waiting_chat(self, detail: str) -> None:
        def write() -> None:
            with self._ledger.transaction():
                self._ledger.outbox.drop_waiting(self._name, "chat", self._clock(), detail)

        await self._call(write)
