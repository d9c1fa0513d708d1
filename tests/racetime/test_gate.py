"""State that the sockets of one site share: handshake slots and the TLS context."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import pytest
import trustme
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from racebot.errors import ConnectionLost
from racebot.racetime.gate import Gate
from racebot.racetime.socket import join

TOKEN = "token-of-the-bot-1"


class Rooms:
    """A server that counts how many handshakes run at once, and holds them until so many do."""

    def __init__(self, at_once: int = 1, *, refuses: bool = False) -> None:
        self.most = 0
        self._now = 0
        self._at_once = at_once
        self._enough = asyncio.Event()
        self._refuses = refuses

    async def _open(self, connection: ServerConnection, _: Request) -> Response | None:
        self._now += 1
        self.most = max(self.most, self._now)
        if self._now == self._at_once:
            self._enough.set()
        await self._enough.wait()
        await asyncio.sleep(0.02)  # in which others could begin
        self._now -= 1
        return connection.respond(HTTPStatus.BAD_GATEWAY, "") if self._refuses else None

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        async with serve(
            _stay, "127.0.0.1", 0, process_request=self._open, close_timeout=0.1, ssl=tls
        ) as server:
            yield f"http{'s' if tls else ''}://127.0.0.1:{_port(server)}"


async def _stay(connection: ServerConnection) -> None:
    await connection.wait_closed()


def _port(server: Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def enter(stack: AsyncExitStack, url: str, gate: Gate) -> None:
    await stack.enter_async_context(join(url, "orb/r", "/ws/o/bot/r", TOKEN, gate))


@pytest.mark.parametrize("turns", [1, 3])
async def test_handshakes_are_limited_and_all_succeed(turns: int) -> None:
    rooms = Rooms(turns)
    async with rooms.serving() as url, AsyncExitStack() as stack:
        gate = Gate(turns)
        await asyncio.gather(*(enter(stack, url, gate) for _ in range(8)))
        assert rooms.most == turns


async def test_a_refused_handshake_frees_its_slot() -> None:
    rooms = Rooms(refuses=True)
    async with rooms.serving() as url, AsyncExitStack() as stack:
        gate = Gate(1)
        for _ in range(3):
            with pytest.raises(ConnectionLost):
                await enter(stack, url, gate)
        assert not gate.handshakes.locked()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ssl.SSLContext, Path]:
    """A server's context, and the file that makes it trusted."""
    authority, file = trustme.CA(), tmp_path / "trusted.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context, file


async def test_the_ca_store_is_loaded_once(trusted: tuple[ssl.SSLContext, Path]) -> None:
    context, file = trusted
    async with Rooms().serving(context) as url, AsyncExitStack() as stack:
        gate = Gate()
        await enter(stack, url, gate)
        file.unlink()
        await enter(stack, url, gate)
        with pytest.raises(ConnectionLost, match="FileNotFoundError"):
            await enter(stack, url, Gate())
