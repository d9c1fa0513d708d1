"""Server-sent events: send a document again whenever its content has changed."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from racebot.addresses import BadQueryError
from racebot.errors import LedgerError
from racebot.web.html.live import STREAMED
from racebot.web.routes import MatchedRoute, match_of
from racebot.web.site.ledger_view import Content, Document

log = logging.getLogger(__name__)

STREAMS = 100  # Most open streams. Further requests get a 503 response, so that pages stay reachable
STREAMS_OF_CLIENT = 8
"""Most open streams of one address. Other pages there ask for their content now and then."""
LOOK_EVERY = 1.0  # seconds between two looks for a change
HEARTBEAT = 15.0  # seconds of silence after which a comment is sent, so that proxies keep the connection open
_MEDIA_TYPE = "text/event-stream"


@dataclass(eq=False)
class EventStreams:
    """Streams documents from `find` whenever `stamp` changes, until the server is `stopping`."""

    find: Callable[[MatchedRoute, Mapping[str, str]], Awaitable[Content]]
    stamp: Callable[[], Awaitable[str]]
    headers: Mapping[str, str]
    stopping: Callable[[], bool]
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _looked_at: float = float("-inf")
    _last_stamp: str = ""
    _problem: str = ""
    _open: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream of the document that a request names."""
        request = Request(scope)
        client = request.client.host if request.client else ""
        if self._open.total() >= STREAMS or self._open[client] >= STREAMS_OF_CLIENT:
            headers = {**self.headers, "Retry-After": "30"}
            await Response("Too many readers.", 503, headers, "text/plain")(scope, receive, send)
            return
        self._open[client] += 1
        try:
            response = await self._response(request)
            await response(scope, receive, send)
        finally:
            self._open -= Counter([client])

    async def _response(self, request: Request) -> Response:
        match, query = match_of(request.path_params["path"]), dict(request.query_params)
        if match is None or match.route not in STREAMED:
            raise HTTPException(404)
        stamp = await self._current_stamp()  # before the document, so that no change falls between
        first = await self.find(match, query)
        if not isinstance(first, Document):
            raise HTTPException(404)
        headers = {**self.headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type=_MEDIA_TYPE, headers=headers)
        chunks = self._chunks(match, query, first, stamp)
        return StreamingResponse(chunks, media_type=_MEDIA_TYPE, headers=headers)

    async def _chunks(
        self, match: MatchedRoute, query: Mapping[str, str], first: Document, stamp: str
    ) -> AsyncGenerator[bytes]:
        sent = first.tag
        yield b"retry: 5000\n\n" + event(first.body)  # milliseconds until a browser connects again
        quiet_since = time.monotonic()
        while not self.stopping():
            await asyncio.sleep(LOOK_EVERY)
            if (current := await self._current_stamp()) != stamp:
                stamp = current
                try:
                    found = await self.find(match, query)
                except (LedgerError, BadQueryError) as error:
                    log.warning("%s: %s", match.path, error)
                    continue
                if isinstance(found, Document) and found.tag != sent:
                    sent = found.tag
                    yield event(found.body)
                    quiet_since = time.monotonic()
            if time.monotonic() - quiet_since >= HEARTBEAT:
                yield b":\n\n"
                quiet_since = time.monotonic()

    async def _current_stamp(self) -> str:
        """Return the stamp, the last one if the ledger cannot be read. All streams share one look."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_EVERY / 2:
                try:
                    self._last_stamp, self._problem = await self.stamp(), ""
                except LedgerError as error:
                    if str(error) != self._problem:
                        log.warning("%s", error)
                    self._problem = str(error)
                self._looked_at = time.monotonic()
            return self._last_stamp


def event(body: bytes) -> bytes:
    lines = body.replace(b"\r", b"").split(b"\n")
    return b"".join(b"data: %s\n" % line for line in lines) + b"\n"
