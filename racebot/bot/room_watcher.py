"""One task per race room: joins its socket, follows the race, delivers what is to be said."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from racebot.bot.command_handler import Conversation
from racebot.bot.outbox_protocol import OutboxProtocol
from racebot.bot.outbox_sender import OutboxSender
from racebot.bot.race_lifecycle import Lifecycle
from racebot.bot.retry import retry_pauses
from racebot.chat.info_box import InfoPolicy
from racebot.chat.templates import Texts
from racebot.errors import (
    ConnectionLost,
    LedgerError,
    LedgerUnavailable,
    NotFoundError,
    RacebotError,
    SiteError,
    TokenRefused,
)
from racebot.ledger.thread import RunOnLedger
from racebot.observe import metrics
from racebot.observe.logs import about
from racebot.racetime.client import Site
from racebot.racetime.payload import ChatMessage, Race, RaceUpdate, Refusal, Unreadable
from racebot.racetime.room import Notice, Over, Recorded, ResultStands, ResultTakenBack, Room
from racebot.racetime.socket import RoomSocket, bot_path, join
from racebot.racetime.tokens import TokenSource

log = logging.getLogger(__name__)

STAY_AFTER_FINISH = timedelta(hours=6)
"""How long a finished room is watched by its socket; after that its race is polled."""
STEADY_AFTER = 60.0
"""Seconds that a connection must have lasted for the next one to be tried without growing pauses."""
FAILURES_UNTIL_ASKED = 3
"""Lost connections in a row after which the site is asked whether the room still exists."""
REFRESH_OPEN = 300.0
"""Seconds after which a silent room is asked for its race: the frame that mattered may have been lost."""
REFRESH_FINISHED = 60.0
REFRESH_MISSED = 2.0
"""Seconds until a room is asked where a frame was unreadable, or one that should have come did not."""


class RoomWatch:
    """Watches one room until its race is settled or over and everything is said.

    Args:
        name: the race, `category/slug`.
        site: for its address, and to ask whether a room that cannot be joined still exists.
        tokens: the bot's token.
        lifecycle: what to do at each stage.
        call: runs ledger work.
        clock: the current time, with its offset.
        quiet: seconds for which a result must not change before it is announced.
        info: what may be done with `info_bot`.
        texts: the wording.
        conversation: what to do with chat lines; None where commands are off.
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
        conversation: Conversation | None,
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
        self._sender = OutboxSender(name, self._ledger, call, clock, OutboxProtocol(name, info, texts))
        self._conversation = conversation
        self._work = asyncio.Event()
        self._noted = False
        self._notices: deque[Notice] = deque()
        """What is still to be followed: a connection may be lost in the middle of it."""
        self._taking = asyncio.Lock()
        self._reconnect = asyncio.Event()

    def nudge(self) -> None:
        """Tell that the outbox may hold something new for this room."""
        self._work.set()

    def renew(self) -> None:
        """Connect again, with the token that is current now."""
        self._reconnect.set()

    async def run(self) -> None:
        """Stay with the room, through any number of lost connections and passing faults.

        Raises:
            LedgerError: the database is not intact.
        """
        with about(self.name):
            await self._join_until_done()

    async def _join_until_done(self) -> None:
        delays, failures = retry_pauses(), 0
        token = ""
        while True:
            joined_at: float | None = None
            try:
                self._reconnect.clear()  # before the token is taken: it may be renewed during the handshake
                token = await self._tokens.get()
                path = self._room.race.websocket_path if self._room.race else None
                path = path or bot_path(self.name)
                async with join(self._site.url, self.name, path, token, self._site.gate) as socket:
                    joined_at = time.monotonic()
                    log.debug("%s: joined", self.name)
                    metrics.CONNECTIONS.labels(self._category).inc()
                    failures = 0
                    if await self._stay(socket):
                        return
                    continue
            except TokenRefused as error:
                log.info("%s", error)
                self._tokens.refuse(token)
            except ConnectionLost as error:
                log.info("%s", error)
                failures += 1
                if failures >= FAILURES_UNTIL_ASKED and await self._is_gone():
                    await self._call(self._lifecycle.vanished, self.name)
                    return
            except LedgerUnavailable as error:
                log.error("%s; trying again", error)
            except LedgerError:
                raise
            except RacebotError as error:
                log.warning("%s: %s; trying again", self.name, error)
            except Exception:
                log.exception("%s: an unexpected error; joining again", self.name)
            metrics.RECONNECTS.labels(self._category).inc()
            if joined_at is not None and time.monotonic() - joined_at > STEADY_AFTER:
                delays = retry_pauses()
            await asyncio.sleep(next(delays))

    async def _stay(self, socket: RoomSocket) -> bool:
        """Follow the room on one connection; True when there is nothing left to do here."""
        self._sender.on_joined()
        self._work.set()
        tasks = [
            asyncio.create_task(self._listen(socket), name=f"listen {self.name}"),
            asyncio.create_task(self._speak(socket), name=f"speak {self.name}"),
            asyncio.create_task(self._reconnect.wait(), name=f"renew {self.name}"),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return tasks[2] not in done

    async def inform(self, race: Race) -> None:
        """Take in what another source shows of the race; a frame may have been lost."""
        await self._take(self._room.update(race, time.monotonic()))

    async def _listen(self, socket: RoomSocket) -> None:
        """Feed the room's state machine until somebody leaves."""
        refresh_at = time.monotonic() + REFRESH_MISSED  # the site shows the race on connecting
        while True:
            wait = min(refresh_at, self._room.deadline or refresh_at) - time.monotonic()
            event = await socket.receive(max(0.0, wait))
            now = time.monotonic()
            if isinstance(event, RaceUpdate):
                await self._take(self._room.update(event.race, now))
                refresh_at = now + (REFRESH_FINISHED if event.race.status == "finished" else REFRESH_OPEN)
            elif isinstance(event, Unreadable) or (isinstance(event, ChatMessage) and event.is_system):
                # The site announces changes in chat, too; the race's data should follow at once.
                refresh_at = min(refresh_at, now + REFRESH_MISSED)
            elif isinstance(event, Refusal) and event.token_refused and not self._sender.expects_confirmation:
                raise TokenRefused(f"{self.name}: the token is refused")
            if event is not None:
                self._sender.on_event(event)
            if isinstance(event, ChatMessage):
                await self._converse(event)
            await self._take(self._room.tick(now))
            if now >= refresh_at:
                refresh_at = now + REFRESH_FINISHED
                await socket.ask_race()

    async def _converse(self, message: ChatMessage) -> None:
        """Answer a chat line that is a command; no failure to do so may cost more than the answer."""
        race = self._room.race
        if self._conversation is None or race is None or self._room.closed:
            return
        asked = self._conversation.heard(message, race)
        if asked is None:
            return
        try:
            reply = await self._call(self._conversation.reply, asked, message, race)
        except LedgerError as error:
            # Not passed on even where the database is not intact: who only asks must not stop the bot.
            log.error("%s; no answer given", error)
        except Exception:
            log.exception("%s: an unexpected error in answering %s", self.name, asked.command)
        else:
            if reply is not None:
                metrics.COMMANDS.labels(asked.command.value).inc()
                self._sender.answer(reply.text, reply.to)
            self._work.set()

    async def _take(self, notices: Sequence[Notice]) -> None:
        self._notices.extend(notices)
        async with self._taking:
            race = self._room.race
            if race is not None and not self._room.closed:
                if race.status == "finished":
                    await self._call(self._lifecycle.observe, race)
                elif not self._noted:
                    await self._call(self._lifecycle.joined, race)
                self._noted = race.status != "finished"
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

    async def _follow(self, notice: Notice) -> None:
        match notice:
            case ResultStands(result) if self._room.holds(result):
                await self._call(self._lifecycle.result_stands, result)
            case ResultTakenBack():
                await self._call(self._lifecycle.taken_back, self.name)
            case Recorded(race):
                await self._call(lambda: self._lifecycle.observe(race, in_room=True))
            case Over():
                await self._call(self._lifecycle.over, self.name)

    async def _speak(self, socket: RoomSocket) -> None:
        """Deliver the outbox whenever there is work; end when the room needs nobody any more."""
        while True:
            await self._work.wait()
            self._work.clear()
            await self._sender.deliver(socket)
            if await self._may_leave():
                return

    async def _may_leave(self) -> bool:
        # Looked at first: what closes the room also queues its last messages, before they are counted.
        followed = not self._notices and not self._taking.locked()
        closed, race = self._room.closed and followed, self._room.race
        open_rows = await self._call(self._ledger.outbox.open_for, self.name)
        if open_rows or race is None:
            return False
        if closed:
            return True
        ended_at = race.result.ended_at if race.result else None
        return ended_at is not None and self._clock() - ended_at > STAY_AFTER_FINISH

    async def _is_gone(self) -> bool:
        """Whether the site says that there is no such race, rather than nothing at all."""
        if self._site.gate.existence_check.locked():
            return False  # another room asks; this one may after its next failure
        async with self._site.gate.existence_check:
            try:
                await self._site.race(self.name)
            except NotFoundError:
                return True
            except SiteError:
                return False
            return False
