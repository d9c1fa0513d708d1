"""Text from users made safe to show in chat, terminals and files."""

from __future__ import annotations

import re
import unicodedata

_RIGHT_TO_LEFT = {"R", "AL", "AN"}


_ISOLATE, _END_ISOLATE = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


def plain(text: str) -> str:
    """Text from a user made harmless: no mention, no link, no control character, no line break.

    The site turns `@everyone` and the like into notifications and addresses into links, also in a bot's
    message; the look-alike characters used instead are neither. Text that is written from right to left is
    isolated, or it would turn round the numbers that follow it: 1530→1000 in place of 1000→1530.
    """
    visible = printable(text)
    visible = visible.replace("@", "＠").replace("://", ":∕∕").replace("##", "#＃")
    visible = re.sub(r"\.(?=[^\W\d_]{2})", "․", visible)
    visible = " ".join(visible.split()) or "?"
    turned = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in visible)
    return f"{_ISOLATE}{visible}{_END_ISOLATE}" if turned else visible


def printable(text: str) -> str:
    """Text without control characters or line breaks, otherwise as it is: for terminals and files."""
    if text.isprintable():
        return text
    return "".join(" " if char.isspace() else char for char in text if _visible(char))


def _visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
