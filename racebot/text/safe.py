"""Makes text from users safe to show in chat, terminals and files."""

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_ISOLATE, _END_ISOLATE = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
_JOINER = "\N{ZERO WIDTH JOINER}"
_PICTOGRAPH = r"\u2190-\u2bff\U0001f000-\U0001faff"
_JOINED = re.compile(rf"(?<=[{_PICTOGRAPH}\ufe0f])\u200d(?=[{_PICTOGRAPH}])")
"""A joiner between two pictographs, as in family emoji."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
    rf"|(?<![{_PICTOGRAPH}0-9#*])[\ufe0e\ufe0f]"
)
"""Fillers and selectors that look like nothing, but are letters, marks or symbols by their category.

Emoji keep the selectors that choose between their two styles.
"""
MOST_MARKS = 4
"""Most combining marks on one letter. More would reach into other lines."""


def plain(text: str) -> str:
    """Make a user's text harmless in a room: no mention, link, markup, control character or line break.

    The site turns `@everyone` and addresses into notifications and links, even in a bot's message, so their
    characters are replaced by look-alikes. Right-to-left text is isolated.
    """
    shown = printable(text).replace("@", "＠").replace("://", ":∕∕").replace("##", "#＃")
    return isolated(" ".join(shown.split()) or "?")


def isolated(text: str) -> str:
    """Isolate right-to-left text, so that it does not reorder the numbers after it."""
    turned = not text.isascii() and any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text)
    return f"{_ISOLATE}{text}{_END_ISOLATE}" if turned else text


def in_markdown(text: str, longest: int = 40) -> str:
    """Shorten a safe text and escape it for Discord's Markdown, where it means nothing then."""
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", shown)  # https://support.discord.com/hc/articles/210298617


def without_domains(text: str) -> str:
    """Replace the dots of names such as `example.org`, which info boxes link, and let no line break there."""
    return re.sub(r"\.(?=[^\W\d_]{2})", "\N{WORD JOINER}․\N{WORD JOINER}", text)


def printable(text: str) -> str:
    """Remove control and invisible characters, line breaks and piles of marks, for terminals and files."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub("", text)
    joined = {match.start() for match in _JOINED.finditer(text)}
    shown, marks = " ", 0
    for index, char in enumerate(text):
        category = unicodedata.category(char)
        if not (char.isspace() or category not in _HIDDEN or index in joined):
            continue
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks == 0 or (marks <= MOST_MARKS and shown[-1] != " "):
            shown += " " if char.isspace() else char
    return shown[1:]


def visible(text: str) -> str:
    """Return `printable` text without joiners, for comparison with text that the site may have stripped."""
    return printable(text).replace(_JOINER, "")


def initials(name: str) -> str:
    """Return the first letters or digits of a name's first two words, or `?`."""
    words = re.findall(r"[^\W_]+", printable(name))
    return "".join(word[0] for word in words[:2]).upper()[:2] or "?"
