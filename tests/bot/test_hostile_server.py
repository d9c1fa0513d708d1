"""Whatever a server answers, every HTTP client of ours stays small, ends in time and reveals no secret."""

import asyncio
import gzip
import logging
import re
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import cache
from itertools import chain, repeat
from pathlib import Path

import pytest
from builders import at_once, result
from pydantic import SecretStr
from worker_support import PATIENCE, Sandbox, finish, settled, until

from racebot.bot import discord, picture_fetcher
from racebot.bot.discord import DiscordSender
from racebot.bot.failures import Backoff
from racebot.bot.picture_fetcher import PictureFetcher
from racebot.errors import PayloadError, SiteError
from racebot.ledger.pictures import Pictures
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.racetime import client
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings.counting import rating_rules
from racebot.standings.settle import Settler

MIB = 2**20
TOKEN = "hush-hush-token"
SLOW = "slow"
"""In place of bytes: a pause of a tenth of a second."""
Parts = Iterable[bytes | str]


def answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> list[bytes]:
    kinds = ["Content-Type: application/json", f"Content-Length: {len(body) if length is None else length}"]
    return [f"HTTP/1.1 {status}\r\n{chr(10).join([*kinds, *headers])}\r\n\r\n".encode(), body]


def limited(seconds: str) -> list[bytes]:
    text = f'{{"message": "slow down", "retry_after": {seconds}, "global": true}}'
    return answer(text.encode(), f"Retry-After: {seconds}", status="429 Too Many Requests")


@cache
def bomb() -> bytes:
    """96 MiB of spaces in 0.4 MiB."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    return b"".join([packer.compress(b" " * MIB) for _ in range(96)] + [packer.flush()])


OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"
GZIP = "Content-Encoding: gzip"
MODES: dict[str, Callable[[], Parts]] = {
    "endless body": lambda: chain([OPEN + b"\r\n"], repeat(b" " * 65536)),
    "endless gzip": lambda: chain([OPEN + GZIP.encode() + b"\r\n\r\n"], repeat(gzip.compress(b" " * MIB))),
    "gzip bomb": lambda: answer(bomb(), GZIP),
    "gzip in gzip": lambda: answer(gzip.compress(bomb()), f"{GZIP}, gzip"),
    "unknown encoding": lambda: answer(b"x", "Content-Encoding: br"),
    "damaged gzip": lambda: answer(b"x" * 100, GZIP),
    "truncated gzip": lambda: answer(gzip.compress(b'{"id": "1"}')[:-9], GZIP),
    "silence": lambda: repeat(SLOW),
    "slow headers": lambda: chain([b"HTTP/1.1 200 OK\r\nX: "], chain.from_iterable(repeat((SLOW, b"x")))),
    "slow body": lambda: chain([OPEN + b"\r\n"], chain.from_iterable(repeat((SLOW, b" ")))),
    "endless 100 Continue": lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "closes at once": list,
    "closes in the body": lambda: answer(b'{"id"', length=100),
    "huge header": lambda: chain([b"HTTP/1.1 200 OK\r\nX: "], repeat(b"x" * 65536, 100)),
    "bad status line": lambda: [f"HTTP/1.1 {TOKEN}\r\n\r\n".encode()],
    "not HTTP": lambda: [bytes(1000)],
    "huge chunk": lambda: [OPEN + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"x" * MIB],
    "redirect": lambda: answer(b"", f"Location: /elsewhere?{TOKEN}", status="307 Temporary Redirect"),
    "deep JSON": lambda: answer(b"[" * 200_000),
    "huge number": lambda: answer(b'{"id": 1' + b"0" * 5000 + b"}"),
    "invalid UTF-8": lambda: answer(b'{"id": "\xff"}'),
    "a list": lambda: answer(b"[1, 2]"),
    "wrong types": lambda: answer(b'{"id": {}, "code": [], "retry_after": {}, "global": 3, "errors": []}'),
    "an id that is a path": lambda: answer(b'{"id": "../../../users/@me?x=#"}'),
    "a huge id": lambda: answer(b'{"id": "' + b"1" * 500_000 + b'"}'),
    "a pause that is no number": lambda: limited("NaN"),
    "a pause below zero": lambda: limited("-5"),
    "an endless pause": lambda: limited("1e400"),
    "the token again": lambda: answer(
        f'{{"message": "{TOKEN} {"x" * 9000}", "code": 1}}'.encode(), status="400 Bad"
    ),
}
"""What the server answers to each request."""
ENDLESS = {"silence", "slow headers", "slow body", "endless 100 Continue"}
"""The modes in which only a limit of time helps."""


class HostileServer:
    """Answers every request in one mode, and remembers the first line of each."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked: list[str] = []
        self.sent = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.asked.append(head.decode("latin-1").partition("\r\n")[0])
            for part in MODES[self.mode]():
                if isinstance(part, bytes):
                    writer.write(part)
                    self.sent += len(part)
                    await writer.drain()
                else:
                    await asyncio.sleep(0.1)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture(params=MODES)
async def hostile(request: pytest.FixtureRequest) -> AsyncIterator[tuple[HostileServer, str]]:
    server = HostileServer(request.param)
    listening = await asyncio.start_server(server, "127.0.0.1")
    yield server, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    listening.close()


class Clients:
    """Our clients of one server, each with a request to make."""

    def __init__(self, address: str, ledger: Ledger) -> None:
        self.address, self.ledger, self.folder = address, ledger, ledger.path.parent
        self.webhook = SecretStr(f"{address}/api/webhooks/1/{TOKEN}")
        settings = Settings(site=address, discord_webhook=self.webhook, database=ledger.path)
        Settler(ledger, rating_rules(settings)).add_past_races([result("r", "ann bo")], "import")
        ledger.posts.put(result("r", "ann bo"), ["1"], None)
        failures = FailureLog()
        backoff = Backoff(lambda item, error: failures.failed(item, str(error)), failures.recovered)
        self.sender = DiscordSender(settings, ledger, at_once, backoff)

    async def site(self) -> None:
        async with Site(self.address, interval=0, attempts=1) as site:
            with pytest.raises((SiteError, PayloadError)) as error:
                await site.category("orb")
        assert TOKEN not in str(error.value)

    async def discord(self) -> None:
        for _ in range(2):
            await self.sender.send()

    async def webhook_check(self) -> None:
        problem = await discord.check(self.webhook)
        assert problem and TOKEN not in problem

    async def pictures(self) -> None:
        pictures = Pictures(self.folder / "pictures")
        wanted: Callable[[], Awaitable[list[str]]] = lambda: asyncio.sleep(0, ["/a.png"])  # noqa: E731
        await PictureFetcher(self.address, pictures, wanted, self.sender.backoff, pause=0).fetch()
        assert pictures.names() == frozenset()

    def all(self) -> list[Callable[[], Awaitable[None]]]:
        return [self.site, self.discord, self.webhook_check, self.pictures]


async def test_clients_stay_small_quick_and_discreet(
    hostile: tuple[HostileServer, str],
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, address = hostile
    for module, name in (client, "ANSWER_WITHIN"), (discord, "TIMEOUT"), (picture_fetcher, "TIMEOUT"):
        monkeypatch.setattr(module, name, 0.2 if server.mode in ENDLESS else 10.0)
    monkeypatch.setattr(client, "LARGEST_ANSWER", MIB)
    caplog.set_level(logging.DEBUG, "racebot")
    clients = Clients(address, ledger)
    tracemalloc.start()
    try:
        async with asyncio.timeout(PATIENCE):  # limits end every answer long before
            await asyncio.gather(*(each() for each in clients.all()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25 * MIB
    posted = [line for line in server.asked if line.startswith("POST")]
    assert len(posted) <= 2, "the second look leaves a webhook that failed alone"
    assert not [line for line in server.asked if "elsewhere" in line or "users" in line]
    ((_, waiting, problem),) = ledger.posts.delayed() or ((None, 0, None),)
    assert waiting == 1 or server.mode == "the token again", "it was refused, with an answer"
    assert TOKEN not in caplog.text + str(problem)
    assert max((len(record.getMessage()) for record in caplog.records), default=0) < 1000
    assert not [record for record in caplog.records if record.exc_info]


def peak_of(pid: int) -> int:
    """Return the largest resident memory of a process so far, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


@pytest.mark.long
@pytest.mark.parametrize("role", ["site", "Discord"])
async def test_worker_stays_small_and_stops_at_once(
    hostile: tuple[HostileServer, str], sandbox: Sandbox, role: str
) -> None:
    server, address = hostile
    hook = f"{address if role == 'Discord' else sandbox.address}/api/webhooks/1/{TOKEN}"
    sandbox.extra |= {"RACEBOT_DISCORD_WEBHOOK": hook}
    if role == "site":
        sandbox.extra["RACEBOT_SITE"] = address
    async with sandbox.worker() as worker:
        if role == "Discord":
            room = sandbox.open_race(3)
            await until(lambda: room.listeners)
            finish(room, 80, 85, 90)
            room.record()
            await until(lambda: settled(sandbox, room))
        await until(lambda: server.asked)
        await asyncio.sleep(1.5)
        if worker.running:  # it ends by itself if no category is one
            assert peak_of(worker.pid) < 150
        began = time.monotonic()
        await worker.terminate()
        took = time.monotonic() - began
    assert took < 2
    assert "Traceback" not in worker.output
    assert TOKEN not in worker.output
