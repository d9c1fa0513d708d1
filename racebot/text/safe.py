"""Makes text from users safe to show in chat, terminals and files."""

from __future__ import annotations

import re
import unicodedata

_RIGHT_TO_LEFT = {"R", "AL", "AN"}


_ISOLATE, _END_ISOLATE = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


def plain(text: str) -> str:
    """Return text for a chat message, without mentions, links, control characters and line breaks.

    The site turns `@everyone` into notifications and addresses into links, even in a bot's message, so their
    signs are replaced by look-alikes. Right-to-left text is isolated, since it would otherwise reverse the
    numbers after it: 1530→1000 instead of 1000→1530.
    """
    visible = printable(text)
    visible = visible.replace("@", "＠").replace("://", ":∕∕").replace("##", "#＃")
    visible = re.sub(r"\.(?=[^\W\d_]{2})", "․", visible)
    visible = " ".join(visible.split()) or "?"
    turned = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in visible)
    return f"{_ISOLATE}{visible}{_END_ISOLATE}" if turned else visible


def printable(text: str) -> str:
    """Return text for terminals and files, without control characters and line breaks."""
    if text.isprintable():
        return text
    return "".join(" " if char.isspace() else char for char in text if _visible(char))


def _visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
