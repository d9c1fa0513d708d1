"""Documents: the body of a page or of data, whole or in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

HTML = "text/html; charset=utf-8"
JSON = "application/json"
CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one address."""

    body: bytes
    media_type: str = HTML


@dataclass(frozen=True, slots=True)
class Streamed:
    """Content of an address that may be too large to hold in memory.

    Attributes:
        pieces: starts reading from the beginning.
        media_type: of the whole.
    """

    pieces: Callable[[], Iterator[bytes]]
    media_type: str
