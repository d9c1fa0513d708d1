"""The faults that the sandbox can show on purpose.

Faults are planned ahead and used up one by one. Those that concern tokens, lost rooms and the clock belong
to `FakeSite`: `revoke_tokens`, `token_seconds`, `forget_rooms`, `forget_guids`, `skew`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Drop = Callable[[int | None], None]


class FrameFault(StrEnum):
    """What becomes of a frame."""

    MALFORMED = "malformed"
    """Text that is no JSON."""
    TRUNCATED = "truncated"
    """The first half of it."""
    NOT_UTF8 = "not_utf8"
    """A text frame with a byte that no UTF-8 text has; a client must close the connection."""
    BINARY = "binary"
    """A binary frame of arbitrary bytes."""
    WRONG_SHAPE = "wrong_shape"
    """Valid JSON of the right type with nothing in it."""
    REPEATED = "repeated"
    """Sent twice."""
    LATE = "late"
    """Held back until the next frame has gone out."""
    OVERTAKEN = "overtaken"
    """Held back until the next frame of its type has gone out."""
    LOST = "lost"
    """Not sent."""
    CUT = "cut"
    """Not sent, and the connection breaks instead."""
    CUT_SHORT = "cut_short"
    """The connection breaks when the first half of its bytes has gone out."""


@dataclass(frozen=True, slots=True)
class HttpFault:
    """An answer given in place of the right one."""

    status: int = 500
    retry_after: str | None = None
    body: str | None = None
    """HTML by default; a status of 200 makes an HTML page where JSON was expected."""


@dataclass(frozen=True, slots=True)
class _Planned:
    fault: Any
    where: str


class Misbehaviour:
    """The faults planned for a site that is being served."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Seconds that every HTTP answer takes."""
        self.handshake_delay = 0.0
        """Seconds before a socket opens."""
        self._stalled_until = float("-inf")
        self._http: deque[_Planned] = deque()
        self._handshakes: deque[int] = deque()
        self._frames: deque[_Planned] = deque()
        self._strange: deque[str | bytes] = deque()
        self._drops: dict[Drop, str] = {}

    # ── planning ──

    def fail_http(
        self,
        times: int = 1,
        status: int = 500,
        *,
        retry_after: str | None = None,
        body: str | None = None,
        path: str = "",
    ) -> None:
        """Spoil the next answers to requests whose path contains `path`."""
        planned = _Planned(HttpFault(status, retry_after, body), path)
        self._http.extend([planned] * times)

    def refuse_handshakes(self, times: int = 1, status: int = 502) -> None:
        """Refuse the next attempts to open a socket."""
        self._handshakes.extend([status] * times)

    def spoil_frames(self, fault: FrameFault, times: int = 1, *, kind: str = "") -> None:
        """Spoil the next frames of this type (`race.data`, `chat.message` …) or of any."""
        self._frames.extend([_Planned(FrameFault(fault), kind)] * times)

    def interject(self, *frames: str | bytes) -> None:
        """Send these, text or binary, as they are before the next frame that any room sends."""
        self._strange.extend(frames)

    def drop_sockets(self, race: str | None = None, *, code: int | None = None) -> int:
        """Break the open sockets, of one race or all, and tell how many.

        Without a `code` the connection just ends, as when the site's process dies.
        """
        chosen = [drop for drop, slug in self._drops.items() if race is None or slug == race]
        for drop in chosen:
            drop(code)
        return len(chosen)

    def stall(self, seconds: float) -> None:
        """Do nothing at all for a while: no answer, no frame, and no look at what bots send."""
        self._stalled_until = time.monotonic() + seconds

    def relent(self) -> None:
        """Forget every planned fault."""
        self._stalled_until = float("-inf")
        self.delay = self.handshake_delay = 0.0
        self._http.clear()
        self._handshakes.clear()
        self._frames.clear()
        self._strange.clear()

    # ── taking effect ──

    @property
    def open_sockets(self) -> int:
        return len(self._drops)

    async def stalled(self) -> None:
        """Wait until the site does something again."""
        while (left := self._stalled_until - time.monotonic()) > 0:  # noqa: ASYNC110 - `relent` may end it
            await asyncio.sleep(min(left, 0.1))

    def next_http(self, path: str) -> HttpFault | None:
        fault: HttpFault | None = _take(self._http, lambda where: where in path)
        return fault

    def next_handshake(self) -> int | None:
        return self._handshakes.popleft() if self._handshakes else None

    def next_frame(self, kind: str) -> FrameFault | None:
        fault: FrameFault | None = _take(self._frames, lambda where: where in ("", kind))
        return fault

    def strange_frames(self) -> list[str | bytes]:
        strange = list(self._strange)
        self._strange.clear()
        return strange

    def opened(self, race: str, drop: Drop) -> None:
        self._drops[drop] = race

    def closed(self, drop: Drop) -> None:
        self._drops.pop(drop, None)


def _take(planned: deque[_Planned], matches: Callable[[str], bool]) -> Any:
    for one in planned:
        if matches(one.where):
            planned.remove(one)
            return one.fault
    return None


class FrameWriter:
    """Turns a socket's frames into what goes over the wire, faults included.

    Each answer is a list of texts and bytes to send; `None` in it means that the connection breaks there.
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
        return [*self._misbehaviour.strange_frames(), *sent, *held, *self._overtaken.pop(kind, [])]


class NotUtf8(str):
    """A text that encodes to bytes which are not UTF-8; servers encode a text only when they send it."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode(encoding, errors) + b"\xff\xfe"


class CutShort(str):
    """A text of which half the bytes are sent, and then the connection breaks."""

    __slots__ = ()


def _spoil(fault: FrameFault | None, text: str, frame: dict[str, Any]) -> list[str | bytes | None]:
    match fault:
        case FrameFault.MALFORMED:
            return ["{" + text]
        case FrameFault.TRUNCATED:
            return [text[: len(text) // 2]]
        case FrameFault.NOT_UTF8:
            return [NotUtf8(text)]
        case FrameFault.BINARY:
            return [b"\x00\xff\xfe\x80"]
        case FrameFault.WRONG_SHAPE:
            return [json.dumps({"type": frame["type"]})]
        case FrameFault.REPEATED:
            return [text, text]
        case FrameFault.LOST:
            return []
        case FrameFault.CUT:
            return [None]
        case FrameFault.CUT_SHORT:
            return [CutShort(text)]
        case _:
            return [text]
