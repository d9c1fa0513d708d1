"""The one consumer of everything that happens about a room: only it changes the case, event after event."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from racebot.bot.failures import Backoff, retry_pauses
from racebot.bot.room import events
from racebot.bot.room.answers import EXPIRES, CommandHandler, Question
from racebot.bot.room.case import Case, step
from racebot.bot.room.delivery import OutboxDelivery
from racebot.bot.room.events import Act, Announce, Effect, Moment, Signal
from racebot.bot.room.ledger_work import LedgerWork
from racebot.errors import LedgerError, LedgerUnavailable, SiteError
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.outbox import CaseRow
from racebot.logs import FailureLog
from racebot.racetime.client import Site, TokenSource
from racebot.racetime.frames import ChatHistory, ChatMessage, RaceUpdate, Unreadable
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)

RETRY_COMMAND = 5.0  # seconds until a question is tried again that the ledger could not carry out
ORDERS_WAIT = 0.5  # seconds that orders wait while the site is asked about a race's goal

RoomEvent = events.CaseEvent | ChatMessage | ChatHistory
"""An event that the inbox handles."""


@dataclass(frozen=True)
class WorkerContext:
    """What the categories of one worker share.

    `alive` is called with the category after each look that worked.
    """

    settings: Settings
    site: Site
    settler: Settler
    call: RunOnLedger
    clock: Callable[[], datetime]
    failures: FailureLog
    backoff: Backoff
    alive: Callable[[str], None]
    on_race: Callable[[Race], object] = lambda _: None


@dataclass(frozen=True)
class RoomContext:
    """Shared by the rooms of one category.

    `tokens` is None in a category that is only read, `commands` if commands are off. `follow_goal` is called
    before the ledger uses a race's goal: a new one may be an old one that the site renamed. It raises
    `SiteError` if the site cannot say.
    """

    worker: WorkerContext
    tokens: TokenSource | None
    work: LedgerWork
    follow_goal: Callable[[Race], Awaitable[None]]
    commands: CommandHandler | None = None

    def now(self) -> Moment:
        """Return the current time."""
        return Moment(time.monotonic(), self.worker.site.clock())


@dataclass
class Inbox:
    """One room's events, its case, and the work that both lead to.

    `changed` is called whenever the outbox may hold new messages, or the room may be done.
    """

    name: str
    context: RoomContext
    delivery: OutboxDelivery
    changed: Callable[[], None]
    _events: deque[RoomEvent] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _case: Case | None = None
    _stored: CaseRow | None = None
    """The row of the case as the ledger has it."""
    _effects: list[Effect] = field(default_factory=list)
    """Effects to carry out. They are kept while the ledger is unavailable."""
    _retry_at: float | None = None
    _pauses: Iterator[float] = field(default_factory=retry_pauses)
    _orders: deque[Question] = field(default_factory=deque)
    _questions: deque[Question] = field(default_factory=deque)
    _saw_history: bool = False
    _history: ChatHistory | None = None
    """A chat history that came before the race was shown."""
    _reading: asyncio.Task[None] | None = None
    _read_again: bool = False
    _following: asyncio.Task[None] | None = None
    _answering: asyncio.Task[None] | None = None
    _is_busy: bool = False

    @property
    def race(self) -> Race | None:
        """Return the race as it was shown last."""
        return None if self._case is None else self._case.shown

    def put(self, event: RoomEvent) -> None:
        """Queue an event. A frame with the race replaces one that waits right before it."""
        if isinstance(event, events.Frame) and self._events and isinstance(self._events[-1], events.Frame):
            self._events.pop()
        self._events.append(event)
        self._came.set()

    def on_frame(self, event: object) -> None:
        """Queue what matters of a frame of the room's socket."""
        match event:
            case RaceUpdate(race):
                self.put(events.Frame(race))
            case Unreadable() | ChatMessage(is_system=True):
                self.put(Signal.SYSTEM_LINE)
            case ChatMessage() | ChatHistory() if self.context.commands is not None:
                self.put(event)

    def may_leave(self) -> bool:
        """Return whether nothing is left to do in the room, apart from its outbox."""
        busy = self._is_busy or self._is_unstored()
        idle = not (busy or self._events or self._orders or self._questions or self._answering)
        return idle and self._case is not None and self._case.may_leave(self.context.now())

    async def run(self) -> None:
        """Handle events until the site no longer has the race, or the database is damaged."""
        try:
            await self._load()
            is_gone = False
            while not is_gone or self._is_unstored():
                event = await self._next_event()
                self._is_busy = True
                is_gone = is_gone or event is Signal.MISSING
                try:
                    await self._handle(event)
                except LedgerUnavailable as error:
                    self._failed(error)
                except LedgerError:
                    raise
                except Exception as error:
                    # An event that cannot be handled is lost, but not the room.
                    self._failed(error)
                    self._effects.clear()
                    if self._case is not None:
                        self._case = replace(self._case, row=self._stored)
                finally:
                    self._is_busy = False
                self.changed()
        finally:
            for task in (self._reading, self._following, self._answering):
                if task is not None:
                    task.cancel()

    async def _load(self) -> None:
        while self._case is None:
            try:
                self._case = await self.context.worker.call(self.context.work.load, self.name, watched=True)
                self._stored = self._case.row
            except LedgerUnavailable as error:
                self._failed(error)
                await asyncio.sleep(next(self._pauses))

    async def _next_event(self) -> RoomEvent:
        """Return the next event, or a tick once the case, a retry or a command is due."""
        while not self._events:
            self._came.clear()
            due = [self._case.deadline if self._case else None, self._retry_at]
            deadline = min((at for at in due if at is not None), default=None)
            try:
                async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
                    await self._came.wait()
            except TimeoutError:
                return Signal.TICK
        return self._events.popleft()

    async def _handle(self, event: RoomEvent) -> None:
        match event:
            case ChatMessage():
                self._ask(event)
            case ChatHistory():
                self._on_history(event)
            case _:
                if isinstance(event, (events.Frame, events.Read, events.Listed)):
                    await self._follow_goal(event.race)
                self._step(event)
                if self._history is not None and self.race is not None:
                    self._on_history(self._history)
        await self._carry_out()
        await self._obey()
        self._answer_next()

    async def _follow_goal(self, race: Race) -> None:
        """Wait until the race's goal is known, and carry out the orders that come meanwhile."""
        assert self._case is not None  # noqa: S101 - loaded before the first event
        self._following = asyncio.create_task(self._learn_goal(race), name=f"goal of {self.name}")
        while (await asyncio.wait({self._following}, timeout=ORDERS_WAIT))[1]:
            if self._case.shown is None:
                self._case = replace(self._case, shown=race)
                self.context.worker.on_race(race)
            for said in [each for each in self._events if isinstance(each, ChatMessage | ChatHistory)]:
                self._events.remove(said)
                self._ask(said) if isinstance(said, ChatMessage) else self._on_history(said)
            try:
                await self._carry_out()
                await self._obey()
            except LedgerUnavailable as error:
                self._failed(error)
        await self._following

    async def _learn_goal(self, race: Race) -> None:
        source = f"{self.name} goal"
        for pause in retry_pauses():
            try:
                await self.context.follow_goal(race)
            except (LedgerUnavailable, SiteError) as error:
                self.context.worker.failures.raised(source, error, level=logging.ERROR)
                await asyncio.sleep(pause)
            else:
                self.context.worker.failures.recovered(source)
                return

    def _step(self, event: events.CaseEvent) -> None:
        assert self._case is not None  # noqa: S101 - loaded before the first event
        before = self._case.shown
        self._case, effects = step(self._case, event, self.context.now())
        if Act.READ in effects:
            self._read()
        self._effects += [effect for effect in effects if effect is not Act.READ]
        if self._case.shown is not None and (effects or self._case.shown is not before):
            self.context.worker.on_race(self._case.shown)

    async def _carry_out(self) -> None:
        """Store the case's row, and carry out the effects that still hold."""
        case = self._case
        if case is None or not self._is_unstored():
            self._retry_at = None
            return
        if self._retry_at is not None and time.monotonic() < self._retry_at:
            return
        self._effects = [e for e in self._effects if not isinstance(e, Announce) or case.holds(e.result)]
        await self.context.worker.call(self.context.work.carry_out, case, self._stored, tuple(self._effects))
        self._stored = case.row
        self._effects.clear()
        self._retry_at, self._pauses = None, retry_pauses()
        self.context.worker.failures.recovered(f"{self.name} inbox")

    def _is_unstored(self) -> bool:
        """Return whether the ledger has yet to store or carry out anything."""
        return self._case is not None and (bool(self._effects) or self._case.row != self._stored)

    def _failed(self, error: Exception) -> None:
        """Log a failure, and plan to carry out again what it left."""
        self.context.worker.failures.raised(f"{self.name} inbox", error, level=logging.ERROR)
        self._retry_at = time.monotonic() + next(self._pauses)

    # Reads over HTTP

    def _read(self) -> None:
        """Read the race over HTTP, or once more after the read that is under way."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_race(), name=f"read {self.name}")
        else:
            self._read_again = True

    async def _read_race(self) -> None:
        source = f"{self.name} read"
        while True:
            self._read_again = False
            event: events.CaseEvent = Signal.READ_FAILED
            try:
                event = events.Read(*await self.context.worker.site.race(self.name))
            except Exception as error:
                self.context.worker.failures.failed(source, str(error) or repr(error))
            else:
                self.context.worker.failures.recovered(source)
            self.put(event)
            if not self._read_again:
                return

    # Commands

    def _ask(self, message: ChatMessage) -> None:
        handler, case = self.context.commands, self._case
        if handler is None or case is None or case.shown is None or case.is_recorded:
            return
        question = handler.parse(message, case.shown)
        if question is not None:
            (self._orders if question.order else self._questions).append(question)

    def _on_history(self, history: ChatHistory) -> None:
        handler, case = self.context.commands, self._case
        if handler is None or case is None:
            return
        self._history = history if case.shown is None else None
        if self._history is not None:
            return  # until the race is shown
        ordered_at = case.row.ordered_at if case.row else None
        for line in handler.of_history(history, ordered_at, is_first=not self._saw_history):
            self._ask(line)
        self._saw_history = True

    async def _obey(self) -> None:
        """Carry out the orders, in turn. None waits for a read, and none is lost while the ledger is busy."""
        work, call = self.context.work, self.context.worker.call
        while self._orders and not self._is_unstored():
            question = self._orders[0]
            with self._survived("the order is not carried out"):
                await self._answer(question)
                if question.order and (event := question.order.for_case) is not None:
                    self._step(event)
                    await self._carry_out()
                if question.order and question.order.decides:
                    await call(work.follow_order, self.name)
            self._orders.popleft()

    def _answer_next(self) -> None:
        """Answer the first question that is ready, one at a time.

        One about the race waits for a read that shows all edits that were announced.
        """
        now, case = time.monotonic(), self._case
        while self._answering is None and case is not None:
            for late in [question for question in self._questions if now >= question.asked_at + EXPIRES]:
                log.warning("%s: a command could not be answered in time", self.name)
                self._questions.remove(late)
            ready = next((q for q in self._questions if not (q.is_about_race and case.is_unsure)), None)
            if ready is None:
                return
            self._questions.remove(ready)
            self._answering = asyncio.create_task(self._answer_alone(ready), name=f"answer {self.name}")

    async def _answer(self, question: Question) -> None:
        """Carry out an order or answer a question, and queue what to say."""
        handler, race, case = self.context.commands, self.race, self._case
        if handler is None or case is None or race is None or race.recorded:
            return
        if question.order:
            reply = await self.context.worker.call(handler.orders.carry_out, question.order, race)
        elif case.is_quiet:
            return
        else:
            # Explaining a large race is slow, and must not block the ledger's thread.
            reply = await asyncio.to_thread(handler.reply, question, race)
        if reply and not handler.silent:
            self.delivery.answer(reply, question.message.id)

    async def _answer_alone(self, question: Question) -> None:
        """Answer a question. If that fails, only this answer is lost."""
        try:
            with self._survived("no answer given"):
                await self._answer(question)
        except LedgerUnavailable as error:
            log.warning("%s; trying again", error)
            await asyncio.sleep(RETRY_COMMAND)
            self._questions.appendleft(question)
        finally:
            self._answering = None
            self.put(Signal.TICK)

    @contextmanager
    def _survived(self, loss: str) -> Iterator[None]:
        """Log an error and what is lost with it, unless the ledger is only unavailable."""
        try:
            yield
        except LedgerUnavailable:
            raise
        except LedgerError as error:
            # A damaged database stops the bot elsewhere; a command must not.
            log.error("%s; %s", error, loss)
        except Exception:
            log.exception("%s: unexpected error; %s", self.name, loss)
