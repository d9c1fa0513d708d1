"""Remove secrets from text that people attach to a public issue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, quote_plus

REMOVED = "[removed]"

_SENSITIVE = re.compile(
    r"""
    (?P<webhook>\bhttps?://[^\s?"'<>]{1,200}/webhooks/\d+/)[^\s"'<>]+   # the token of a Discord webhook
  | (?P<keep>\b(?:bearer|basic)\s+)[^\s"',;]+                   # Authorization headers
  | (?P<name>["']?\b[\w-]*(?:secret|token|password|passwd|api_?key|authorization|cookie|session)[\w-]*["']?
      \s*[=:]\s*(?:(?:bearer|basic)\s+)?)                             # name=value and "name": "value"
      (?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"',;&]+)
  | (?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/@]+@                       # user and password in an address
  | (?P<query>\b[a-z][a-z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>]*          # the query of an address
  | \b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b                                  # e-mail addresses
  | (?<![\w/-])(?=[\w-]*[0-9])(?=[\w-]*[A-Za-z])[A-Za-z0-9_-]{24,}(?![\w-])  # opaque keys
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Redactor:
    """Replaces known secrets, however logs and settings write them, and anything that looks like one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        # The longest first: one secret may contain another.
        ordered = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._home = re.compile(re.escape(str(Path.home())) + r"(?=[/\\]|$)|(?<=/home/)[^/\s]+")

    def __call__(self, text: str) -> str:
        """Return a text without secrets, account names and query strings."""
        if self._known is not None:
            text = self._known.sub(REMOVED, text)
        return _SENSITIVE.sub(_kept, self._home.sub("~", text))


def _forms(secret: str) -> set[str]:
    """Return a secret as it may be written: plain, in JSON, in an address, as Python shows it."""
    in_json = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    return {secret, *in_json, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]}


def _kept(match: re.Match[str]) -> str:
    kept = next((part for part in match.groups() if part), "")
    return f"{kept}?{REMOVED}" if match["query"] else f"{kept}{REMOVED}{'@' if match['scheme'] else ''}"
