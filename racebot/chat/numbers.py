"""Writes numbers for chat, in the wording that the operator chose."""

from __future__ import annotations

from racebot.chat.wording import Texts
from racebot.text.format import integer, ordinal_ending, percentage


def percent(chance: float, texts: Texts) -> str:
    """Write a probability in percent, as in 7%, <1% and >99%."""
    return texts.percent.format(number=percentage(chance))


def decimal(number: float, texts: Texts) -> str:
    """Write a number of zero or more with one digit after the decimal sign."""
    whole, _, tenths = f"{number:.1f}".partition(".")
    return texts.decimal.format(whole=whole, tenths=tenths)


def ordinal(place: int, texts: Texts) -> str:
    """Write a place as an ordinal, in English 1st, 2nd, 3rd, 11th, 22nd."""
    template = texts.ordinal_first if place == 1 else texts.ordinal
    return template.format(place=place, ending=ordinal_ending(place))


def shown_points(points: int, texts: Texts, *, ranked: bool) -> str:
    """Write a rating, marked if the player has too few finishes to be ranked."""
    shown = integer(points)
    return shown if ranked else texts.unranked_points.format(points=shown)
