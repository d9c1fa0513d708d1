"""The operator's choices for how the pages look: title, accent color and footer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

THEME = "assets/theme.css"
"""Style sheet with the operator's accent color."""
LEAST_CONTRAST = 4.5
"""Contrast that text needs: https://www.w3.org/TR/WCAG22/#contrast-minimum."""
BACKGROUNDS = {"light": "#f3f1ea", "dark": "#20262e"}
"""The least favorable background of links in each scheme, as in the style sheet."""

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
    """Return a style sheet that sets the accent color, made readable on light and dark backgrounds."""
    light = on_light(accent)
    dark = _readable(accent, BACKGROUNDS["dark"], lambda part: part + (255 - part) * 0.05)
    return (
        f":root {{ --accent: {light}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ --accent: {dark}; }} }}\n"
    ).encode()


def on_light(accent: str) -> str:
    """Return an accent color, darker if it would be hard to read on a light background."""
    return _readable(accent, BACKGROUNDS["light"], lambda part: part * 0.95)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, from 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _readable(color: str, background: str, shift: Callable[[float], float]) -> str:
    """Shift a color step by step until it is readable on a background."""
    if not _HEX.fullmatch(color):
        raise ValueError(f"{color!r} is not a color of the form #rrggbb")
    parts: list[float] = list(_parts(color))
    found = color.lower()
    while contrast(found, background) < LEAST_CONTRAST:
        parts = [shift(part) for part in parts]
        found = "#" + "".join(f"{round(part):02x}" for part in parts)
    return found


def _parts(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _luminance(color: str) -> float:
    shares = (part / 255 for part in _parts(color))
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
