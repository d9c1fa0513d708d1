"""The request for a document, and its content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from racebot.web.site.ledger_view import LedgerView

HTML = "text/html; charset=utf-8"
JSON = "application/json"
CSV = "text/csv; charset=utf-8"
PNG = "image/png"
SVG = "image/svg+xml"
ICO = "image/x-icon"
ATOM = "application/atom+xml; charset=utf-8"
CSS = "text/css; charset=utf-8"


@dataclass(frozen=True)
class Document:
    """The content at one address."""

    body: bytes
    media_type: str = HTML

    @cached_property
    def tag(self) -> str:
        """The entity tag: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3."""
        return f'W/"{hashlib.sha256(self.body).hexdigest()[:20]}"'


@dataclass(frozen=True, slots=True)
class Moved:
    """The address that an address has moved to, as a path."""

    path: str


Content = Document | Moved | None
"""The content at an address, or None if there is none."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a document. `query` has the parameters that the address accepts, none in an export."""

    view: LedgerView
    path: str
    query: Mapping[str, str]
    served: bool
