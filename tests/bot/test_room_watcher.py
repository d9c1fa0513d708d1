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
from builders import (
    NOON,
    Streamed,
    at_once,
    chat_body,
    entrant_document,
    race_document,
    result,
    seen,
)
from pydantic import SecretStr
from worker_support import PATIENCE, until

from racebot.bot import command_queue, room_watcher
from racebot.bot.command_handler import CommandHandler, Reply
from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.answers import why
from racebot.chat.answers.answers import Answers
from racebot.chat.commands import Command, CommandNames, ParsedCommand
from racebot.chat.info_box import InfoPolicy
from racebot.chat.rate_limit import Limiter
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.errors import ConnectionLost, LedgerUnavailable
from racebot.ledger.store import Ledger
from racebot.ledger.thread import LedgerThread, P, RunOnLedger, T
from racebot.queries import explain
from racebot.queries.listing import Listing
from racebot.racetime import actions
from racebot.racetime.actions import Action
from racebot.racetime.client import Credentials, Site
from racebot.racetime.frames import ChatHistory, ChatMessage, Event, RaceUpdate, Unreadable
from racebot.racetime.payload import parse_race
from racebot.racetime.tokens import TokenSource
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.telemetry.troubles import Troubles

NOBODY_LISTENS = "http://127.0.0.1:1"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(NOBODY_LISTENS, interval=0, transport=Streamed(answer)) as site:
        yield site


async def test_lost_rooms_check_their_existence_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go out one at a time, so a thousand questions would delay everything else."""
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
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
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
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


async def test_ledger_work_cut_off_by_a_lost_connection_is_repeated(ledger: Ledger) -> None:
    race = seen(result("r", "ann bo"))
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        begun.set()
        await go_on.wait()
        return work(*arguments, **options)

    async with Site(NOBODY_LISTENS, interval=0) as site:
        room = watching(ledger, site, call)
        taking = asyncio.create_task(room.on_listing(race))
        await begun.wait()
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert ledger.race(race.name) is None
        go_on.set()
        await room.on_listing(race)
    assert ledger.race(race.name) is not None


async def test_ledger_work_refused_by_a_full_disk_is_repeated(ledger: Ledger) -> None:
    race = seen(result("r", "ann bo"))
    full = iter([True, True, False])

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if next(full, False):
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    async with Site(NOBODY_LISTENS, interval=0) as site:
        room = watching(ledger, site, call)
        for _ in range(2):
            with pytest.raises(LedgerUnavailable):
                await room.on_listing(race)
        await room.on_listing(race)
    assert ledger.race(race.name) is not None


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

    monkeypatch.setattr(room_watcher, "join", join)
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

    monkeypatch.setattr(room_watcher, "join", join)
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
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

    monkeypatch.setattr(room_watcher, "time", SimpleNamespace(monotonic=lambda: now))
    connect(monkeypatch, UnreadableRoom)
    async with running(watching(ledger, site, at_once)):
        await until(lambda: len(asked) >= 20)
    assert asked[:4] == [2, 4, 8, 16]
    assert asked[19] - asked[18] == 60
    assert len([line for line in caplog.messages if "unreadable" in line]) == 1


@pytest.mark.parametrize("was_edited", [True, False])
async def test_an_announced_edit_that_cannot_be_read_silences_answers_about_the_race(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, *, was_edited: bool
) -> None:
    """The bot answers, since old data is no sign of an edit."""
    questions = _Questions()
    events: list[Event] = [RaceUpdate(seen(result("r", "ann bo", recorded=False)))]
    events += [SYSTEM_MESSAGE] * was_edited
    events += [_line("!rating"), _line("!leaderboard")]

    connect(monkeypatch, lambda: SilentSocket(events))
    room = watching(ledger, site, at_once, cast(CommandHandler, questions))
    async with running(room):
        await until(lambda: Command.LEADERBOARD in questions.answered)
    expected = [Command.LEADERBOARD] if was_edited else [Command.RATING, Command.LEADERBOARD]
    assert questions.answered == expected


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
        Lifecycle(settler, lambda: datetime.now(UTC)),
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
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
    drafting, go_on = threading.Event(), threading.Event()

    def compose() -> str:
        drafting.set()
        assert go_on.wait(PATIENCE)
        return "the answer"

    class Slow(_Questions):
        def reply(self, asked: ParsedCommand, *_: object) -> Reply:  # type: ignore[override]
            return Reply(compose, None)

        def is_repeat(self, *_: object) -> bool:
            return False

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
    async with running(watching(ledger, site, at_once, cast(CommandHandler, Slow()))):
        await until(lambda: "the answer" in kept.said)
    assert dropped.said == []


async def test_an_order_that_the_ledger_cannot_carry_out_yet_is_tried_again_before_later_ones(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program writes to the database, or the disk is full. A later order may be the opposite."""
    monkeypatch.setattr(command_queue, "RETRY_PAUSE", 0.001)
    locked = iter([True, True, True])

    class Locked(_Questions):
        def reply(self, asked: ParsedCommand, *_: object) -> None:
            if next(locked, False):
                raise LedgerUnavailable("the database is locked")
            super().reply(asked)

    questions = Locked()
    given = [_line("!ratings hide me"), _line("!leaderboard")]
    connect(monkeypatch, lambda: SilentSocket([RaceUpdate(seen(status="open")), *given]))
    async with running(watching(ledger, site, at_once, cast(CommandHandler, questions))):
        await until(lambda: len(questions.answered) == 2)
    assert questions.answered == [Command.HELP, Command.LEADERBOARD]


async def test_a_command_outlives_a_ledger_that_cannot_store_the_race_yet(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the answer, the race is read again and stored. A locked database may need long to say so."""
    limited: set[asyncio.Task[Any] | None] = set()
    was_limited = []
    timeout = asyncio.timeout

    @asynccontextmanager
    async def noted_timeout(delay: float | None) -> AsyncGenerator[None]:
        async with timeout(delay):
            limited.add(asyncio.current_task())
            try:
                yield
            finally:
                limited.discard(asyncio.current_task())

    monkeypatch.setattr(asyncio, "timeout", noted_timeout)
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
    entrants = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]
    ended = race_document("r", entrants)
    locked = iter([False, True])
    questions = _Questions()

    def answer(request: httpx.Request) -> httpx.Response:
        token = {"access_token": "x", "expires_in": 3600}
        return httpx.Response(200, json=token if request.url.path == "/o/token" else ended)

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == "observe" and next(locked, False):
            was_limited.append(asyncio.current_task() in limited)
            raise LedgerUnavailable("the database is locked")
        return work(*arguments, **options)

    connections = iter([SilentSocket([RaceUpdate(parse_race(ended)), _line("!rating")])])
    connect(monkeypatch, lambda: next(connections, SilentSocket()))
    async with Site(NOBODY_LISTENS, interval=0, transport=Streamed(answer)) as site:
        room = watching(ledger, site, call, cast(CommandHandler, questions), now=lambda: NOON)
        async with running(room):
            await until(lambda: questions.answered)
    assert questions.answered == [Command.RATING]
    assert was_limited == [False]


@pytest.mark.parametrize("before", [[], ["!rating"], ["hello", "!rating"]], ids=len)
async def test_commands_given_while_the_connection_was_lost_are_answered_once(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch, before: list[str]
) -> None:
    """Unless the racer has waited for too long."""
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
    questions = _Questions()
    shown, chat = RaceUpdate(seen(status="open")), [_line(text) for text in before]
    late = [replace(_line("!odds"), posted_at=2.0), replace(_line("!leaderboard"), posted_at=10.5)]
    history = ChatHistory((*chat, *late), sent_at=10.0 + command_queue.EXPIRES)

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
        await until(lambda: len(ledger.outbox.of("orb/r")) == 1)
        await room.on_read(after, time.monotonic())
        await until(lambda: len(ledger.outbox.of("orb/r")) == 2)


async def test_chat_lines_in_a_finished_room_cause_no_ledger_work(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = SilentSocket([RaceUpdate(seen(result("r", "ann bo", recorded=False))), *[_line("gg")] * 5])
    observed = 0

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        nonlocal observed
        observed += getattr(work, "__name__", "") == "observe"
        return work(*arguments, **options)

    connect(monkeypatch, lambda: socket)
    async with running(watching(ledger, site, call)):
        await until(lambda: not socket.events)
    assert observed == 1


async def test_a_result_that_was_replaced_while_the_disk_was_full_is_not_announced(
    ledger: Ledger, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [RaceUpdate(seen(result("r", order, recorded=False))) for order in ("ann bo", "bo ann")]
    connections = iter(frames)
    is_full = iter([True])

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if getattr(work, "__name__", "") == "result_stands" and next(is_full, False):
            raise LedgerUnavailable("the disk is full")
        return work(*arguments, **options)

    connect(monkeypatch, lambda: SilentSocket([frame] if (frame := next(connections, None)) else []))
    monkeypatch.setattr(room_watcher, "retry_pauses", lambda: itertools.repeat(0.001))
    async with running(watching(ledger, site, call, quiet=0.0, now=lambda: NOON)):
        await until(lambda: ledger.outbox.of("orb/r"))
    (row,) = ledger.outbox.of("orb/r")
    text = chat_body(row).text
    assert text.index("Bo") < text.index("Ann")


def answer(request: httpx.Request) -> httpx.Response:
    """Answer like a site that issues tokens, but whose races cannot be read."""
    token = {"access_token": "x", "expires_in": 3600}
    return httpx.Response(200, json=token if request.url.path == "/o/token" else {"name": 3})


def connect(monkeypatch: pytest.MonkeyPatch, socket: Callable[[], SilentSocket]) -> None:
    """Let rooms join these sockets."""

    @asynccontextmanager
    async def join(*_: Any) -> AsyncGenerator[SilentSocket]:
        yield socket()

    monkeypatch.setattr(room_watcher, "join", join)


@asynccontextmanager
async def running(room: room_watcher.RoomWatch) -> AsyncGenerator[None]:
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

    def parse(self, message: ChatMessage, _: object) -> ParsedCommand | None:
        if message.id in self.seen:
            return None
        self.seen.add(message.id)
        return CommandNames().parse(message.text)

    def is_order(self, _: ParsedCommand) -> bool:
        return False

    def reply(self, asked: ParsedCommand, *_: object) -> None:
        self.answered.append(asked.command)


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


def watching(
    ledger: Ledger,
    site: Site,
    call: RunOnLedger,
    commands: CommandHandler | None = None,
    *,
    quiet: float = 1.0,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> room_watcher.RoomWatch:
    return room_watcher.RoomWatch(
        "orb/r",
        site=site,
        tokens=TokenSource(site, Credentials("id", SecretStr("secret"))),
        lifecycle=Lifecycle(Settler(ledger, Plans(LeaderboardPlan("elo-ffa"))), now),
        call=call,
        clock=now,
        quiet=quiet,
        info=InfoPolicy.NEVER,
        texts=DEFAULT_TEXTS,
        commands=commands,
        troubles=Troubles(),
    )
