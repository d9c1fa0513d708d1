"""A room watcher's requests to the site, and its pauses between retries."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from builders import NOON, Streamed, at_once, chat_body, result, seen
from pydantic import SecretStr
from worker_support import PATIENCE, until

from racebot.bot.room import answers, case as cases, connection, inbox
from racebot.bot.room.answers import CommandHandler, Question, Reply
from racebot.bot.room.inbox import RoomContext
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat.answers import why
from racebot.chat.answers.answers import Answers
from racebot.chat.commands import Command, CommandNames
from racebot.chat.info_box import InfoPolicy
from racebot.chat.rate_limit import Limiter
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.errors import ConnectionLost, LedgerUnavailable
from racebot.ledger.connection import LedgerThread, P, RunOnLedger, T
from racebot.ledger.store import Ledger
from racebot.queries import explain
from racebot.queries.listing import Listing
from racebot.racetime import actions
from racebot.racetime.actions import Action
from racebot.racetime.client import Credentials, Site, SiteClock, TokenSource
from racebot.racetime.frames import PONG, ChatHistory, ChatMessage, Event, RaceUpdate, Unreadable
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.telemetry.failure_log import FailureLog

NOBODY_LISTENS = "http://127.0.0.1:1"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(NOBODY_LISTENS, interval=0, transport=Streamed(answer)) as site:
        yield site


async def test_lost_rooms_check_their_existence_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go out one at a time, so a thousand questions would delay everything else."""
    short_pauses(monkeypatch)
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/o/token":
            return httpx.Response(200, json={"access_token": "x", "expires_in": 3600})
        asked.append(request.url.path)
        return httpx.Response(404)

    with Ledger.open(tmp_path / "ledger.db") as ledger:
        async with Site(NOBODY_LISTENS, interval=0, transport=Streamed(answer)) as site:
            room = watching(ledger, site, at_once)
            async with site.gate.existence_check:
                running = asyncio.create_task(room.run())
                await asyncio.sleep(0.3)
                assert asked == []
                assert not running.done()
            async with asyncio.timeout(PATIENCE):
                await running
    assert asked == ["/orb/r/data"]


async def test_an_unreadable_answer_to_a_lost_room_does_not_end_its_watch(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_pauses(monkeypatch)
    asked = itertools.count()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/o/token":
            return httpx.Response(200, json={"access_token": "x", "expires_in": 3600})
        return httpx.Response(200, json={"name": 3}) if next(asked) == 0 else httpx.Response(404)

    async with (
        Site(NOBODY_LISTENS, interval=0, transport=Streamed(answer)) as site,
        asyncio.timeout(PATIENCE),
    ):
        await watching(ledger, site, at_once).run()
    assert next(asked) > 1


async def test_slow_ledger_work_neither_ends_a_connection_nor_is_begun_again(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site that answers at once must not look dead while the ledger is busy with another event."""
    monkeypatch.setattr("racebot.bot.room.delivery.ANSWER_WITHIN", 0.2)
    busy, go_on, began = asyncio.Event(), asyncio.Event(), itertools.count()

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == "carry_out":
            next(began)
            busy.set()
            await go_on.wait()
        return work(*arguments, **options)

    joins = itertools.count()
    socket = AnsweringSocket([RaceUpdate(seen(status="open")), _line("!leaderboard")])

    def connected() -> SilentSocket:
        next(joins)
        return socket

    connect(monkeypatch, connected)
    handler = cast(CommandHandler, Answering("the answer"))
    async with running(watching(ledger, site, call, handler)):
        await busy.wait()
        room = seen(result("r", "ann bo", recorded=False), 2)
        socket.queue.put_nowait(RaceUpdate(room))
        await asyncio.sleep(0.5)
        go_on.set()
        await until(lambda: "the answer" in socket.said)
        await until(lambda: next(began) > 2)
    assert next(joins) == 1


async def test_ledger_work_refused_by_a_full_disk_is_repeated(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_pauses(monkeypatch)
    full = iter([True, True, True, False])

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if next(full, False):
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    race = seen(result("r", "ann bo"))
    connect(monkeypatch, SilentSocket)
    room = watching(ledger, site, call)
    async with running(room):
        room.put(cases.Listed(race))
        await until(lambda: ledger.races.get(race.name))


async def test_a_token_that_is_renewed_during_the_handshake_is_not_missed(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: asyncio.Queue[str] = asyncio.Queue()

    @asynccontextmanager
    async def join(*arguments: Any) -> AsyncGenerator[SilentSocket]:
        if joined.empty():
            room.renew()
        joined.put_nowait(arguments[3])
        yield SilentSocket()

    monkeypatch.setattr(connection, "join", join)
    room = watching(ledger, site, at_once)
    async with running(room):
        await until(lambda: joined.qsize() == 2)


async def test_unusable_answer_about_the_race_keeps_the_connection(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system message in a finished room triggers an HTTP read, which fails here."""
    joins = itertools.count()
    paths: list[str] = []
    events: list[Event] = [RaceUpdate(seen(result("r", "ann bo", recorded=False))), SYSTEM_MESSAGE]

    @asynccontextmanager
    async def join(*_: Any) -> AsyncGenerator[SilentSocket]:
        next(joins)
        yield SilentSocket(events)

    def noted(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return answer(request)

    monkeypatch.setattr(connection, "join", join)
    short_pauses(monkeypatch)
    async with (
        Site(NOBODY_LISTENS, interval=0, transport=Streamed(noted)) as site,
        running(watching(ledger, site, at_once)),
    ):
        await until(lambda: "/orb/r/data" in paths)
        await asyncio.sleep(0.1)
    assert next(joins) == 1


async def test_a_room_that_stays_unreadable_is_asked_ever_more_rarely(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each request brings another frame that cannot be read."""
    now = 0.0
    asked: list[float] = []

    class UnreadableRoom(SilentSocket):
        async def receive(self, wait: float) -> Event | None:
            nonlocal now
            await asyncio.sleep(0)
            if self.events:
                return self.events.pop(0)
            now += wait
            return None

        async def send(self, action: Action) -> None:
            if action == actions.GET_RACE:
                asked.append(now)
                self.events.append(Unreadable("race: entrants is not a list"))

    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: now))
    connect(monkeypatch, UnreadableRoom)
    async with running(watching(ledger, site, at_once)):
        await until(lambda: len(asked) >= 20)
    assert asked[:4] == [2, 4, 8, 16]
    assert asked[19] - asked[18] == 60
    assert len([line for line in caplog.messages if "unreadable" in line]) == 1


@pytest.mark.parametrize("was_edited", [True, False])
async def test_an_answer_about_the_race_waits_for_an_edit_to_be_read(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, *, was_edited: bool
) -> None:
    """Other answers do not wait. Without an edit, old data is answered if the site cannot be read."""
    monkeypatch.setattr(cases, "CERTAIN_AFTER", 0.2)
    monkeypatch.setattr(cases, "READ_AFTER", 0.01)
    questions = _Questions()
    events: list[Event] = [RaceUpdate(seen(result("r", "ann bo", recorded=False)))]
    events += [SYSTEM_MESSAGE] * was_edited
    events += [_line("!rating"), _line("!leaderboard")]
    connect(monkeypatch, lambda: SilentSocket(events))
    room = watching(ledger, site, at_once, cast(CommandHandler, questions))
    async with running(room):
        await until(lambda: Command.LEADERBOARD in questions.answered)
        if was_edited:
            assert Command.RATING not in questions.answered
            edited = seen(result("r", "bo ann", recorded=False), 2)
            room.put(cases.Read(edited, time.monotonic() + 1.0))
        await until(lambda: Command.RATING in questions.answered)


async def test_an_explanation_does_not_hold_up_the_ledger_thread(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    explain_race = explain.explain_race

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return explain_race(*arguments)

    connect(
        monkeypatch,
        lambda: SilentSocket([RaceUpdate(seen(result("r", "ann bo", recorded=False))), _line("!why")]),
    )
    monkeypatch.setattr(why, "explain_race", noted)
    ledger_thread = LedgerThread()
    ledger = await ledger_thread.run(Ledger.open, tmp_path / "racebot.db")
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    handler = CommandHandler(
        LedgerWork(settler, lambda: datetime.now(UTC)),
        Answers(settler, DEFAULT_TEXTS, CommandNames(), lambda _: Listing()),
        DEFAULT_TEXTS,
        CommandNames(),
        Limiter(1, 1),
        private=False,
    )
    async with running(watching(ledger, site, ledger_thread.run, handler)):
        await until(lambda: threads)
    await ledger_thread.run(ledger.close)
    ledger_thread.close()
    assert not threads[0].startswith("ledger")


async def test_an_answer_in_preparation_outlives_its_connection(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket drops while the bot composes the answer, and the next one brings the answer."""
    short_pauses(monkeypatch)
    drafting, go_on = threading.Event(), threading.Event()

    def compose() -> str:
        drafting.set()
        assert go_on.wait(PATIENCE)
        return "the answer"

    class DroppedSocket(SilentSocket):
        async def receive(self, wait: float) -> Event | None:
            if self.events:
                return self.events.pop(0)
            await until(drafting.is_set)
            raise ConnectionLost("the socket closed")

    shown = RaceUpdate(seen(result("r", "ann bo", recorded=False)))
    dropped, kept = DroppedSocket([shown, _line("!leaderboard")]), SilentSocket([shown])
    sockets = iter([dropped])

    def connected() -> SilentSocket:
        socket = next(sockets, kept)
        if socket is kept:
            go_on.set()
        return socket

    connect(monkeypatch, connected)
    async with running(watching(ledger, site, at_once, cast(CommandHandler, Answering(compose)))):
        await until(lambda: "the answer" in kept.said)
    assert dropped.said == []


async def test_an_order_that_the_ledger_cannot_carry_out_yet_is_tried_again_before_later_ones(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program writes to the database, or the disk is full. A later order may be the opposite."""
    monkeypatch.setattr(inbox, "RETRY_COMMAND", 0.001)
    locked = iter([True, True, True])

    class Locked(_Questions):
        def reply(self, question: Question, *_: object, **facts: object) -> None:
            if next(locked, False):
                raise LedgerUnavailable("the database is locked")
            super().reply(question)

    questions = Locked()
    given = [_line("!ratings hide me"), _line("!leaderboard")]
    connect(monkeypatch, lambda: SilentSocket([RaceUpdate(seen(status="open")), *given]))
    async with running(watching(ledger, site, at_once, cast(CommandHandler, questions))):
        await until(lambda: len(questions.answered) == 2)
    assert questions.answered == [Command.HELP, Command.LEADERBOARD]


@pytest.mark.parametrize("before", [[], ["!rating"], ["hello", "!rating"]], ids=len)
async def test_commands_given_while_the_connection_was_lost_are_answered_once(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, before: list[str]
) -> None:
    """Unless the racer has waited for too long."""
    short_pauses(monkeypatch)
    questions = _Questions()
    shown, chat = RaceUpdate(seen(status="open")), [_line(text) for text in before]
    late = [replace(_line("!odds"), posted_at=2.0), replace(_line("!leaderboard"), posted_at=10.5)]
    history = ChatHistory((*chat, *late), sent_at=10.0 + answers.EXPIRES)

    class LostSocket(SilentSocket):
        async def receive(self, wait: float) -> Event | None:
            if self.events:
                return self.events.pop(0)
            raise ConnectionLost("the socket closed")

    sockets: Iterator[SilentSocket] = iter(
        [
            LostSocket([shown, ChatHistory(tuple(chat), sent_at=1.0)]),
            LostSocket([shown, history]),
            SilentSocket([shown, history, history, _line("!vs bo")]),
        ]
    )
    connect(monkeypatch, lambda: next(sockets))
    async with running(watching(ledger, site, at_once, cast(CommandHandler, questions))):
        await until(lambda: Command.VERSUS in questions.answered)
    rating = [Command.RATING] if "!rating" in before else []
    assert questions.answered == [*rating, Command.LEADERBOARD, Command.VERSUS]


async def test_an_edit_that_only_a_poll_shows_is_announced_after_the_quiet_time(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket brings nothing that could wake the room."""
    before, after = (seen(result("r", order, recorded=False)) for order in ("ann bo", "bo ann"))

    connect(monkeypatch, lambda: SilentSocket([RaceUpdate(before)]))
    room = watching(ledger, site, at_once, quiet=0.1, now=lambda: NOON)
    async with running(room):
        await until(lambda: len(ledger.messages.of("orb/r")) == 1)
        room.put(cases.Read(after, time.monotonic()))
        await until(lambda: len(ledger.messages.of("orb/r")) == 2)


async def test_chat_lines_in_a_finished_room_cause_no_ledger_work(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = SilentSocket([RaceUpdate(seen(result("r", "ann bo", recorded=False))), *[_line("gg")] * 5])
    observed = 0

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        nonlocal observed
        observed += getattr(work, "__name__", "") == "carry_out"
        return work(*arguments, **options)

    connect(monkeypatch, lambda: socket)
    async with running(watching(ledger, site, call)):
        await until(lambda: not socket.events)
    assert observed == 1


async def test_a_result_that_was_replaced_while_the_disk_was_full_is_not_announced(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        RaceUpdate(seen(result("r", order, recorded=False), version))
        for version, order in enumerate(("ann bo", "bo ann"), start=1)
    )
    socket = AnsweringSocket([first])
    assert first.race.result is not None
    replaced = cases.Announce(first.race.result)
    short_pauses(monkeypatch)

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        effects = arguments[-1] if getattr(work, "__name__", "") == "carry_out" else ()
        if isinstance(effects, tuple) and replaced in effects:
            socket.queue.put_nowait(second)
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    connect(monkeypatch, lambda: socket)
    async with running(watching(ledger, site, call, quiet=0.0, now=lambda: NOON)):
        await until(lambda: ledger.messages.of("orb/r"))
    (row,) = ledger.messages.of("orb/r")
    text = chat_body(row).text
    assert text.index("Bo") < text.index("Ann")


async def test_an_event_that_fails_unexpectedly_is_reported_and_commands_are_still_answered(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = iter([True])

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == "carry_out" and next(broken, False):
            raise ZeroDivisionError("a fault")
        return work(*arguments, **options)

    short_pauses(monkeypatch)
    questions = _Questions()
    connect(monkeypatch, lambda: SilentSocket([RaceUpdate(seen(status="open")), _line("!leaderboard")]))
    async with running(watching(ledger, site, call, cast(CommandHandler, questions))):
        await until(lambda: questions.answered)
    assert any("ZeroDivisionError" in line for line in caplog.messages)


def answer(request: httpx.Request) -> httpx.Response:
    """Answer like a site that issues tokens, but whose races cannot be read."""
    token = {"access_token": "x", "expires_in": 3600}
    return httpx.Response(200, json=token if request.url.path == "/o/token" else {"name": 3})


def connect(monkeypatch: pytest.MonkeyPatch, socket: Callable[[], SilentSocket]) -> None:
    """Let rooms join these sockets."""

    @asynccontextmanager
    async def join(*_: Any) -> AsyncGenerator[SilentSocket]:
        yield socket()

    monkeypatch.setattr(connection, "join", join)


@asynccontextmanager
async def running(room: connection.RoomWatch) -> AsyncGenerator[None]:
    task = asyncio.create_task(room.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Questions:
    """A command handler that records the commands it receives."""

    def __init__(self) -> None:
        self.answered: list[Command] = []
        self.seen: set[str] = set()

    def parse(self, message: ChatMessage, _: object) -> Question | None:
        asked = CommandNames().parse(message.text)
        if asked is None or message.id in self.seen:
            return None
        self.seen.add(message.id)
        return Question(asked, message, False, time.monotonic())

    def of_first_history(self, history: ChatHistory, _: object) -> Sequence[ChatMessage]:
        return answers.recent(history)

    def reply(self, question: Question, *_: object, **facts: object) -> Reply | None:
        self.answered.append(question.asked.command)
        return None


class Answering(_Questions):
    """A command handler that answers everything in the same way."""

    def __init__(self, text: str | Callable[[], str]) -> None:
        super().__init__()
        self.text = text

    def reply(self, question: Question, *_: object, **facts: object) -> Reply:
        text = self.text
        return Reply(text if callable(text) else lambda: str(text), None)

    def is_repeat(self, *_: object) -> bool:
        return False


def _line(text: str) -> ChatMessage:
    """A racer's chat line."""
    return replace(SYSTEM_MESSAGE, id=text, text=text, user_id="id-ann", user_name="Ann", is_system=False)


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


class SilentSocket:
    """A room's socket that brings a few events and then nothing."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = list(events)
        self.said: list[str] = []

    async def receive(self, wait: float) -> Event | None:
        if self.events:
            return self.events.pop(0)
        await asyncio.sleep(wait)
        return None

    async def send(self, action: Action) -> None:
        if action.name == "message":
            self.said.append(action.data["message"])


class AnsweringSocket(SilentSocket):
    """A room's socket that answers each ping at once, and brings more events as they are put into it."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        super().__init__()
        self.queue: asyncio.Queue[Event] = asyncio.Queue()
        for event in events:
            self.queue.put_nowait(event)

    async def receive(self, wait: float) -> Event | None:
        try:
            return await asyncio.wait_for(self.queue.get(), wait)
        except TimeoutError:
            return None

    async def send(self, action: Action) -> None:
        await super().send(action)
        if action == actions.PING:
            self.queue.put_nowait(PONG)


def watching(
    ledger: Ledger,
    site: Site,
    call: RunOnLedger,
    commands: CommandHandler | None = None,
    *,
    quiet: float = 1.0,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> connection.RoomWatch:
    context = RoomContext(
        site=site,
        tokens=TokenSource(site, Credentials("id", SecretStr("secret"))),
        work=LedgerWork(Settler(ledger, Plans(LeaderboardPlan("elo-ffa"))), now, quiet=quiet),
        call=call,
        settings=Settings(info_block=InfoPolicy.NEVER),
        failures=FailureLog(),
        follow_goal=known,
        commands=commands,
    )
    site.clock = SiteClock(now)
    return connection.RoomWatch("orb/r", context)


async def known(_: Race) -> None:
    """Learn nothing new about a race's goal."""


def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait long before it is tried again."""
    for module in (connection, inbox):
        monkeypatch.setattr(module, "retry_pauses", lambda: itertools.repeat(0.001))
