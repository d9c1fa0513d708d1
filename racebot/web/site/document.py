"""The body of a page or data file, in memory or streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

HTML = "text/html; charset=utf-8"
JSON = "application/json"
CSV = "text/csv; charset=utf-8"
PNG = "image/png"
SVG = "image/svg+xml"
ICO = "image/x-icon"
ATOM = "application/atom+xml; charset=utf-8"
CSS = "text/css; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Document:
    """The content at one address."""

    body: bytes
    media_type: str = HTML


@dataclass(frozen=True, slots=True)
class Streamed:
    """Content that may be too large to hold in memory.

    Attributes:
        pieces: returns an iterator over the body; each call starts from the beginning.
        media_type: the media type of the body.
        tag: its entity tag, which changes whenever the body may have changed.
    """

    pieces: Callable[[], Iterator[bytes]]
    media_type: str
    tag: str


Content = Document | Streamed | None
"""The content at an address, or None if there is none."""
