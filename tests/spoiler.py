"""Faults of frames and handshakes that a sandbox injects, each once."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from racebot.sandbox.misbehaviour import Break, Misbehaviour, Outgoing


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


class Spoiler(Misbehaviour):
    """Spoils frames and refuses handshakes, too."""

    protocol = SpoiledSocket

    def clear(self) -> None:
        super().clear()
        self.handshakes: list[int] = []
        self.frames: list[tuple[FrameFault, str]] = []
        self.extra: list[str | bytes] = []

    def refuse_handshakes(self, times: int = 1, status: int = 502) -> None:
        self.handshakes += [status] * times

    def spoil_frames(self, fault: FrameFault, times: int = 1, *, kind: str = "") -> None:
        """Apply a fault to the next frames of type `kind` (`race.data`, `chat.message` …), or of any type."""
        self.frames += [(fault, kind)] * times

    def interject(self, *frames: str | bytes) -> None:
        """Send extra frames as they are, before the next frame of any room."""
        self.extra += frames

    def next_handshake(self) -> int | None:
        return self.handshakes.pop(0) if self.handshakes else None

    def writer(self) -> Callable[[dict[str, Any]], list[Outgoing]]:
        return FrameWriter(self).write


class FrameWriter:
    """Encodes a socket's frames, with the planned faults."""

    def __init__(self, misbehaviour: Spoiler) -> None:
        self._misbehaviour = misbehaviour
        self._held: list[tuple[str, str]] = []
        """Late frames, and the type of the frame that each follows; an empty type means any."""

    def write(self, frame: dict[str, Any]) -> list[Outgoing]:
        """Return what to send for a frame."""
        text, kind = json.dumps(frame), frame["type"]
        planned = self._misbehaviour.frames
        number = next((n for n, (_, where) in enumerate(planned) if where in ("", kind)), None)
        fault = None if number is None else planned.pop(number)[0]
        if fault in (FrameFault.LATE, FrameFault.OVERTAKEN):
            self._held.append((kind if fault is FrameFault.OVERTAKEN else "", text))
            return []
        released = [held for held in self._held if held[0] in ("", kind)]
        self._held = [held for held in self._held if held not in released]
        spoiled = [text] if fault is None else _spoil(fault, text, kind)
        extra, self._misbehaviour.extra = self._misbehaviour.extra, []
        return [*extra, *spoiled, *(late for _, late in released)]


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
