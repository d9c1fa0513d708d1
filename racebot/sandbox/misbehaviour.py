"""Faults that the sandbox injects on request.

Each planned fault is used once. Faults that concern tokens, lost rooms and the clock belong to `FakeSite`:
`revoke_tokens`, `token_seconds`, `rooms`, `guids`, `skew`.
"""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import HTMLResponse, Response
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


@dataclass(frozen=True, slots=True)
class Break:
    """Break the connection, with a close frame if `code` is set."""

    code: int | None = None


Outgoing = str | bytes | Break
"""An item in a socket's send queue."""


class Misbehaviour:
    """The planned faults of a sandbox server. `protocol` is uvicorn's for its sockets."""

    protocol: type[WebSocketsSansIOProtocol] = WebSocketsSansIOProtocol

    def __init__(self) -> None:
        self._sockets: dict[asyncio.Queue[Outgoing], str] = {}
        self.clear()

    def clear(self) -> None:
        """Cancel all planned faults."""
        self._stalled_until = float("-inf")
        self._http: list[tuple[Response, str]] = []

    def fail_http(
        self,
        times: int = 1,
        status: int = 500,
        *,
        retry_after: str | None = None,
        body: str | None = None,
        path: str = "",
    ) -> None:
        """Fail the next requests whose path contains `path`, with HTML in place of JSON."""
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        answer = HTMLResponse(page(str(status)) if body is None else body, status, headers)
        self._http += [(answer, path)] * times

    def drop_sockets(self, race: str | None = None, *, code: int | None = None) -> int:
        """Break the open sockets of one race or of all races, and return how many there were.

        Without a `code`, the TCP connection drops without a close frame, as when the site's process dies.
        """
        chosen = [outgoing for outgoing, slug in self._sockets.items() if race in (None, slug)]
        for outgoing in chosen:
            outgoing.put_nowait(Break(code))
        return len(chosen)

    def stall(self, seconds: float) -> None:
        """Freeze for `seconds`: accept no requests, and send and read no frames."""
        self._stalled_until = time.monotonic() + seconds

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    async def stalled(self) -> None:
        """Wait until `stall` is over."""
        while (left := self._stalled_until - time.monotonic()) > 0:  # noqa: ASYNC110 - `clear` may end it
            await asyncio.sleep(min(left, 0.1))

    def next_http(self, path: str) -> Response | None:
        number = next((n for n, (_, where) in enumerate(self._http) if where in path), None)
        return None if number is None else self._http.pop(number)[0]

    def next_handshake(self) -> int | None:
        """Return the status with which to refuse the next handshake, or None."""
        return None

    def writer(self) -> Callable[[dict[str, Any]], list[Outgoing]]:
        """Return a function that encodes the frames of one socket, each as what to send for it."""
        return lambda frame: [json.dumps(frame)]

    def opened(self, race: str, outgoing: asyncio.Queue[Outgoing]) -> None:
        self._sockets[outgoing] = race

    def closed(self, outgoing: asyncio.Queue[Outgoing]) -> None:
        del self._sockets[outgoing]


def page(title: str) -> str:
    """Return an HTML page that says no more than its title."""
    title = html.escape(title)
    return f'<!DOCTYPE html>\n<html lang="en"><title>{title}</title><p>{title}</p></html>\n'
