"""Server-sent events: send a document again whenever its content has changed.

`/events/PATH` follows the document at PATH. Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from racebot.errors import LedgerError
from racebot.web.html.live import STREAMED
from racebot.web.http.cache import Rendered
from racebot.web.routes import Match, match_of
from racebot.web.site.addresses import BadQueryError

log = logging.getLogger(__name__)

STREAMS = 100
"""Most open streams. Further requests get a 503 response, so that pages stay reachable."""
STREAMS_OF_CLIENT = 8
"""Most open streams of one address. Other pages there ask for their content now and then."""
LOOK_EVERY = 1.0
"""Seconds between two looks for a change."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, so that proxies keep the connection open."""
RETRY = 5000
"""Milliseconds after which a browser connects again."""
_MEDIA_TYPE = "text/event-stream"

Find = Callable[[Match, Mapping[str, str]], Awaitable[object]]


class Events:
    """Streams documents to readers.

    Args:
        find: returns the document at an address with a query.
        stamp: returns a text that changes whenever any document may have changed.
        headers: of every response.
        stopping: returns True when the server is about to stop.
    """

    def __init__(
        self,
        find: Find,
        stamp: Callable[[], Awaitable[str]],
        headers: Mapping[str, str],
        stopping: Callable[[], bool],
    ) -> None:
        self._find = find
        self._stamp = stamp
        self._headers = headers
        self._stopping = stopping
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")
        self._last_stamp = ""
        self._problem = ""
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """Number of open streams."""
        return self._open.total()

    async def response(self, request: Request) -> Response | None:
        """Return the stream of the document that a request names, or None if there is none.

        Raises:
            LedgerError: the ledger cannot be read.
            BadQueryError: the query string is invalid.
        """
        match, query = match_of(request.path_params["path"]), dict(request.query_params)
        if match is None or match.route not in STREAMED:
            return None
        client = request.client.host if request.client else ""
        if self.open >= STREAMS or self._open[client] >= STREAMS_OF_CLIENT:
            return Response("Too many readers.", 503, {**self._headers, "Retry-After": "30"}, "text/plain")
        self._open[client] += 1  # before the first await, so that no other request takes the same place
        headers = {**self._headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = None
        try:
            stamp = await self._current_stamp()  # before the document, so that no change falls between
            first = await self._find(match, query)
            if isinstance(first, Rendered) and request.method != "HEAD":
                pieces = self._pieces(match, query, first, stamp)
                stream = _Stream(pieces, headers, lambda: self._open.subtract([client]))
        finally:
            if stream is None:
                self._open[client] -= 1
        if isinstance(first, Rendered):
            return stream or Response(media_type=_MEDIA_TYPE, headers=headers)
        return None

    async def _pieces(
        self, match: Match, query: Mapping[str, str], first: Rendered, stamp: str
    ) -> AsyncGenerator[bytes]:
        sent = first.tag
        yield b"retry: %d\n\n" % RETRY + event(first.document.body)
        quiet_since = time.monotonic()
        while not self._stopping():
            await asyncio.sleep(LOOK_EVERY)
            if (current := await self._current_stamp()) != stamp:
                stamp = current
                try:
                    found = await self._find(match, query)
                except (LedgerError, BadQueryError) as error:
                    log.warning("%s: %s", match.path, error)
                    continue
                if isinstance(found, Rendered) and found.tag != sent:
                    sent = found.tag
                    yield event(found.document.body)
                    quiet_since = time.monotonic()
            if time.monotonic() - quiet_since >= HEARTBEAT:
                yield b":\n\n"
                quiet_since = time.monotonic()

    async def _current_stamp(self) -> str:
        """Return the stamp, the last one if the ledger cannot be read. All streams share one look."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_EVERY / 2:
                try:
                    self._last_stamp, problem = await self._stamp(), ""
                except LedgerError as error:
                    problem = str(error)
                if problem not in {"", self._problem}:
                    log.warning("%s", problem)
                self._problem = problem
                self._looked_at = time.monotonic()
            return self._last_stamp


class _Stream(StreamingResponse):
    """A stream that calls `closed` when it ends, even if its reader is gone before the first piece."""

    def __init__(
        self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str], closed: Callable[[], None]
    ) -> None:
        super().__init__(pieces, media_type=_MEDIA_TYPE, headers=headers)
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


def event(body: bytes) -> bytes:
    lines = body.replace(b"\r", b"").split(b"\n")
    return b"".join(b"data: %s\n" % line for line in lines) + b"\n"
