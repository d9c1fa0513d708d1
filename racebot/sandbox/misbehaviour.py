"""Faults that the sandbox injects on request.

Each planned fault is used once. Faults that concern tokens, lost rooms and the clock belong to `FakeSite`:
`revoke_tokens`, `token_seconds`, `forget_rooms`, `forget_guids`, `skew`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

Drop = Callable[[int | None], None]
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


class Misbehaviour:
    """The planned faults of a sandbox server."""

    def __init__(self) -> None:
        self._stalled_until = float("-inf")
        self._http: list[tuple[HttpFault, str]] = []
        self._handshakes: deque[int] = deque()
        self._frames: list[tuple[FrameFault, str]] = []
        self._extra: list[str | bytes] = []
        self._drops: dict[Drop, str] = {}

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
        self._handshakes.extend([status] * times)

    def spoil_frames(self, fault: FrameFault, times: int = 1, *, kind: str = "") -> None:
        """Apply a fault to the next frames of type `kind` (`race.data`, `chat.message` …), or of any type."""
        self._frames += [(FrameFault(fault), kind)] * times

    def interject(self, *frames: str | bytes) -> None:
        """Send extra frames as they are, before the next frame of any room."""
        self._extra += frames

    def drop_sockets(self, race: str | None = None, *, code: int | None = None) -> int:
        """Break the open sockets of one race or of all races, and return how many there were.

        Without a `code`, the TCP connection drops without a close frame, as when the site's process dies.
        """
        chosen = [drop for drop, slug in self._drops.items() if race is None or slug == race]
        for drop in chosen:
            drop(code)
        return len(chosen)

    def stall(self, seconds: float) -> None:
        """Freeze for `seconds`: accept no requests, and send and read no frames."""
        self._stalled_until = time.monotonic() + seconds

    def clear(self) -> None:
        """Cancel all planned faults."""
        self._stalled_until = float("-inf")
        self._http.clear()
        self._handshakes.clear()
        self._frames.clear()
        self._extra.clear()

    @property
    def open_sockets(self) -> int:
        return len(self._drops)

    async def stalled(self) -> None:
        """Wait until `stall` is over."""
        while (left := self._stalled_until - time.monotonic()) > 0:  # noqa: ASYNC110 - `clear` may end it
            await asyncio.sleep(min(left, 0.1))

    def next_http(self, path: str) -> HttpFault | None:
        return _pop(self._http, lambda where: where in path)

    def next_handshake(self) -> int | None:
        return self._handshakes.popleft() if self._handshakes else None

    def next_frame(self, kind: str) -> FrameFault | None:
        return _pop(self._frames, lambda where: where in ("", kind))

    def extra_frames(self) -> list[str | bytes]:
        extra, self._extra = self._extra, []
        return extra

    def opened(self, race: str, drop: Drop) -> None:
        self._drops[drop] = race

    def closed(self, drop: Drop) -> None:
        self._drops.pop(drop, None)


def _pop(planned: list[tuple[T, str]], matches: Callable[[str], bool]) -> T | None:
    """Return the first planned fault for a place, and remove it."""
    for number, (fault, where) in enumerate(planned):
        if matches(where):
            del planned[number]
            return fault
    return None


class FrameWriter:
    """Encodes a socket's frames, with the planned faults.

    `write` returns a list of texts and bytes to send. A `None` in it means: break the connection here.
    """

    def __init__(self, misbehaviour: Misbehaviour) -> None:
        self._misbehaviour = misbehaviour
        self._held: list[str | bytes | None] = []
        self._overtaken: dict[str, list[str]] = {}

    def write(self, frame: dict[str, Any]) -> list[str | bytes | None]:
        text = json.dumps(frame)
        kind = frame["type"]
        fault = self._misbehaviour.next_frame(kind)
        if fault is FrameFault.LATE:
            self._held.append(text)
            return []
        if fault is FrameFault.OVERTAKEN:
            self._overtaken.setdefault(kind, []).append(text)
            return []
        sent = _spoil(fault, text, frame)
        held, self._held = self._held, []
        return [*self._misbehaviour.extra_frames(), *sent, *held, *self._overtaken.pop(kind, [])]


class NotUtf8(str):
    """Text that encodes to invalid UTF-8 when the server sends it."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode(encoding, errors) + b"\xff\xfe"


class CutShort(str):
    """Text during which the connection breaks, after half of its bytes."""

    __slots__ = ()


def _spoil(fault: FrameFault | None, text: str, frame: dict[str, Any]) -> list[str | bytes | None]:
    if fault is None:
        return [text]
    spoiled: dict[FrameFault, list[str | bytes | None]] = {
        FrameFault.MALFORMED: ["{" + text],
        FrameFault.TRUNCATED: [text[: len(text) // 2]],
        FrameFault.NOT_UTF8: [NotUtf8(text)],
        FrameFault.BINARY: [b"\x00\xff\xfe\x80"],
        FrameFault.WRONG_SHAPE: [json.dumps({"type": frame["type"]})],
        FrameFault.REPEATED: [text, text],
        FrameFault.LOST: [],
        FrameFault.CUT: [None],
        FrameFault.CUT_SHORT: [CutShort(text)],
    }
    return spoiled[fault]
