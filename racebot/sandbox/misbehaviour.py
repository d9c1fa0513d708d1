"""Faults that the sandbox injects on request.

Each planned fault is used once. Faults that concern tokens, lost rooms and the clock belong to `FakeSite`:
`revoke_tokens`, `token_seconds`, `forget_rooms`, `forget_guids`, `skew`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class HttpFault:
    """A faulty response to a request."""

    status: int = 500
    retry_after: str | None = None
    body: str | None = None
    """HTML by default, so that with status 200 a client gets HTML instead of JSON."""


@dataclass(frozen=True, slots=True)
class Break:
    """Break the connection, with a close frame if `code` is set."""

    code: int | None = None


Outgoing = str | bytes | Break
"""An item in a socket's send queue."""


class Misbehaviour:
    """The planned faults of a sandbox server."""

    def __init__(self) -> None:
        self._sockets: dict[asyncio.Queue[Outgoing], str] = {}
        self.clear()

    def clear(self) -> None:
        """Cancel all planned faults."""
        self._stalled_until = float("-inf")
        self._http: list[tuple[HttpFault, str]] = []
        self._handshakes: list[tuple[int, str]] = []
        self._frames: list[tuple[FrameFault, str]] = []
        self._extra: list[str | bytes] = []

    def fail_http(
        self,
        times: int = 1,
        status: int = 500,
        *,
        retry_after: str | None = None,
        body: str | None = None,
        path: str = "",
    ) -> None:
        """Fail the next requests whose path contains `path`."""
        self._http += [(HttpFault(status, retry_after, body), path)] * times

    def refuse_handshakes(self, times: int = 1, status: int = 502) -> None:
        """Refuse the next WebSocket handshakes."""
        self._handshakes += [(status, "")] * times

    def spoil_frames(self, fault: FrameFault, times: int = 1, *, kind: str = "") -> None:
        """Apply a fault to the next frames of type `kind` (`race.data`, `chat.message` …), or of any type."""
        self._frames += [(fault, kind)] * times

    def interject(self, *frames: str | bytes) -> None:
        """Send extra frames as they are, before the next frame of any room."""
        self._extra += frames

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

    def next_http(self, path: str) -> HttpFault | None:
        return _pop(self._http, lambda where: where in path)

    def next_handshake(self) -> int | None:
        return _pop(self._handshakes, lambda _: True)

    def next_frame(self, kind: str) -> FrameFault | None:
        return _pop(self._frames, lambda where: where in ("", kind))

    def extra_frames(self) -> list[str | bytes]:
        extra, self._extra = self._extra, []
        return extra

    def opened(self, race: str, outgoing: asyncio.Queue[Outgoing]) -> None:
        self._sockets[outgoing] = race

    def closed(self, outgoing: asyncio.Queue[Outgoing]) -> None:
        del self._sockets[outgoing]


def _pop(planned: list[tuple[T, str]], matches: Callable[[str], bool]) -> T | None:
    """Return the first planned fault for a place, and remove it."""
    number = next((n for n, (_, where) in enumerate(planned) if matches(where)), None)
    return None if number is None else planned.pop(number)[0]


class FrameWriter:
    """Encodes a socket's frames, with the planned faults."""

    def __init__(self, misbehaviour: Misbehaviour) -> None:
        self._misbehaviour = misbehaviour
        self._held: list[tuple[str, str]] = []
        """Late frames, and the type of the frame that each follows; an empty type means any."""

    def write(self, frame: dict[str, Any]) -> list[Outgoing]:
        """Return what to send for a frame."""
        text, kind = json.dumps(frame), frame["type"]
        fault = self._misbehaviour.next_frame(kind)
        if fault in (FrameFault.LATE, FrameFault.OVERTAKEN):
            self._held.append((kind if fault is FrameFault.OVERTAKEN else "", text))
            return []
        released = [held for held in self._held if held[0] in ("", kind)]
        self._held = [held for held in self._held if held not in released]
        spoiled = [text] if fault is None else _spoil(fault, text, kind)
        return [*self._misbehaviour.extra_frames(), *spoiled, *(late for _, late in released)]


class NotUtf8(str):
    """Text that encodes to invalid UTF-8 when the server sends it."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode(encoding, errors) + b"\xff\xfe"


class CutShort(str):
    """Text during which the connection breaks, after half of its bytes."""

    __slots__ = ()


def _spoil(fault: FrameFault, text: str, kind: str) -> list[Outgoing]:
    spoiled: dict[FrameFault, list[Outgoing]] = {
        FrameFault.MALFORMED: ["{" + text],
        FrameFault.TRUNCATED: [text[: len(text) // 2]],
        FrameFault.NOT_UTF8: [NotUtf8(text)],
        FrameFault.BINARY: [b"\x00\xff\xfe\x80"],
        FrameFault.WRONG_SHAPE: [json.dumps({"type": kind})],
        FrameFault.REPEATED: [text, text],
        FrameFault.LOST: [],
        FrameFault.CUT: [Break()],
        FrameFault.CUT_SHORT: [CutShort(text)],
    }
    return spoiled[fault]
