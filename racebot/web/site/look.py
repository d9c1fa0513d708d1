"""The operator's choices for how the pages look: title, accent color and footer."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

THEME, THEME_ICON = "assets/theme.css", "assets/theme.svg"
"""Style sheet and icon with the operator's accent color."""
LEAST_CONTRAST = 4.5
"""Contrast that text needs: https://www.w3.org/TR/WCAG22/#contrast-minimum."""
BACKGROUNDS = {"light": "#f3f1ea", "dark": "#20262e"}
"""The least favorable background of links in each scheme, as in the style sheet."""
ACCENTS = {"light": "#2c4bb8", "dark": "#a5b8ff"}
"""The style sheet's own accent color in each scheme."""
OTHERS = {"light": "#b3590e", "dark": "#f0a35e"}
"""The style sheet's color of the second player of a comparison."""
_CARDS = {"light": "#ffffff", "dark": "#191d24"}
_BAR = 0.8
"""Share of the accent color in the color of bars; the rest is the card's."""
_LEAST_HUE, _LEAST_SATURATION = 50 / 360, 0.25
"""Difference of hue above which two colors look different, and the saturation below which a color is gray."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class Look:
    """How the pages look.

    Attributes:
        title: name of the pages, shown at the top of each.
        accent: color of links and graphs as `#rrggbb`; empty for the style sheet's own.
        footer: text at the bottom of each page.
    """

    title: str = "Race ratings"
    accent: str = ""
    footer: str = ""


DEFAULT_LOOK = Look()


def theme(accent: str) -> bytes:
    """Return a style sheet with the accent color, made readable on light and dark backgrounds."""
    light, dark = (_rules(accent, scheme) for scheme in BACKGROUNDS)
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n".encode()


def on_light(accent: str) -> str:
    """Return an accent color, darker if it would be hard to read on a light background.

    Args:
        accent: color as `#rrggbb`; empty for the style sheet's own.
    """
    return _readable(accent or ACCENTS["light"], "light")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, from 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _rules(accent: str, scheme: str) -> str:
    color = _readable(accent, scheme)
    bar = _color(
        _BAR * one + (1 - _BAR) * other
        for one, other in zip(_parts(color), _parts(_CARDS[scheme]), strict=True)
    )
    rules = f"--accent: {color}; --bar: {bar};"
    return f"{rules} --other: {ACCENTS[scheme]};" if _alike(color, OTHERS[scheme]) else rules


def _readable(color: str, scheme: str) -> str:
    """Shift a color step by step until it is readable on the background of a scheme."""
    if not _HEX.fullmatch(color):
        raise ValueError(f"{color!r} is not a color of the form #rrggbb")
    limit = 0 if scheme == "light" else 255
    parts: Sequence[float] = _parts(color)
    found = color.lower()
    while contrast(found, BACKGROUNDS[scheme]) < LEAST_CONTRAST:
        parts = [part + (limit - part) * 0.05 for part in parts]
        found = _color(parts)
    return found


def _alike(one: str, other: str) -> bool:
    """Return True if two colors have a similar hue."""
    hues = []
    for color in (one, other):
        hue, _, saturation = colorsys.rgb_to_hls(*(part / 255 for part in _parts(color)))
        if saturation < _LEAST_SATURATION:
            return False
        hues.append(hue)
    apart = abs(hues[0] - hues[1])
    return min(apart, 1 - apart) < _LEAST_HUE


def _color(parts: Iterable[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def _parts(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _luminance(color: str) -> float:
    shares = (part / 255 for part in _parts(color))
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
