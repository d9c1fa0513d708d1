"""A room watcher's requests to the site, and its pauses between retries."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import httpx
import pytest
from builders import NOON, Streamed, at_once, chat_body, result, seen, settler_of
from pydantic import SecretStr
from worker_support import PATIENCE, until

from racebot.bot.room import answers, case, connection, events as cases, inbox
from racebot.bot.room.answers import CommandHandler, Question
from racebot.bot.room.inbox import RoomContext, WorkerContext
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat import player_answers
from racebot.errors import ConnectionLost, LedgerUnavailable
from racebot.ledger.connection import LedgerThread, P, RunOnLedger, T
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.queries import explain
from racebot.racetime.client import Site, TokenSource
from racebot.racetime.frames import (
    GET_RACE,
    PING,
    PONG,
    Action,
    ChatHistory,
    ChatMessage,
    RaceUpdate,
    SocketEvent,
    Unreadable,
)
from racebot.racetime.payload import Race
from racebot.settings.commands import Command, parse_command
from racebot.settings.model import Settings

NOBODY_LISTENS = "http://127.0.0.1:1"
FINISHED = RaceUpdate(seen(result("r", "ann bo", recorded=False)))
OPEN = RaceUpdate(seen(status="open"))
SYSTEM_MESSAGE = ChatMessage(
    "m1",
    "Cat Owner#1014 changed finish time for Ann#1133 to 0:50:00",
    0.0,
    None,
    "",
    can_moderate=False,
    bot=None,
    is_system=True,
)


def line(text: str, at: float = 0.0) -> ChatMessage:
    """A racer's chat line."""
    facts = {"user_id": "id-ann", "user_name": "Ann", "is_system": False}
    return replace(SYSTEM_MESSAGE, id=text, text=text, posted_at=at, **facts)  # type: ignore[arg-type]


class Socket:
    """A room's socket that brings a few events, then those that are put into it. It answers each ping.

    A socket that is `lost` closes after its events, or once a condition is true.
    """

    def __init__(self, *events: SocketEvent, lost: bool | Callable[[], bool] = False) -> None:
        self.queue: asyncio.Queue[SocketEvent] = asyncio.Queue()
        for event in events:
            self.queue.put_nowait(event)
        self.lost = lost
        self.said: list[str] = []

    async def receive(self, wait: float) -> SocketEvent | None:
        if self.queue.empty() and self.lost:
            if callable(self.lost):
                await until(self.lost)
            raise ConnectionLost("the socket closed")
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                return await self.queue.get()
        return None

    async def send(self, action: Action) -> None:
        if action.name == "message":
            self.said.append(action.data["message"])
        if action == PING:
            self.queue.put_nowait(PONG)


def answer(request: httpx.Request) -> httpx.Response:
    """Answer like a site that issues tokens, but whose races cannot be read."""
    token = {"access_token": "x", "expires_in": 3600}
    return httpx.Response(200, json=token if request.url.path == "/o/token" else {"name": 3})


class Scene:
    """A room of a site, and the sockets that it joins: the given ones, then the last of them again."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.answer = answer
        self.asked: list[str] = []
        self.joins = 0
        self.sockets: Sequence[Socket] = (Socket(),)
        self.joined: Callable[[], None] = lambda: None
        self.site = Site(NOBODY_LISTENS, interval=0, transport=Streamed(self._respond))

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        return self.answer(request)

    @asynccontextmanager
    async def join(self, *_: object) -> AsyncGenerator[Socket]:
        self.joins += 1
        self.joined()
        yield self.sockets[min(self.joins, len(self.sockets)) - 1]

    def room(
        self,
        *sockets: Socket,
        call: RunOnLedger = at_once,
        commands: object = None,
        quiet: float = 1.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> connection.RoomWatch:
        self.sockets = sockets or self.sockets
        self.site.clock = now
        settings = Settings(quiet_seconds=quiet)
        settler = settler_of(self.ledger, "elo-ffa")
        worker = WorkerContext(settings, self.site, settler, call, now, FailureLog(), Mock(), Mock())
        context = RoomContext(
            worker,
            tokens=TokenSource(self.site, "id", SecretStr("secret")),
            work=LedgerWork(settler, now, settings, "id"),
            follow_goal=known,
            commands=cast("CommandHandler | None", commands),
        )
        return connection.RoomWatch("orb/r", context)

    @asynccontextmanager
    async def watching(self, *sockets: Socket, **options: Any) -> AsyncGenerator[connection.RoomWatch]:
        """Watch the room inside the block."""
        room = self.room(*sockets, **options)
        task = asyncio.create_task(room.run())
        try:
            yield room
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def refuse() -> None:
    """Refuse a handshake."""
    raise ConnectionLost("the room's socket cannot be opened")


async def known(_: Race) -> None:
    """Learn nothing new about a race's goal."""


@pytest.fixture
async def scene(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """A scene in which nothing waits long before it is tried again."""
    made = Scene(ledger)
    for module in (connection, inbox):
        monkeypatch.setattr(module, "retry_pauses", lambda: itertools.repeat(0.001))
    monkeypatch.setattr("racebot.racetime.frames.join", made.join)
    async with made.site:
        yield made


def failing(*errors: Exception, on: str = "") -> RunOnLedger:
    """Run work at once, after these failures of all work, or of work with this name."""
    left = iter(errors)

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == (on or getattr(work, "__name__", "")):
            for error in left:
                raise error
        return work(*arguments, **options)

    return call


FULL = LedgerUnavailable("the disk is full")


class Handler:
    """A command handler that records the commands it receives, and answers all in the same way."""

    silent = False

    def __init__(self, compose: Callable[[], str] = str, *, refused: int = 0) -> None:
        self.answered: list[Command] = []
        self.seen: set[str] = set()
        self.compose = compose
        self.refused = refused

    def parse(self, message: ChatMessage, _: object) -> Question | None:
        asked = parse_command(message.text)
        if asked is None or message.id in self.seen:
            return None
        self.seen.add(message.id)
        return Question(asked, message, None, time.monotonic())

    def of_history(self, history: ChatHistory, _: object, *, is_first: bool) -> Sequence[ChatMessage]:
        return [each for each in history.messages if history.sent_at - each.posted_at < answers.EXPIRES]

    def reply(self, question: Question, _: object) -> str:
        if self.refused:
            self.refused -= 1
            raise LedgerUnavailable("the database is locked")
        self.answered.append(question.command.command)
        return self.compose()


async def test_frames_set_the_clock(scene: Scene) -> None:
    """So a wrong clock of this machine silences no announcement."""
    async with scene.watching(Socket(replace(OPEN, sent_at=NOON))):
        await until(lambda: abs(scene.site.clock() - NOON) < timedelta(minutes=5))


async def test_lost_rooms_check_their_existence_one_by_one(scene: Scene) -> None:
    """Requests go out one at a time, so a thousand questions would delay everything else."""

    def gone(request: httpx.Request) -> httpx.Response:
        return answer(request) if request.url.path == "/o/token" else httpx.Response(404)

    scene.answer, scene.joined = gone, refuse
    async with scene.site.gate.existence_check:
        running = asyncio.create_task(scene.room().run())
        await until(lambda: scene.joins > 3 * connection.FAILURES_UNTIL_ASKED)
        assert scene.asked == ["/o/token"]
        assert not running.done()
    async with asyncio.timeout(PATIENCE):
        await running
    assert scene.asked == ["/o/token", "/orb/r/data"]


async def test_an_unreadable_answer_to_a_lost_room_does_not_end_its_watch(scene: Scene) -> None:
    def unreadable_then_gone(request: httpx.Request) -> httpx.Response:
        return answer(request) if scene.asked.count("/orb/r/data") < 2 else httpx.Response(404)

    scene.answer, scene.joined = unreadable_then_gone, refuse
    async with asyncio.timeout(PATIENCE):
        await scene.room().run()
    assert scene.asked.count("/orb/r/data") == 2


async def test_frames_are_read_during_slow_ledger_work_which_is_not_begun_again(scene: Scene) -> None:
    """A site that answers at once must not look dead while the ledger is busy with another event."""
    busy, go_on, began = asyncio.Event(), asyncio.Event(), itertools.count()

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == "carry_out":
            next(began)
            busy.set()
            await go_on.wait()
        return work(*arguments, **options)

    socket = Socket(OPEN, line("!leaderboard"))
    async with scene.watching(socket, call=call, commands=Handler(lambda: "the answer")):
        await busy.wait()
        socket.queue.put_nowait(RaceUpdate(replace(FINISHED.race, version=2)))
        await until(socket.queue.empty)
        go_on.set()
        await until(lambda: "the answer" in socket.said)
        await until(lambda: next(began) > 2)
    assert scene.joins == 1


async def test_unusable_answer_about_the_race_keeps_the_connection(scene: Scene, monkeypatch) -> None:
    """A system message in a finished room triggers an HTTP read, which fails here, and so does its retry."""
    for pause in ("READ_AFTER", "RETRY_PAUSE"):
        monkeypatch.setattr(case, pause, 0.01)
    async with scene.watching(Socket(FINISHED, SYSTEM_MESSAGE)):
        await until(lambda: scene.asked.count("/orb/r/data") > 1)
    assert scene.joins == 1


async def test_a_room_that_stays_unreadable_is_asked_ever_more_rarely(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each request brings another frame that cannot be read."""
    now = 0.0
    asked: list[float] = []

    class UnreadableRoom(Socket):
        async def receive(self, wait: float) -> SocketEvent | None:
            nonlocal now
            await asyncio.sleep(0)
            if not self.queue.empty():
                return self.queue.get_nowait()
            now += wait
            return None

        async def send(self, action: Action) -> None:
            if action == GET_RACE:
                asked.append(now)
                self.queue.put_nowait(Unreadable("race: entrants is not a list"))

    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: now))
    async with scene.watching(UnreadableRoom()):
        await until(lambda: len(asked) >= 20)
    assert asked[:4] == [2, 4, 8, 16]
    assert asked[19] - asked[18] == 60
    assert len([text for text in caplog.messages if "unreadable" in text]) == 1


@pytest.mark.parametrize(
    ("was_edited", "asked"), [(True, Command.RATING), (False, Command.RATING), (True, Command.NEED)]
)
async def test_an_answer_about_the_race_waits_for_an_edit_to_be_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, was_edited: bool, asked: Command
) -> None:
    """Other answers do not wait. Without an edit, old data is answered if the site cannot be read."""
    monkeypatch.setattr(case, "CERTAIN_AFTER", 0.2)
    monkeypatch.setattr(case, "READ_AFTER", 0.01)
    handler, edit = Handler(), [SYSTEM_MESSAGE] * was_edited
    socket = Socket(FINISHED, *edit, line(f"!{asked}"), line("!leaderboard"))
    async with scene.watching(socket, commands=handler) as room:
        await until(lambda: Command.LEADERBOARD in handler.answered)
        if was_edited:
            assert asked not in handler.answered
            edited = seen(result("r", "bo ann", recorded=False), 2)
            room.put(cases.Read(edited, time.monotonic() + 1.0))
        await until(lambda: asked in handler.answered)


async def test_an_explanation_does_not_hold_up_the_ledger_thread(tmp_path, scene: Scene, monkeypatch) -> None:
    threads: list[str] = []
    explain_race = explain.explain_race

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return explain_race(*arguments)

    monkeypatch.setattr(player_answers, "explain_race", noted)
    ledger_thread = LedgerThread()
    scene.ledger = ledger = await ledger_thread.run(Ledger.open, tmp_path / "racebot.db")
    settings = Settings()
    work = LedgerWork(settler_of(ledger, "elo-ffa"), lambda: datetime.now(UTC), settings, "id")
    handler = CommandHandler(work, settings)
    async with scene.watching(Socket(FINISHED, line("!why")), call=ledger_thread.run, commands=handler):
        await until(lambda: threads)
    await ledger_thread.run(ledger.close)
    ledger_thread.close()
    assert not threads[0].startswith("ledger")


async def test_an_answer_in_preparation_outlives_its_connection(scene: Scene) -> None:
    """The socket drops while the bot composes the answer, and the next one brings the answer."""
    drafting, go_on = threading.Event(), threading.Event()

    def compose() -> str:
        drafting.set()
        assert go_on.wait(PATIENCE)
        return "the answer"

    dropped, kept = Socket(FINISHED, line("!leaderboard"), lost=drafting.is_set), Socket(FINISHED)
    scene.joined = lambda: go_on.set() if scene.joins == 2 else None
    async with scene.watching(dropped, kept, commands=Handler(compose)):
        await until(lambda: "the answer" in kept.said)
    assert dropped.said == []


async def test_an_order_that_the_ledger_cannot_carry_out_yet_is_tried_again_before_later_ones(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program writes to the database, or the disk is full. A later order may be the opposite."""
    monkeypatch.setattr(inbox, "RETRY_COMMAND", 0.001)
    handler = Handler(refused=3)
    async with scene.watching(Socket(OPEN, line("!ratings hide me"), line("!leaderboard")), commands=handler):
        await until(lambda: len(handler.answered) == 2)
    assert handler.answered == [Command.HELP, Command.LEADERBOARD]


@pytest.mark.parametrize("before", [[], ["!rating"], ["hello", "!rating"]], ids=len)
async def test_commands_while_the_connection_was_lost_are_answered_once(
    scene: Scene, before: list[str]
) -> None:
    """Unless the racer has waited for too long."""
    handler, chat = Handler(), [line(text) for text in before]
    late = [line("!odds", 2.0), line("!leaderboard", 10.5)]
    history = ChatHistory((*chat, *late), sent_at=10.0 + answers.EXPIRES)
    first = Socket(OPEN, ChatHistory(tuple(chat), sent_at=1.0), lost=True)
    third = Socket(OPEN, history, history, line("!vs bo"))
    async with scene.watching(first, Socket(OPEN, history, lost=True), third, commands=handler):
        await until(lambda: Command.VERSUS in handler.answered)
    rating = [Command.RATING] if "!rating" in before else []
    assert handler.answered == [*rating, Command.LEADERBOARD, Command.VERSUS]


async def test_an_edit_that_only_a_poll_shows_is_announced_after_the_quiet_time(scene: Scene) -> None:
    """The socket brings nothing that could wake the room."""
    messages = scene.ledger.messages
    async with scene.watching(Socket(FINISHED), quiet=0.1, now=lambda: NOON) as room:
        await until(lambda: len(messages.of("orb/r")) == 1)
        room.put(cases.Read(seen(result("r", "bo ann", recorded=False)), time.monotonic()))
        await until(lambda: len(messages.of("orb/r")) == 2)


async def test_a_result_that_was_replaced_while_the_disk_was_full_is_not_announced(scene: Scene) -> None:
    socket = Socket(FINISHED)
    assert FINISHED.race.result is not None
    replaced = cases.Announce(FINISHED.race.result)

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        effects = arguments[-1] if getattr(work, "__name__", "") == "carry_out" else ()
        if isinstance(effects, tuple) and replaced in effects:
            socket.queue.put_nowait(RaceUpdate(seen(result("r", "bo ann", recorded=False), 2)))
            raise FULL
        return work(*arguments, **options)

    async with scene.watching(socket, call=call, quiet=0.0, now=lambda: NOON):
        await until(lambda: scene.ledger.messages.of("orb/r"))
    (row,) = scene.ledger.messages.of("orb/r")
    text = chat_body(row).text
    assert text.index("Bo") < text.index("Ann")


async def test_an_event_that_fails_unexpectedly_is_reported_and_commands_are_still_answered(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    handler, call = Handler(), failing(ZeroDivisionError("a fault"), on="carry_out")
    async with scene.watching(Socket(OPEN, line("!leaderboard")), call=call, commands=handler):
        await until(lambda: handler.answered)
    assert any("ZeroDivisionError" in text for text in caplog.messages)
