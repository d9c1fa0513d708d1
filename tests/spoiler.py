"""Faults of the site: a layer before a sandbox, which injects each planned fault once."""

import asyncio
import json
import time
from enum import StrEnum
from typing import Any

from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class FrameFault(StrEnum):
    """A fault to apply to a frame."""

    MALFORMED = "malformed"  # invalid JSON in its place
    TRUNCATED = "truncated"  # only its first half
    NOT_UTF8 = "not_utf8"  # text of invalid UTF-8, on which a client must close the connection
    BINARY = "binary"  # a binary frame in its place
    WRONG_SHAPE = "wrong_shape"  # its type, without content
    REPEATED = "repeated"  # sent twice
    LATE = "late"  # sent after the next frame
    OVERTAKEN = "overtaken"  # sent after the next frame of its type
    LOST = "lost"  # not sent
    CUT = "cut"  # the connection breaks in its place
    CUT_SHORT = "cut_short"  # the connection breaks after the first half of its bytes


class SpoiledSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which can also break the connection in the middle of a frame."""

    async def send(self, message: Any) -> None:
        text = message.get("text")
        if isinstance(text, CutShort):
            self.conn.send_text(text.encode())
            data = b"".join(self.conn.data_to_send())
            self.transport.write(data[: len(data) // 2])
            self.transport.close()
        elif not self.transport.is_closing():
            await super().send(message)


class Spoiler:
    """The planned faults of a site. Those of tokens, lost rooms and the clock belong to `FakeSite`."""

    def __init__(self) -> None:
        self._sockets: dict[asyncio.Future[int | None], str] = {}
        self.clear()

    def clear(self) -> None:
        """Cancel all planned faults."""
        self._stalled_until = float("-inf")
        self._http: list[tuple[Response, str]] = []
        self.handshakes: list[int] = []
        self.frames: list[tuple[FrameFault, str]] = []
        self.extra: list[str | bytes] = []

    def serving(self, app: ASGIApp) -> ASGIApp:
        """Return an application with the faults of this object."""

        async def spoiled(scope: Scope, receive: Receive, send: Send) -> None:
            await self._stalled()
            path = scope["path"]
            fault = next((each for each in self._http if each[1] in path), None)
            if scope["type"] == "websocket":
                await self._socket(app, scope, receive, send)
            elif fault is not None:
                self._http.remove(fault)
                await fault[0](scope, receive, send)
            else:
                await app(scope, receive, send)

        return spoiled

    def fail_http(
        self,
        times: int = 1,
        status: int = 500,
        *,
        retry_after: str | None = None,
        body: str = "<p>Sorry</p>",
        path: str = "",
    ) -> None:
        """Fail the next requests whose path contains `path`, with HTML in place of JSON."""
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        self._http += [(HTMLResponse(body, status, headers), path)] * times

    def refuse_handshakes(self, times: int = 1, status: int = 502) -> None:
        self.handshakes += [status] * times

    def spoil_frames(self, fault: FrameFault, times: int = 1, *, kind: str = "") -> None:
        """Apply a fault to the next frames of type `kind` (`race.data`, `chat.message` …), or of any type."""
        self.frames += [(fault, kind)] * times

    def interject(self, *frames: str | bytes) -> None:
        """Send extra frames as they are, before the next frame of any room."""
        self.extra += frames

    def drop_sockets(self, race: str | None = None, *, code: int | None = None) -> int:
        """Break the open sockets of one race or of all races, and return how many there were.

        Without a `code`, the TCP connection drops without a close frame, as when the site's process dies.
        """
        chosen = [cut for cut, slug in self._sockets.items() if race in (None, slug) and not cut.done()]
        for cut in chosen:
            cut.set_result(code)
        return len(chosen)

    def stall(self, seconds: float) -> None:
        """Freeze for `seconds`: accept no requests, and send and read no frames."""
        self._stalled_until = time.monotonic() + seconds

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    async def _stalled(self) -> None:
        while (left := self._stalled_until - time.monotonic()) > 0:  # noqa: ASYNC110 - `clear` may end it
            await asyncio.sleep(min(left, 0.1))

    async def _socket(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if self.handshakes:
            await WebSocket(scope, receive, send).send_denial_response(
                HTMLResponse("", self.handshakes.pop(0))
            )
            await asyncio.sleep(0)  # or uvicorn logs an unfinished handshake
            return
        writer = FrameWriter(self)
        cut: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

        async def slow_receive() -> Message:
            message = await receive()
            await self._stalled()
            return message

        async def spoiled_send(message: Message) -> None:
            if message["type"] == "websocket.accept":
                await send(message)
                self._sockets[cut] = scope["path"].rpartition("/")[2]
                return
            await self._stalled()
            for each in writer.write(message["text"]) if "text" in message else [message]:
                if each is None and not cut.done():
                    cut.set_result(None)
                if each is None or cut.done():
                    return
                await send(each)

        serving: asyncio.Future[Any] = asyncio.ensure_future(app(scope, slow_receive, spoiled_send))
        try:
            await asyncio.wait([serving, cut], return_when=asyncio.FIRST_COMPLETED)
            if cut.done() and (code := cut.result()) is not None:
                await send({"type": "websocket.close", "code": code})
        finally:
            self._sockets.pop(cut, None)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


def _frame(content: str | bytes) -> Message:
    return {"type": "websocket.send", "text" if isinstance(content, str) else "bytes": content}


class FrameWriter:
    """Encodes a socket's frames, with the planned faults."""

    def __init__(self, spoiler: Spoiler) -> None:
        self._spoiler = spoiler
        self._held: list[tuple[str, str]] = []
        """Late frames, and the type of the frame that each follows; an empty type means any."""

    def write(self, text: str) -> list[Message | None]:
        """Return what to send for a frame. None breaks the connection."""
        kind = json.loads(text)["type"]
        planned = self._spoiler.frames
        number = next((n for n, (_, where) in enumerate(planned) if where in ("", kind)), None)
        fault = None if number is None else planned.pop(number)[0]
        if fault in (FrameFault.LATE, FrameFault.OVERTAKEN):
            self._held.append((kind if fault is FrameFault.OVERTAKEN else "", text))
            return []
        released = [held for held in self._held if held[0] in ("", kind)]
        self._held = [held for held in self._held if held not in released]
        spoiled = [text] if fault is None else _spoil(fault, text, kind)
        extra, self._spoiler.extra = self._spoiler.extra, []
        found = [*extra, *spoiled, *(late for _, late in released)]
        return [None if each is None else _frame(each) for each in found]


class NotUtf8(str):
    """Text that encodes to invalid UTF-8 when the server sends it."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode(encoding, errors) + b"\xff\xfe"


class CutShort(str):
    """Text during which the connection breaks, after half of its bytes."""

    __slots__ = ()


def _spoil(fault: FrameFault, text: str, kind: str) -> list[str | bytes | None]:
    spoiled: dict[FrameFault, list[str | bytes | None]] = {
        FrameFault.MALFORMED: ["{" + text],
        FrameFault.TRUNCATED: [text[: len(text) // 2]],
        FrameFault.NOT_UTF8: [NotUtf8(text)],
        FrameFault.BINARY: [b"\x00\xff\xfe\x80"],
        FrameFault.WRONG_SHAPE: [json.dumps({"type": kind})],
        FrameFault.REPEATED: [text, text],
        FrameFault.LOST: [],
        FrameFault.CUT: [None],
        FrameFault.CUT_SHORT: [CutShort(text)],
    }
    return spoiled[fault]
