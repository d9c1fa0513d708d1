"""Only the site itself gets the secret and the token: certificates are checked, redirects not followed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from pydantic import SecretStr

from racebot.errors import ConnectionLost, SiteError
from racebot.racetime.client import Site
from racebot.racetime.frames import join
from racebot.racetime.http import tls_context

CREDENTIALS = "orb-bot", SecretStr("hush-hush-1234")
TOKEN = "token-of-the-bot-1"


class Server:
    """Answers every request with the same bytes, and keeps the requests."""

    def __init__(self, answer: str = "") -> None:
        self.answer = answer
        self.received = b""
        self.port = 0

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received += await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer.encode())
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def serving(self, context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, ssl=context)
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            yield self


@pytest.fixture
async def elsewhere() -> AsyncIterator[Server]:
    async with Server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").serving() as server:
        yield server


def redirect(status: int, port: int, scheme: str = "http") -> str:
    return (
        f"HTTP/1.1 {status} Elsewhere\r\nLocation: {scheme}://127.0.0.1:{port}/o/token\r\n"
        "Content-Length: 0\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_neither_secret_nor_token_follows_a_redirect(elsewhere: Server, status: int) -> None:
    told = rf"redirects \({status}\)"
    async with (
        Server(redirect(status, elsewhere.port)).serving() as server,
        Site(f"http://127.0.0.1:{server.port}", interval=0, attempts=1) as site,
    ):
        with pytest.raises(SiteError, match=told):
            await site.token(*CREDENTIALS)
        with pytest.raises(SiteError, match=told):
            await site.category("orb", TOKEN)
    assert TOKEN.encode() in server.received
    assert elsewhere.received == b""


@pytest.mark.parametrize("scheme", ["ws", "wss", "http"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_room_socket_follows_no_redirect(elsewhere: Server, status: int, scheme: str) -> None:
    """Not even without the token, since the other server could report any result."""
    async with Server(redirect(status, elsewhere.port, scheme)).serving() as server:
        with pytest.raises(ConnectionLost, match="cannot be opened"):
            async with join(f"http://127.0.0.1:{server.port}", "orb/r", TOKEN):
                pass
    assert TOKEN.encode() in server.received
    assert elsewhere.received == b""


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[trustme.CA]:
    """An authority that this machine trusts."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls_context.cache_clear()
    yield authority
    tls_context.cache_clear()


def context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """A server's context with a certificate for these names."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(made)
    return made


async def refused(port: int) -> tuple[str, str]:
    """The errors for an untrusted site, from a request and from a room's socket."""
    url = f"https://localhost:{port}"
    async with Site(url, interval=0) as site:
        with pytest.raises(SiteError) as of_request:
            await site.token(*CREDENTIALS)
    with pytest.raises(ConnectionLost) as of_socket:
        async with join(url, "orb/r", TOKEN):
            pass
    return str(of_request.value), str(of_socket.value)


async def test_certificate_of_an_unknown_authority_is_refused_at_once(authority: trustme.CA) -> None:
    async with Server().serving(context(authority, "localhost")) as server:
        asked, joined = await refused(server.port)
    reason = r"its TLS certificate was refused (unable to get local issuer certificate)"
    assert asked == f"https://localhost:{server.port} is not trusted: {reason}"
    assert joined == f"the room's socket cannot be opened ({reason})"
    assert server.received == b""


async def test_a_certificate_for_another_name_is_refused(trusted: trustme.CA) -> None:
    async with Server().serving(context(trusted, "elsewhere.example")) as server:
        for told in await refused(server.port):
            assert "its TLS certificate was refused (Hostname mismatch" in told
    assert server.received == b""


async def test_a_good_certificate_is_accepted(trusted: trustme.CA) -> None:
    """So the refusals above have no other cause than the certificate."""
    answer = '{"access_token": "x", "expires_in": 60}'
    server = Server(f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n{answer}")
    async with (
        server.serving(context(trusted, "localhost")),
        Site(f"https://localhost:{server.port}", interval=0) as site,
    ):
        assert await site.token(*CREDENTIALS) == ("x", 60.0)
