"""Formats names, numbers and entries for chat, in the wording that the operator chose."""

import unicodedata
from collections.abc import Iterable

from racebot.races.result import NO_NAME, Entrant, shown_names
from racebot.settings.texts import Texts
from racebot.text.format import Count, ordinal_ending, percentage
from racebot.text.safe import plain

NO_BREAK = "\N{NO-BREAK SPACE}"
WIDEST_ENTRY = 40
"""Widest entry to keep on one line. A column of chat is about 45 Latin letters wide."""


def chat_names(entrants: Iterable[Entrant], texts: Texts) -> dict[str | None, str]:
    """Return the names to show for a race's entrants in chat, by user id. Mask hidden ones before."""
    return {
        entrant.user_id: texts.deleted_name if entrant.name == NO_NAME else plain(name)
        for entrant, name in shown_names(entrants).items()
    }


def percent(chance: float, texts: Texts) -> str:
    """Write a probability in percent, as in 7%, <1% and >99%."""
    return texts.percent.format(number=percentage(chance))


def decimal(number: float, texts: Texts) -> str:
    """Write a number of zero or more with one digit after the decimal sign."""
    whole, _, tenths = f"{number:.1f}".partition(".")
    return texts.decimal.format(whole=whole, tenths=tenths)


def ordinal(place: int, texts: Texts) -> str:
    """Write a place as an ordinal, in English 1st, 2nd, 3rd, 11th, 22nd."""
    return texts.ordinal.format(place=Count(place), ending=ordinal_ending(place))


def unbroken(entry: str) -> str:
    """Keep an entry on one line of chat, or on as few as possible if it is wider than a line.

    Spaces become no-break spaces. Names stay as they are, since the site notifies players only of their name
    as they write it.
    """
    line, *words = entry.split(" ")
    lines = ""
    for word in words:
        # A word that no line can hold breaks anyway, so it need not leave its line.
        if _width(line) + 1 + _width(word) <= WIDEST_ENTRY or _width(word) > WIDEST_ENTRY:
            line += NO_BREAK + word
        else:
            lines, line = f"{lines}{line} ", word
    return lines + line


def _width(text: str) -> int:
    """Return the width of a text in Latin letters."""
    return sum(2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1 for char in text)
