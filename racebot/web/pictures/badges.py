"""Badges of players, to show on other sites."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from xml.etree import ElementTree as ET

from racebot.text.format import integer
from racebot.text.safe import isolated
from racebot.web.pictures import fonts
from racebot.web.pictures.cards import ACCENT
from racebot.web.pictures.fonts import Style
from racebot.web.site import addresses
from racebot.web.site.addresses import Route
from racebot.web.site.formats import shown_name
from racebot.web.site.ledger_view import Board
from racebot.web.site.request import SVG, Content, Document, PageRequest

LONGEST_NAME = 30
_HEIGHT = 20
_PADDING = 7
_TEXT = Style(11, 500)
_LABEL = "#3b4252"
_EQUALLY_WIDE = re.compile(r"\d(?=.)")
"""Digits before the last character of a number, whose width depends only on their count."""


def badge(request: PageRequest, board: Board, player: str) -> Content:
    standing = request.view.standing(board, player)
    if standing is None:
        return None
    name = shown_name(standing.name, LONGEST_NAME)
    points = f"{integer(standing.points)}{'?' if standing.provisional else ''}"
    return Document(badge_svg(name, points), SVG)


def latest_badge(request: PageRequest, player: str) -> Content:
    """Draw the badge of the leaderboard on which a player raced last."""
    standings = request.view.standings(player) if request.served else ()
    return badge(request, standings[0][0], player) if standings else None


def badge_svg(label: str, value: str, color: str = ACCENT) -> bytes:
    """Draw a badge with two texts side by side, the second on a background of this color.

    A viewer may lack our font, so the texts are stretched to the width that they have in it. A viewer may
    also have a font for what ours lack, so that gets room, too.
    """
    widths = [_width(text) for text in (label, _EQUALLY_WIDE.sub("0", value))]
    left, right = (width + 2 * _PADDING for width in widths)
    spoken = f"{isolated(label)}: {value}"
    svg = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        width=str(left + right),
        height=str(_HEIGHT),
        role="img",
        attrib={"aria-label": spoken},
    )
    ET.SubElement(svg, "title").text = spoken
    clip = ET.SubElement(svg, "clipPath", id="r")
    ET.SubElement(clip, "rect", width=str(left + right), height=str(_HEIGHT), rx="4", fill="#fff")
    boxes = ET.SubElement(svg, "g", attrib={"clip-path": "url(#r)"})
    ET.SubElement(boxes, "rect", width=str(left), height=str(_HEIGHT), fill=_LABEL)
    ET.SubElement(boxes, "rect", x=str(left), width=str(right), height=str(_HEIGHT), fill=color)
    texts = ET.SubElement(
        svg,
        "g",
        attrib={
            "fill": "#fff",
            "font-family": "Inter,Verdana,Geneva,DejaVu Sans,sans-serif",
            "font-size": str(_TEXT.size),
            "font-weight": "500",
        },
    )
    for text, x, width in ((label, _PADDING, widths[0]), (value, left + _PADDING, widths[1])):
        fit = {"textLength": str(width), "lengthAdjust": "spacingAndGlyphs"}
        ET.SubElement(texts, "text", x=str(x), y="14", attrib=fit).text = text
    return ET.tostring(svg, encoding="unicode").encode()


@lru_cache(maxsize=1024)
def _width(text: str) -> int:
    return round(fonts.width(text, _TEXT) + 1.25 * _TEXT.size * fonts.missing(text)) or 8


BADGES: Mapping[Route, Callable[..., Content]] = {
    addresses.BADGE: badge,
    addresses.LATEST_BADGE: latest_badge,
}
"""Every badge with its function."""
