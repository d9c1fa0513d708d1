"""Turn bytes into nearly valid documents; the same bytes always give the same document.

Hypothesis supplies the bytes, and so steers the mutations.
"""

import copy
import json
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

HALF = "\ud800"
TEXTS = (
    "",
    " ",
    "\0",
    "a" * 2_000,
    "a" * 5_000,
    HALF,
    "An" + HALF,
    "é\u0301\u202e\u2066x\u200b",
    "\x1b[31m\x1b]0;title\x07",
    "@everyone",
    "[link=https://elsewhere.example]x[/link]",
    "P" + "9" * 5_000 + "DT1S",
    *["orb/r", "orb/../o/token", "orb/r?x#y"],
    *["finished", "cancelled", "open", "in_progress", "done", "dnf", "dq", "ready", "invited"],
    *["P0DT01H00M03.047053S", "P999999DT999999999H999999999M999999999.999999999S", "P-1DT1S", "PT"],
    *["2026-03-01T12:00:00Z", "2026-03-01T12:00:00", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59"],
    *["9999-12-31T23:59:59-23:59", "1970-01-01T00:00:00Z", "2999-12-31T23:59:59Z", "2026-02-30T00:00:00Z"],
    *["2026-W09-7T24:00Z", "2026-03-01T12:00:00+99:99", "2026-03-01T12:00:00+00:00:00.000001"],
    *["race.data", "chat.message", "chat.history", "error", "pong"],
    "Permission denied. Check your authorization token.",
)
NUMBERS = (
    *(0, 1, -1, 9999, 2**31, 2**63 - 1, 2**63, -(2**63), 10**400),
    *(0.5, -0.0, 1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
)


class Bytes:
    """Choices read from bytes; past their end, every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return max(0, len(self._data) - self._at)

    def number(self, below: int) -> int:
        """Return a number from 0 up to, but not including, `below`, which may not exceed 65,536."""
        size = 1 if below <= 256 else 2
        return int.from_bytes(self.take(size), "big") % below

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.number(len(choices))]

    def rest(self) -> bytes:
        return self.take(self.left)

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def text(self) -> str:
        """Return a hostile text, or one made of the bytes."""
        if self.number(4):
            return self.one_of(TEXTS)
        return self.take(self.number(24)).decode("utf-8", "surrogateescape")


def nasty(source: Bytes) -> Any:
    """Return a value of a wrong kind."""
    match source.number(8):
        case 0 | 1 | 2:
            return source.text()
        case 3 | 4:
            return source.one_of(NUMBERS)
        case 5:
            return source.one_of((None, False, True))
        case 6:
            return source.one_of(([], {}, [None], [[]], {"": None}, {"value": "done"}, ["a"], [{}]))
        case _:
            deep: Any = source.one_of((None, "x", {}))
            for _ in range(source.one_of((3, 40, 200))):
                deep = [deep] if source.number(2) else {"a": deep}
            return deep


def bent(document: Any, source: Bytes) -> Any:
    """Return a copy of a document with parts replaced, removed, doubled or swapped."""
    document = copy.deepcopy(document)
    for _ in range(source.number(6)):
        parts = list(_parts(document))
        if not parts:
            return nasty(source)
        holder, key = parts[source.number(min(len(parts), 65_536))]
        match source.number(6):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 2:
                other, name = parts[source.number(min(len(parts), 65_536))]
                holder[key] = copy.deepcopy(other[name])
            case 3 if isinstance(holder, dict):
                holder[source.text()] = nasty(source)
            case _:
                holder[key] = nasty(source)
    return document


def written(document: Any, source: Bytes) -> bytes:
    """Return a document as JSON, sometimes with damaged bytes."""
    try:
        text = json.dumps(document, ensure_ascii=not source.number(2))
    except (ValueError, RecursionError):
        text = "[" * 5_000
    return damaged(text.encode("utf-8", "surrogatepass"), source)


def damaged(content: bytes, source: Bytes) -> bytes:
    """Return the same bytes, sometimes with damaged ones."""
    raw = bytearray(content)
    for _ in range(1 + source.number(4) if source.number(4) == 1 else 0):
        at = (source.number(65_536) * len(raw)) >> 16
        match source.number(4):
            case 0:
                raw[at : at + 1] = source.take(1)
            case 1:
                del raw[at:]
            case 2:
                raw[at:at] = raw[: source.number(64)]
            case _:
                raw[at:at] = source.take(source.number(8))
    return bytes(raw)


def _parts(document: Any) -> Any:
    """Yield every container of a document with each of its keys, without recursion."""
    waiting = [document] if isinstance(document, (list, dict)) else []
    while waiting:
        holder = waiting.pop()
        for key in range(len(holder)) if isinstance(holder, list) else list(holder):
            yield holder, key
            if isinstance(holder[key], (list, dict)):
                waiting.append(holder[key])
