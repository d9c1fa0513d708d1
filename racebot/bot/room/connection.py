"""Joins a room's socket, reads its frames into the inbox, and delivers the outbox."""

import asyncio
import logging
import time

from racebot import errors
from racebot.bot.failures import Backoff, first_of, retry_pauses
from racebot.bot.room.delivery import Conversation, OutboxDelivery
from racebot.bot.room.events import CaseEvent, Signal
from racebot.bot.room.inbox import Inbox, RoomContext
from racebot.logs import about
from racebot.racetime import frames

log = logging.getLogger(__name__)

STEADY_AFTER = 60.0  # seconds that a connection must last to reset the pauses between attempts
FAILURES_UNTIL_ASKED = 3
"""Lost connections in a row after which the bot asks the site whether the room still exists."""
REFRESH_OPEN = 300.0
"""Seconds of silence after which the bot asks an open room for its race, since a frame may be lost."""
REFRESH_FINISHED = 60.0
REFRESH_MISSED = 2.0
"""Seconds after an unreadable or missing frame until the bot asks the room for its race. After several
unreadable ones in a row, it waits longer."""


class RoomWatch:
    """Watches one room until its race is settled or over and its outbox is empty."""

    def __init__(self, name: str, context: RoomContext) -> None:
        self.name = name
        self._context = context
        worker, bot = context.worker, context.tokens.client_id if context.tokens else ""
        backoff, ledger = Backoff(worker.failures.raised, worker.failures.recovered), context.work.ledger
        self._delivery = OutboxDelivery(
            name, ledger, worker.call, worker.clock, worker.settings, bot, backoff
        )
        self._work = asyncio.Event()
        self._inbox = Inbox(name, context, self._delivery, self.nudge)

    def nudge(self) -> None:
        """Check the outbox, which may hold new messages for this room."""
        self._work.set()

    def put(self, *events: CaseEvent) -> None:
        """Process events from sources other than the room's socket."""
        for event in events:
            self._inbox.put(event)

    async def run(self) -> None:
        """Watch the room until it is done, reconnecting after lost connections and temporary errors."""
        with about(self.name):
            await first_of(self._inbox.run(), self._join_until_done())

    async def _join_until_done(self) -> None:
        site, log_failures = self._context.worker.site, self._context.worker.failures
        delays, failures = retry_pauses(), 0
        tokens = self._context.tokens
        token, joined_before = None, False
        while True:
            joined_at: float | None = None
            try:
                token = await tokens.get() if tokens else None
                async with frames.join(site.url, self.name, token, site.gate) as socket:
                    joined_at = time.monotonic()
                    if not joined_before:
                        log.info("%s: joined the room", self.name)
                        joined_before = True
                    log_failures.recovered(self.name)
                    failures = 0
                    self._work.set()
                    room = Conversation(socket.send)
                    await first_of(self._listen(socket, room), self._speak(room))
                    return
            except errors.TokenRefused as error:
                log_failures.raised(self.name, error, level=logging.INFO)
                if tokens and token:
                    tokens.refuse(token)
            except errors.ConnectionLost as error:
                log_failures.raised(self.name, error, level=logging.INFO)
                failures += 1
                if failures >= FAILURES_UNTIL_ASKED and await self._is_gone():
                    self._inbox.put(Signal.MISSING)
                    await asyncio.Event().wait()  # until the inbox has handled it
            except Exception as error:
                if isinstance(error, errors.LedgerError) and not isinstance(error, errors.LedgerUnavailable):
                    raise
                log_failures.raised(self.name, error)
            if joined_at is not None and time.monotonic() - joined_at > STEADY_AFTER:
                delays = retry_pauses()
            await asyncio.sleep(next(delays))

    async def _listen(self, socket: frames.RoomSocket, room: Conversation) -> None:
        """Read frames and pass them on. Nothing here waits for the ledger or for another request."""
        worker = self._context.worker
        if self._context.commands is not None:
            await socket.send(frames.GET_HISTORY)
        refresh_at = time.monotonic() + REFRESH_MISSED  # the site shows the race on connecting
        after_unreadable = REFRESH_MISSED
        while True:
            event = await socket.receive(max(0.0, refresh_at - time.monotonic()))
            now = time.monotonic()
            if isinstance(event, frames.RaceUpdate):
                if event.sent_at is not None:
                    worker.site.set_clock(event.sent_at)
                refresh_at = now + (REFRESH_FINISHED if event.race.status == "finished" else REFRESH_OPEN)
                after_unreadable = REFRESH_MISSED
                worker.failures.recovered(f"{self.name} frames")
            elif isinstance(event, frames.Unreadable):
                worker.failures.failed(f"{self.name} frames", f"unreadable frame: {event.reason}")
                refresh_at = min(refresh_at, now + after_unreadable)
                after_unreadable = min(2 * after_unreadable, REFRESH_FINISHED)
            elif isinstance(event, frames.ChatMessage) and event.is_system:
                # The site announces changes in chat, too; the race's data should follow at once.
                refresh_at = min(refresh_at, now + REFRESH_MISSED)
            elif isinstance(event, frames.Refusal) and event.token_refused and room.expected is None:
                raise errors.TokenRefused("the site refuses the token")
            if event is not None:
                room.on_event(event)
                self._inbox.on_frame(event)
            if now >= refresh_at:
                refresh_at = now + REFRESH_FINISHED
                await socket.send(frames.GET_RACE)

    async def _speak(self, room: Conversation) -> None:
        """Deliver the outbox whenever there is work. Return once the room is done."""
        while True:
            await self._work.wait()
            self._work.clear()
            if self._context.tokens is not None:
                await self._delivery.deliver(room)
            # Asked before the outbox is read: the event that ends the room also queues its last messages.
            open_for = self._context.work.ledger.messages.open_for
            if self._inbox.may_leave() and not await self._context.worker.call(open_for, self.name):
                return

    async def _is_gone(self) -> bool:
        site = self._context.worker.site
        if site.gate.existence_check.locked():
            return False  # another room is asking; this one can ask after its next failure
        async with site.gate.existence_check:
            try:
                await site.race(self.name)
            except (errors.SiteError, errors.PayloadError) as error:
                return isinstance(error, errors.NotFoundError)
        return False
