"""Fonts for pictures. Pillow draws each text with one font, so a text is split into runs."""

import threading
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont, features

_PACKAGED = (
    ("fontpkg_inter", "files/Inter[opsz,wght].ttf"),
    ("fontpkg_noto_sans_arabic", "files/NotoSansArabic[wdth,wght].ttf"),
    ("fontpkg_heebo", "files/Heebo[wght].ttf"),
    ("justmytype_intl_cjk", "fonts/ofl/notosansjp/NotoSansJP[wght].ttf"),
    ("justmytype_intl_cjk", "fonts/ofl/notosanskr/NotoSansKR[wght].ttf"),
    ("justmytype_intl_cjk", "fonts/ofl/notosanssc/NotoSansSC[wght].ttf"),
)
"""Font packages by preference, with their files. The last three come with the extra `cjk`."""
_UNKNOWN = "\U0010ffff"
"""A character that no font has. A font draws the same box for all characters that it lacks."""
_SHAPING = bool(features.check("raqm"))  # whether Pillow can join Arabic letters, and align digits
_local = threading.local()


@dataclass(frozen=True, slots=True)
class Style:
    """The size of a text in pixels, and its weight from 100 to 900."""

    size: int
    weight: int = 500


class Run(NamedTuple):
    """A part of a text that one font can draw."""

    text: str
    font: ImageFont.FreeTypeFont

    @property
    def width(self) -> float:
        return self.font.getlength(self.text, features=_features(self.text))

    @property
    def reach(self) -> float:
        """The width in whole pixels, or more if a last letter or mark stands out beyond it."""
        return self.font.getbbox(self.text, anchor="ls", features=_features(self.text))[2]


_TRIED = Style(20, 800)  # the style in which `_has` draws a character
MOST_MARKS = 2  # Most marks and joiners of one letter. More would reach into other lines


def runs(text: str, style: Style) -> list[Run]:
    """Split a text into runs, from left to right. Characters that no font has are left out."""
    found = [Run(part, _font(path, style)) for part, path in _parts(text)]
    strong = (unicodedata.bidirectional(char) for char in text)
    begins = next((each for each in strong if each in {"L", "R", "AL"}), "L")
    return found if begins == "L" else found[::-1]


def width(text: str, style: Style) -> float:
    """Return the width of a text in pixels, with any mark that stands out at its end."""
    parts = runs(text, style)
    return sum(run.width for run in parts[:-1]) + (parts[-1].reach if parts else 0)


def shortened(text: str, style: Style, limit: float) -> str:
    """Return a text, cut with an ellipsis if it is wider than `limit` pixels."""
    if width(text, style) <= limit:
        return text
    lengths = range(1, len(text) + 1)
    end = bisect_right(lengths, limit, key=lambda length: width(text[:length].rstrip() + "…", style))
    while end and unicodedata.category(text[end : end + 1] or "a") in {"Mn", "Me", "Cf"}:
        end -= 1  # keeps a mark with its letter
    return text[:end].rstrip() + "…"


def drawable(text: str) -> str:
    """Return a text without the characters that no font has."""
    return "".join(part for part, _ in _parts(text))


def draw_text(canvas: Image.Image, at: tuple[float, float], text: str, style: Style, color: str) -> float:
    """Draw a text with its baseline's left end at a point, and return its width."""
    x, y = at
    draw = ImageDraw.Draw(canvas)
    for run in runs(text, style):
        draw.text((x, y), run.text, color, run.font, anchor="ls", features=_features(run.text))
        x += run.width
    return x - at[0]


def _features(text: str) -> list[str] | None:
    """Return the font features for a text: digits of equal width for numbers, so that they align."""
    return ["tnum"] if _SHAPING and not any(char.isalpha() for char in text) else None


def _parts(text: str) -> list[tuple[str, str]]:
    """Split a text by the font that draws each part, without characters that no font has."""
    drawn: list[tuple[str, str]] = []
    letter, marks = None, 0  # a letter that no font has is left out with its marks
    for char in text:
        category = unicodedata.category(char)
        if char.isspace():
            path: str | None = drawn[-1][1] if drawn else _paths()[0]
        elif category in {"Mn", "Mc", "Me", "Cf"}:  # a mark or a joiner, which belongs to the letter before
            marks += 1
            invisible = category == "Cf" or "\ufe00" <= char <= "\ufe0f"  # shaping needs no glyph for these
            stays = letter and marks <= MOST_MARKS and (_SHAPING if invisible else _has(letter, char))
            path = letter if stays else None
        else:
            path = letter = next((each for each in _paths() if _has(each, char)), None)
            marks = 0
        if path is not None:
            drawn.append((char, path))
    return [("".join(char for char, _ in run), path) for path, run in groupby(drawn, key=itemgetter(1))]


@lru_cache(maxsize=4096)
def _has(path: str, char: str) -> bool:
    # Shaping puts a dotted circle under a mark on its own, so the comparison does without.
    font = _font(path, _TRIED, ImageFont.Layout.BASIC)
    try:
        return bytes(font.getmask(char)) != _unknown(path)
    except OSError:
        return False  # a glyph too large to draw


@cache
def _unknown(path: str) -> bytes:
    """Return what a font draws for a character that it lacks."""
    return bytes(_font(path, _TRIED, ImageFont.Layout.BASIC).getmask(_UNKNOWN))


@cache
def _paths() -> tuple[str, ...]:
    found = []
    for package, name in _PACKAGED:
        if find_spec(package) is not None:
            path = Path(str(resources.files(package).joinpath(name)))
            if path.exists():
                found.append(str(path))
    return tuple(found)


def _font(path: str, style: Style, layout: ImageFont.Layout | None = None) -> ImageFont.FreeTypeFont:
    """Load a font. Each thread has its own, since a font is not thread-safe."""
    fonts: dict[object, ImageFont.FreeTypeFont] = _local.__dict__.setdefault("fonts", {})
    key = (path, style, layout)
    if key not in fonts:
        font = ImageFont.truetype(path, style.size, layout_engine=layout)
        font.set_variation_by_axes([_axis(axis, style) for axis in font.get_variation_axes()])
        fonts[key] = font
    return fonts[key]


def _axis(axis: ImageFont.Axis, style: Style) -> float:
    wanted = {b"weight": style.weight, b"optical size": style.size}.get((axis["name"] or b"").lower())
    if wanted is None:
        return float(axis["default"] or 0)
    return min(max(wanted, axis["minimum"] or 0), axis["maximum"] or wanted)
