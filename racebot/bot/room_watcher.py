"""One task per race room: joins its socket, follows the race, and delivers its messages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from racebot.bot.command_handler import CommandHandler
from racebot.bot.command_queue import CommandQueue
from racebot.bot.outbox_protocol import OutboxProtocol
from racebot.bot.outbox_sender import OutboxSender
from racebot.bot.race_lifecycle import Lifecycle, is_time_to_greet
from racebot.bot.race_reader import RaceReader
from racebot.bot.retry import retry_pauses
from racebot.chat.info_box import InfoPolicy
from racebot.chat.wording import Texts
from racebot.errors import (
    ConnectionLost,
    LedgerError,
    LedgerUnavailable,
    RacebotError,
    TokenRefused,
)
from racebot.ledger.thread import RunOnLedger
from racebot.racetime import actions
from racebot.racetime.client import Site
from racebot.racetime.frames import ChatMessage, RaceUpdate, Refusal, Unreadable
from racebot.racetime.payload import Race
from racebot.racetime.room import Notice, Over, ReadRace, Recorded, ResultStands, ResultTakenBack, Room
from racebot.racetime.socket import RoomSocket, bot_path, join
from racebot.racetime.tokens import TokenSource
from racebot.telemetry import metrics
from racebot.telemetry.logs import about
from racebot.telemetry.troubles import Troubles

log = logging.getLogger(__name__)

STAY_AFTER_FINISH = timedelta(hours=6)
"""How long the socket of a finished room stays open. After that, its race is polled."""
STAY_AFTER_OVER = timedelta(hours=1)
"""How long the site keeps the chat of a cancelled or unrecorded race open."""
STEADY_AFTER = 60.0
"""Seconds that a connection must last to reset the pauses between attempts."""
FAILURES_UNTIL_ASKED = 3
"""Lost connections in a row after which the bot asks the site whether the room still exists."""
REFRESH_OPEN = 300.0
"""Seconds of silence after which the bot asks an open room for its race, since a frame may be lost."""
REFRESH_FINISHED = 60.0
REFRESH_MISSED = 2.0
"""Seconds after an unreadable or missing frame until the bot asks the room for its race. After several
unreadable ones in a row, it waits longer."""


class RoomWatch:
    """Watches one room until its race is settled or over and its outbox is empty.

    Args:
        name: the race, `category/slug`.
        site: the site.
        tokens: the bot's token.
        lifecycle: does the ledger work of each stage.
        call: runs ledger work.
        clock: returns the current time, with its offset.
        quiet: seconds for which a result must not change before it is announced.
        info: how `info_bot` may be used.
        texts: the wording.
        commands: answers commands; None if commands are off.
        greet: queues the greeting, and returns whether that is done; None for no greeting.
        on_race: called with the race whenever the room may have changed.
        troubles: logs failures.
    """

    def __init__(
        self,
        name: str,
        *,
        site: Site,
        tokens: TokenSource,
        lifecycle: Lifecycle,
        call: RunOnLedger,
        clock: Callable[[], datetime],
        quiet: float,
        info: InfoPolicy,
        texts: Texts,
        commands: CommandHandler | None,
        troubles: Troubles,
        greet: Callable[[Race], bool] | None = None,
        on_race: Callable[[Race], object] = lambda _: None,
    ) -> None:
        self.name = name
        self._category = name.partition("/")[0]
        self._site = site
        self._tokens = tokens
        self._lifecycle = lifecycle
        self._ledger = lifecycle.settler.ledger
        self._call = call
        self._clock = clock
        self._room = Room(name, quiet=quiet)
        self._sender = OutboxSender(name, self._ledger, call, clock, OutboxProtocol(info, texts))
        self._greet = greet
        self._on_race = on_race
        self._troubles = troubles
        self._work = asyncio.Event()
        self._is_stored = False
        self._notices: deque[Notice] = deque()
        """Notices to handle. They are kept if the connection is lost before they are handled."""
        self._taking = asyncio.Lock()
        self._reconnect = asyncio.Event()
        self._deadline_moved = asyncio.Event()
        self._reader = RaceReader(
            name,
            site,
            self._room,
            on_read=self.on_read,
            on_failed=self._deadline_moved.set,
            troubles=troubles,
        )
        self._commands: CommandQueue | None = None
        self._answering: asyncio.Task[None] | None = None
        """Answers commands. It outlives connections, so that a lost one takes no answer with it."""
        if commands is not None:
            self._commands = CommandQueue(
                self._room,
                commands,
                self._sender,
                call,
                is_up_to_date=self._reader.is_up_to_date,
                answered=self.nudge,
            )

    def nudge(self) -> None:
        """Check the outbox, which may hold new messages for this room."""
        self._work.set()

    def renew(self) -> None:
        """Connect again with the current token."""
        self._reconnect.set()

    async def run(self) -> None:
        """Watch the room until it is done, reconnecting after lost connections and temporary errors.

        Raises:
            LedgerError: the database is not intact.
        """
        with about(self.name):
            try:
                await self._join_until_done()
            finally:
                if self._answering is not None:
                    self._answering.cancel()
                    await asyncio.gather(self._answering, return_exceptions=True)

    async def _join_until_done(self) -> None:
        delays, failures, failed = retry_pauses(), 0, self._troubles.failed
        token, joined_before = "", False
        while True:
            joined_at: float | None = None
            try:
                self._reconnect.clear()  # before the token is taken: it may be renewed during the handshake
                token = await self._tokens.get()
                path = self._room.race.websocket_path if self._room.race else None
                path = path or bot_path(self.name)
                async with join(self._site.url, self.name, path, token, self._site.gate) as socket:
                    joined_at = time.monotonic()
                    if not joined_before:
                        log.info("%s: joined the room", self.name)
                        joined_before = True
                    self._troubles.over(self.name)
                    metrics.CONNECTIONS.labels(self._category).inc()
                    failures = 0
                    if await self._stay(socket):
                        return
                    continue
            except TokenRefused as error:
                failed(self.name, str(error), "requesting a new one", level=logging.INFO)
                self._tokens.refuse(token)
            except ConnectionLost as error:
                failed(self.name, str(error), level=logging.INFO)
                failures += 1
                if failures >= FAILURES_UNTIL_ASKED and await self._reader.is_gone():
                    await self._call(self._lifecycle.vanished, self.name)
                    return
            except LedgerUnavailable as error:
                failed(self.name, str(error), level=logging.ERROR)
            except LedgerError:
                raise
            except RacebotError as error:
                failed(self.name, str(error))
            except Exception as error:
                failed(self.name, f"unexpected error: {error!r}", level=logging.ERROR, error=error)
            metrics.RECONNECTS.labels(self._category).inc()
            if joined_at is not None and time.monotonic() - joined_at > STEADY_AFTER:
                delays = retry_pauses()
            await asyncio.sleep(next(delays))

    async def _stay(self, socket: RoomSocket) -> bool:
        """Follow the room on one connection. Return True once the room is done."""
        self._sender.on_joined()
        self._room.on_reconnect(time.monotonic())
        self._work.set()
        renewing = asyncio.create_task(self._reconnect.wait(), name=f"renew {self.name}")
        tasks = [
            renewing,
            asyncio.create_task(self._listen(socket), name=f"listen {self.name}"),
            asyncio.create_task(self._speak(socket), name=f"speak {self.name}"),
            asyncio.create_task(self._follow_clock(), name=f"clock {self.name}"),
            asyncio.create_task(self._reader.run(), name=f"read {self.name}"),
        ]
        if self._commands is not None and self._answering is None:
            self._answering = asyncio.create_task(self._commands.run(), name=f"answer {self.name}")
        lasting = [] if self._answering is None else [self._answering]
        try:
            done, _ = await asyncio.wait([*tasks, *lasting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        if self._answering is not None and self._answering.done():
            results += await asyncio.gather(self._answering, return_exceptions=True)
            self._answering = None
        for result in results:
            if isinstance(result, Exception):
                raise result
        return renewing not in done

    async def on_listing(self, race: Race) -> None:
        """Process the race as the list of past races shows it."""
        await self._take(self._room.on_listing(race, time.monotonic()))

    async def on_read(self, race: Race, asked_at: float) -> None:
        """Process the site's answer to a request made at `asked_at`, by the monotonic clock."""
        await self._take(self._room.on_read(race, time.monotonic(), asked_at))

    async def _listen(self, socket: RoomSocket) -> None:
        """Feed the state machine from the socket."""
        if self._commands is not None:
            await socket.send(actions.GET_HISTORY)
        refresh_at = time.monotonic() + REFRESH_MISSED  # the site shows the race on connecting
        after_unreadable = REFRESH_MISSED
        while True:
            event = await socket.receive(max(0.0, refresh_at - time.monotonic()))
            now = time.monotonic()
            if isinstance(event, RaceUpdate):
                await self._take(self._room.on_frame(event.race, now))
                refresh_at = now + (REFRESH_FINISHED if event.race.status == "finished" else REFRESH_OPEN)
                after_unreadable = REFRESH_MISSED
                self._troubles.over(f"{self.name} frames")
            elif isinstance(event, Unreadable):
                problem = f"unreadable frame: {event.reason}"
                self._troubles.failed(f"{self.name} frames", problem, "asking for the race again")
                refresh_at = min(refresh_at, now + after_unreadable)
                after_unreadable = min(2 * after_unreadable, REFRESH_FINISHED)
                self._on_missed(now)
            elif isinstance(event, ChatMessage) and event.is_system:
                # The site announces changes in chat, too; the race's data should follow at once.
                refresh_at = min(refresh_at, now + REFRESH_MISSED)
                self._on_missed(now)
            elif isinstance(event, Refusal) and event.token_refused and not self._sender.expects_confirmation:
                raise TokenRefused("the site refuses the token")
            if event is not None:
                self._sender.on_event(event)
            if self._commands is not None:
                self._commands.on_event(event)
            if now >= refresh_at:
                refresh_at = now + REFRESH_FINISHED
                await socket.send(actions.GET_RACE)

    def _on_missed(self, now: float) -> None:
        """Read a race that ended, since there may be an edit that no frame shows."""
        self._room.on_system_message(now)
        self._deadline_moved.set()

    async def _follow_clock(self) -> None:
        """Feed the state machine from the clock. Events and reads move its deadline."""
        while True:
            self._deadline_moved.clear()
            deadline = self._room.deadline
            try:
                async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
                    await self._deadline_moved.wait()
            except TimeoutError:
                await self._take(self._room.tick(time.monotonic()))

    async def _take(self, notices: Sequence[Notice]) -> None:
        if any(isinstance(notice, ReadRace) for notice in notices):
            self._reader.request()
        self._notices.extend(notice for notice in notices if not isinstance(notice, ReadRace))
        self._deadline_moved.set()
        async with self._taking:
            race = self._room.race
            if race is not None and not self._room.closed and not race.over:
                if race.status == "finished":
                    await self._call(self._lifecycle.observe, race)
                elif not self._is_stored:
                    await self._call(self._lifecycle.joined, race)
                self._is_stored = race.status != "finished"
                if self._greet is not None and is_time_to_greet(race):
                    if await self._call(self._greet, race):
                        self._greet = None
                    self._work.set()
            while self._notices:
                try:
                    await self._follow(self._notices[0])
                except LedgerUnavailable:
                    raise  # and tried again on the next connection
                except Exception:
                    self._notices.popleft()
                    raise
                self._notices.popleft()
                self._work.set()
            if race is not None:
                self._on_race(race)

    async def _follow(self, notice: Notice) -> None:
        match notice:
            case ResultStands(result, previous) if self._room.holds(result):
                await self._call(self._lifecycle.result_stands, result, previous)
            case ResultTakenBack():
                await self._call(self._lifecycle.taken_back, self.name)
            case Recorded(race) | Over(race):
                await self._call(partial(self._lifecycle.observe, race, in_room=True))

    async def _speak(self, socket: RoomSocket) -> None:
        """Deliver the outbox whenever there is work. Return once the room is done."""
        while True:
            await self._work.wait()
            self._work.clear()
            await self._sender.deliver(socket)
            if await self._may_leave():
                return

    async def _may_leave(self) -> bool:
        # Read before the outbox: the notice that closes the room also queues its last messages.
        answered = self._commands is None or self._commands.empty
        handled = answered and not self._notices and not self._taking.locked()
        closed, race = self._room.closed and handled, self._room.race
        open_rows = await self._call(self._ledger.outbox.open_for, self.name)
        if open_rows or race is None:
            return False
        if closed:
            return True
        if not handled or self._room.deadline is not None:
            return False
        ended_at = race.cancelled_at or race.ended_at or (race.result.ended_at if race.result else None)
        if race.over:
            return ended_at is None or self._clock() - ended_at > STAY_AFTER_OVER
        return ended_at is not None and self._clock() - ended_at > STAY_AFTER_FINISH
