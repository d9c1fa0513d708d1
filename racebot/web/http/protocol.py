"""An HTTP protocol with timeouts for slow clients."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_TIMEOUT = 10.0
"""Seconds within which the headers of a request must arrive."""
WRITE_TIMEOUT = 30.0
"""Seconds that a client may stop reading a response."""

_END_OF_HEADERS = re.compile(rb"\n\r?\n")


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with timeouts for reading headers and writing responses.

    uvicorn only limits the time between two requests (`timeout_keep_alive`). It waits forever for a first
    request, for incomplete headers, and for clients that stop reading a response.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._peer: asyncio.Transport | None = None
        self._headers_deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._last_bytes = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = transport
        self._headers_deadline = self._abort_in(HEADERS_TIMEOUT)

    def data_received(self, data: bytes) -> None:
        recent = self._last_bytes + data
        ends = [match.end() for match in _END_OF_HEADERS.finditer(recent)]
        if ends:
            _cancel(self._headers_deadline)
            self._headers_deadline = None
            recent = recent[ends[-1] :]
        if recent and self._headers_deadline is None:
            self._headers_deadline = self._abort_in(HEADERS_TIMEOUT)
        self._last_bytes = recent[-2:]
        super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline = self._abort_in(WRITE_TIMEOUT)

    def resume_writing(self) -> None:
        _cancel(self._write_deadline)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._headers_deadline)
        _cancel(self._write_deadline)
        super().connection_lost(exc)

    def _abort_in(self, seconds: float) -> asyncio.TimerHandle | None:
        if self._peer is None:
            return None
        return asyncio.get_running_loop().call_later(seconds, self._peer.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
