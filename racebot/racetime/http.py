"""The one module that imports the HTTP library: requests with bounded answers.

Errors quote nothing that was sent or received, since it may hold a secret.
"""

import asyncio
import ssl
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx

from racebot import __version__
from racebot.errors import SiteError, reason

USER_AGENT = f"racebot/{__version__} (httpx)"
Transport = httpx.AsyncBaseTransport
"""Replaces the network in tests."""


class Transient(SiteError):  # noqa: N818 - a reason to retry
    """The server cannot answer at the moment."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, with its decoded body. The names of `headers` are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Http(AbstractAsyncContextManager["Http"]):
    """Asks one server, which errors call `name`. It follows no redirect, and decodes gzip only.

    Args:
        base: the beginning of all addresses.
        accept: the types of documents to ask for.
        transport: replaces the network in tests.
    """

    def __init__(
        self,
        name: str,
        base: str = "",
        *,
        accept: str = "application/json",
        transport: Transport | None = None,
        timeout: float = 20.0,
    ) -> None:
        self._name = name
        self._client = httpx.AsyncClient(
            base_url=base,
            headers={"User-Agent": USER_AGENT, "Accept": accept, "Accept-Encoding": "gzip"},
            timeout=timeout,
            follow_redirects=False,
            verify=tls_context() if transport is None else True,
            transport=transport,
        )

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def ask(
        self,
        method: str,
        address: str,
        *,
        where: str,
        most: int,
        within: float,
        reads: Callable[[Response], object] = lambda _: True,
        **given: Any,
    ) -> Response:
        """Send a request, and read its answer.

        Args:
            where: what errors call the address.
            most: most bytes of the decoded body.
            within: seconds for the whole answer. A server that trickles bytes must not block others.
            reads: whether to read the body of an answer.

        Raises:
            Transient: the server does not answer, or not in time, or with a damaged body.
            SiteError: it is not trusted, the body is too large, or the address is none.
        """
        try:
            async with asyncio.timeout(within), self._client.stream(method, address, **given) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                answer = Response(response.status_code, headers)
                body = await _body(response, where, most) if reads(answer) else b""
                return Response(answer.status, headers, body)
        except httpx.HTTPError as error:
            if (distrust := certificate_problem(error)) is not None:
                raise SiteError(f"{self._name} is not trusted: {distrust}") from error
            why = reason(error) if isinstance(error, httpx.ConnectError) else type(error).__name__
            raise Transient(f"{self._name} cannot be reached ({why})") from error
        except httpx.InvalidURL:
            raise SiteError(f"{where} is not a usable address") from None
        except TimeoutError:
            raise Transient(f"{where} took longer than {within:.0f} s to answer") from None


async def _body(response: httpx.Response, where: str, most: int) -> bytes:
    """Read and decode a streamed body, never holding more than `most` bytes of it.

    httpx would undo any number of nested encodings, each without a limit on its output.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise SiteError(f"{where} answered with an unsupported Content-Encoding")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part if decoder is None else decoder.decompress(part, most + 1 - len(body))
            if len(body) > most:
                raise SiteError(f"{where} answered more than {most // 1024**2} MiB")
            if decoder is not None and decoder.eof:
                break  # zlib would collect the rest
    except zlib.error as error:
        raise Transient(f"{where} answered with damaged gzip data") from error
    if decoder is not None and not decoder.eof:
        raise Transient(f"{where} answered with truncated gzip data")
    return bytes(body)


@cache
def tls_context() -> ssl.SSLContext:
    """Load the CA store once, which takes 20 to 65 ms and 1 MiB."""
    return httpx.create_ssl_context()


def certificate_problem(error: BaseException | None) -> str | None:
    """Return why a certificate was refused, or None if the error has another cause."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its TLS certificate was refused ({error.verify_message})"
        error = error.__cause__ or error.__context__
    return None
