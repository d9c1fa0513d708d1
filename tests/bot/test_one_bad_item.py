"""One bad item never stops a list: it is named, tried again later, and the rest goes on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
from builders import (
    CATEGORY,
    NOON,
    Clock,
    Streamed,
    at_once,
    entrant,
    entrant_document,
    existing,
    listed_document,
    no_pause,
    race_document,
    result,
    seen,
    settler_of,
)
from pydantic import SecretStr
from worker_support import until

from racebot.bot import discord, failures, live_writer, worker
from racebot.bot.category_watcher import CategoryWorker
from racebot.bot.discord import Embed
from racebot.bot.failures import Backoff, Health
from racebot.bot.live_writer import LiveWriter
from racebot.bot.picture_fetcher import PictureFetcher
from racebot.bot.room.delivery import OutboxDelivery
from racebot.bot.room.inbox import WorkerContext
from racebot.bot.room.ledger_work import LedgerWork
from racebot.bot.worker import check_categories
from racebot.errors import CredentialsError, NotFoundError, SiteError
from racebot.ledger.lock import read_heartbeat
from racebot.ledger.outbox import CaseRow, ChatBody, Delivery, Message, MetaBody, OutboxRow, Post
from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.live_file import live_path, read_live
from racebot.logs import FailureLog
from racebot.races.rooms import RoomRule
from racebot.racetime import client
from racebot.racetime.client import Site
from racebot.racetime.payload import Category
from racebot.settings.model import Settings
from racebot.settings.tables import CategorySettings
from racebot.standings.backfill import backfill
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler


class Work(NamedTuple):
    """Work on a list, whether its good items are done, and the names of the bad ones in the log."""

    run: Callable[[], Awaitable[object]]
    went_on: Callable[[], bool]
    names: Sequence[str]


TWO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]
OWNER = {"id": "id-owner", "name": "Owner"}
Answer = httpx.Response | Exception


async def _slow(_: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


def _raise(_: httpx.Request) -> httpx.Response:
    raise RuntimeError("unexpected")


FAULTS: dict[str, Callable[[httpx.Request], Any]] = {
    "404": lambda _: httpx.Response(404),
    "500": lambda _: httpx.Response(500),
    "unreadable": lambda _: httpx.Response(200, json={"name": f"{CATEGORY}/b"}),
    "too large": lambda _: httpx.Response(200, content=b" " * (client.LARGEST_ANSWER + 1)),
    "slow": _slow,
    "raises": _raise,
}


def listed(slug: str) -> dict[str, Any]:
    return listed_document(slug, TWO, recorded=True)


class Bench:
    """A worker's category on a site where races a, b and c ended. `broken` has faults by path and page."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.clock = ledger, clock
        self.failures = FailureLog()
        self.health = Health(ledger.path, [CATEGORY], self.failures, clock)
        self.broken: dict[str, Callable[[httpx.Request], Any]] = {}
        self.listed: list[list[str]] = [[]]
        self.site = Site("http://site", interval=0, attempts=2, transport=Streamed(self), sleep=no_pause)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path, page = request.url.path, int(request.url.params.get("page", 1))
        answer = self.broken.get(path) or self.broken.get(f"{path} {page}")
        if answer is not None:
            found = answer(request)
            return await found if asyncio.iscoroutine(found) else found
        if path.endswith("/races/data"):
            races = [listed(slug) for slug in self.listed[page - 1]]
            return httpx.Response(200, json={"num_pages": len(self.listed), "races": races, "count": 3})
        slug = path.split("/")[2]
        return httpx.Response(200, json=race_document(slug, TWO, recorded=True, opened_by=OWNER))

    def worker(self, rule: RoomRule) -> CategoryWorker:
        league = LeaderboardConfig("elo-ffa", name="League", goals=("Any Orb",), rule=rule)
        self.settler = Settler(self.ledger, RatingRules(league, (league,)))
        context = WorkerContext(
            Settings(commands=False),
            self.site,
            self.settler,
            at_once,
            self.clock,
            self.failures,
            Backoff(self.health.is_fatal, self.failures.recovered),
            self.health.category_seen,
        )
        return CategoryWorker(CategorySettings(slug=CATEGORY), context)

    def stored(self) -> str:
        """Return the races that are stored, in one word."""
        return "".join(slug for slug in "abc" if self.ledger.races.has(f"{CATEGORY}/{slug}"))


async def past_races(bench: Bench) -> Callable[[], Awaitable[None]]:
    bench.listed = [["c", "b", "a"]]
    return bench.worker(RoomRule(opened_by=("Own*",))).past_races


async def pages_of_past_races(bench: Bench) -> Callable[[], Awaitable[None]]:
    bench.listed = [["c"], ["b"], ["a"]]
    bench.broken[f"/{CATEGORY}/races/data 2"] = bench.broken.pop(f"/{CATEGORY}/b/data")
    return bench.worker(RoomRule()).past_races


async def listed_rooms(bench: Bench) -> Callable[[], Awaitable[None]]:
    return bench.worker(RoomRule(rooms=tuple(f"{CATEGORY}/{slug}" for slug in "abc"))).past_races


async def polled_races(bench: Bench) -> Callable[[], Awaitable[None]]:
    worker = bench.worker(RoomRule())

    async def look() -> None:
        for slug in "abc":
            if not bench.ledger.races.has(f"{CATEGORY}/{slug}"):
                bench.ledger.cases.save(CaseRow(f"{CATEGORY}/{slug}", CATEGORY, NOON, NOON))
        await worker.pending()

    return look


async def rooms_of_a_backfill(bench: Bench) -> Callable[[], Awaitable[None]]:
    bench.worker(RoomRule(rooms=tuple(f"{CATEGORY}/{slug}" for slug in "abc")))

    async def fill() -> None:
        def note(problem: str) -> None:
            bench.failures.failed("backfill", problem)

        bench.failures.recovered("backfill")
        args = bench.site, CATEGORY, bench.settler, bench.clock, lambda *_: None, note
        await backfill(*args)
        bench.health.category_seen(CATEGORY)

    return fill


LISTS = [past_races, pages_of_past_races, listed_rooms, polled_races, rooms_of_a_backfill]


@pytest.fixture
async def bench(ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    clock.advance(minutes=1)
    monkeypatch.setattr(failures, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(client, "ANSWER_WITHIN", 0.5)
    monkeypatch.setattr(client, "LARGEST_ANSWER", 2**20)
    made = Bench(ledger, clock)
    async with made.site:
        made.site.set_clock(clock())
        yield made


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("items", LISTS)
async def test_the_rest_of_a_list_goes_on(
    bench: Bench, items: Callable[[Bench], Awaitable[Callable[[], Awaitable[None]]]], fault: str
) -> None:
    bench.broken[f"/{CATEGORY}/b/data"] = FAULTS[fault]
    work = await items(bench)
    await work()
    assert bench.stored() == "ac"
    bench.health.category_seen(CATEGORY)
    named = read_heartbeat(bench.ledger.path).failures
    assert any(f"{CATEGORY}/b" in line or "page 2" in line for line in named), named
    bench.broken.clear()
    await work()
    assert bench.stored() == "abc"


def test_an_item_that_failed_rests_ever_longer() -> None:
    failed, now, tried = list[str](), 0.0, 0
    backoff = Backoff(lambda item, _: failed.append(item), lambda _: None, lambda: now)
    for _ in range(3600):
        now += 1.0
        if not backoff.rests("a"):
            tried += 1
            with backoff.trying("a"):
                raise SiteError("down")
        assert not backoff.rests("b")
    assert failed == ["a"] * tried
    assert 10 < tried < 60
    backoff.worked("a")
    assert not backoff.rests("a")


@pytest.mark.parametrize(
    "error", [CredentialsError("no"), NotFoundError("no"), SiteError("500"), RuntimeError()]
)
async def test_a_category_that_cannot_be_read_does_not_stop_the_others(monkeypatch, error: Exception) -> None:
    monkeypatch.setattr(worker, "retry_pauses", lambda: repeat(0.0))
    good, bad = Mock(check=AsyncMock(), slug="good"), Mock(check=AsyncMock(side_effect=error), slug="bad")
    assert await check_categories([bad, good], FailureLog()) == {bad: error}
    assert good.check.await_count == 1
    good.check.side_effect = [SiteError("down"), None]
    assert await check_categories([good], FailureLog()) == {}
    if not isinstance(error, CredentialsError | NotFoundError):
        return
    with pytest.raises(type(error)):
        await check_categories([bad], FailureLog())


def _refuse(*_: object, **__: object) -> None:
    raise RuntimeError("a bad item")


async def outbox_messages(ledger: Ledger, backoff: Backoff, patch: pytest.MonkeyPatch) -> Work:
    said: list[str] = []
    for body in MetaBody(), ChatBody("after it"):
        ledger.messages.put(Message(f"{CATEGORY}/r", CATEGORY, type(body).__name__, body), NOON)
    room = Mock(has_sent=False)
    delivery = OutboxDelivery(f"{CATEGORY}/r", ledger, at_once, Clock(), Settings(), "bot", backoff)

    async def send(row: OutboxRow, body: ChatBody) -> None:
        said.append(body.text)
        ledger.messages.mark(row, Delivery.DELIVERED, NOON)

    patch.setattr(delivery, "_send_chat", send)
    patch.setattr(delivery, "_send_meta", _refuse)
    return Work(lambda: delivery.deliver(room), lambda: said == ["after it"], ["meta message 1"])


async def pictures(ledger: Ledger, backoff: Backoff, patch: pytest.MonkeyPatch) -> Work:
    folder = Pictures(ledger.path.parent / "pictures")
    asked = Mock(side_effect=[RuntimeError("a bad item"), b"a picture"])

    async def picture(*_: object) -> bytes:
        return bytes(asked())

    fetcher = PictureFetcher(
        "http://site", folder, AsyncMock(return_value=["/a.png", "/b.png"]), backoff, pause=0
    )
    patch.setattr(fetcher, "_picture", picture)
    return Work(fetcher.fetch, lambda: folder.names() == {name_of("/b.png")}, ["picture /a.png"])


async def leaderboards_of_open_rooms(ledger: Ledger, backoff: Backoff, patch: pytest.MonkeyPatch) -> Work:
    boards = [LeaderboardConfig("elo-ffa", name=name, goals=("Any Orb",)) for name in ("Bad", "Good")]
    settler = Settler(ledger, RatingRules(boards[0], tuple(boards)))
    drawn = LiveWriter._on_board

    def draw(self: LiveWriter, race: Any, board: Leaderboard) -> Any:
        if board.name == "Bad":
            _refuse()
        return drawn(self, race, board)

    patch.setattr(LiveWriter, "_on_board", draw)
    patch.setattr(live_writer, "JOIN_WITHIN", 0.0)
    writer = LiveWriter(settler, Settings(minimum_finishes=0), at_once, Clock(), backoff)
    writer.update(seen(status="open", entrants=(entrant("ann"), entrant("bo"))))

    async def write() -> None:
        running = asyncio.create_task(writer.run())
        await until(live_path(ledger.path).exists)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    def shown() -> bool:
        rooms = existing(read_live(live_path(ledger.path))).rooms
        return [board.leaderboard for board in rooms[0].leaderboards] == ["Good"]

    return Work(write, shown, [f"{CATEGORY}/r on Bad"])


async def discord_posts(ledger: Ledger, backoff: Backoff, patch: pytest.MonkeyPatch) -> Work:
    hook = SecretStr("https://discord.com/api/webhooks/1/x")
    for slug in "abc":
        ledger.posts.put(result(slug, "ann bo"), ["1"], None)
    ledger.connection.write("UPDATE discord SET moves = '{' WHERE race = ?", f"{CATEGORY}/b")
    shown: list[str] = []

    def draw(_: Ledger, __: Settings, post: Post, rated: object) -> list[Embed]:
        if post.race.endswith("/a"):
            _refuse()
        return [Embed(title=post.race, url=None)]

    async def ask(*arguments: object) -> discord.Posted:
        shown.append(str(arguments[-1]))
        return discord.Posted(200, None, "7", 0.0, "")

    patch.setattr(discord, "race_embeds", draw)
    patch.setattr(discord, "ask", ask)
    settings = Settings(discord_webhook=hook, database=ledger.path)
    sender = discord.DiscordSender(settings, ledger, at_once, backoff)
    bad = [f"{CATEGORY}/{slug} on Discord" for slug in "ab"]
    return Work(sender.send, lambda: len(shown) == 1, bad)


async def events_and_orders_of_rooms(ledger: Ledger, backoff: Backoff, patch: pytest.MonkeyPatch) -> Work:
    told: list[str] = []
    context = WorkerContext(
        Settings(commands=False),
        Mock(category=AsyncMock(return_value=Category(CATEGORY, "Orb", (), {})), clock=Clock()),
        settler_of(ledger, "elo-ffa"),
        at_once,
        Clock(),
        FailureLog(),
        backoff,
        lambda *_: None,
    )
    category = CategoryWorker(CategorySettings(slug=CATEGORY), context)
    watches = {f"{CATEGORY}/{slug}": Mock() for slug in "ab"}

    def tell(_: LedgerWork, race: str) -> bool:
        told.append(race) if race.endswith("/b") else _refuse()
        return True

    for work in "tell_of_event", "follow_order":
        patch.setattr(LedgerWork, work, tell)
    patch.setattr(category, "_watches", watches)
    patch.setattr(category, "_to_follow", set(watches))
    bad = [f"{CATEGORY}/a {each}" for each in ("event", "order")]
    return Work(category.rooms, lambda: told == [f"{CATEGORY}/b"] * 2, bad)


@pytest.mark.parametrize(
    "items",
    [outbox_messages, pictures, leaderboards_of_open_rooms, discord_posts, events_and_orders_of_rooms],
)
async def test_an_item_that_raises_is_named_and_rests_while_the_others_go_on(
    ledger: Ledger,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    items: Callable[[Ledger, Backoff, pytest.MonkeyPatch], Awaitable[Work]],
) -> None:
    failures, now = FailureLog(), 0.0
    failed = Mock(wraps=failures.raised)
    backoff = Backoff(failed, failures.recovered, lambda: now)
    run, went_on, names = await items(ledger, backoff, monkeypatch)
    await run()
    assert went_on()
    await run()
    assert failed.call_count == len(names), "none is tried again at once"
    for name in names:
        assert any(name in line for line in failures.current())
        assert any(name in line for line in caplog.messages)
    now = 3600.0
    assert not any(map(backoff.rests, names))
