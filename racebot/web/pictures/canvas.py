"""A canvas for cards: pictures of 1200 × 630 pixels that chat programs and social sites show with a link.

The colors are those of the pages in light mode.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw

from racebot.web.pictures import fonts
from racebot.web.pictures.fonts import Style
from racebot.web.site.look import ACCENTS

WIDTH, HEIGHT = 1200, 630
MARGIN = 64
INK, SOFT, LINE, PAPER, CARD = "#1a1e24", "#5a626c", "#e5e1d8", "#faf9f6", "#ffffff"
GAIN, LOSS = "#0d6b3a", "#a8271e"
MEDALS = {1: "#f3c443", 2: "#ccd3da", 3: "#dfa578"}
COLORS = 128
"""Colors of the stored picture, which keep it at about 30 kB."""
_SMOOTH = 3
"""Shapes are drawn this much larger and reduced, since Pillow draws hard edges."""
_STRIP = 12
"""Side of a square of the finish line."""


class Canvas:
    """A card to draw on.

    Args:
        accent: the color of links and graphs, such as #0b7285.
    """

    def __init__(self, accent: str = ACCENTS["light"]) -> None:
        self.accent = accent
        self._image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
        self._draw = ImageDraw.Draw(self._image)
        for row in range(2):
            for column in range(row, WIDTH // _STRIP, 2):
                left, top = column * _STRIP, row * _STRIP
                self._draw.rectangle((left, top, left + _STRIP - 1, top + _STRIP - 1), INK)

    def text(self, x: float, y: float, text: str, style: Style, color: str = INK, limit: float = 0) -> float:
        """Write a text with its baseline's left end at a point, and return its right end.

        Args:
            x: left end.
            y: baseline.
            text: the text, without line breaks.
            style: size and weight.
            color: its color.
            limit: widest text in pixels; a longer one is cut. 0 allows any.
        """
        shown = fonts.shortened(text, style, limit) if limit else text
        return x + fonts.draw_text(self._image, (x, y), shown, style, color)

    def text_to(self, x: float, y: float, text: str, style: Style, color: str = INK) -> float:
        """Write a text with its baseline's right end at a point, and return its left end."""
        left = x - fonts.width(text, style)
        fonts.draw_text(self._image, (left, y), text, style, color)
        return left

    def title(self, y: float, text: str, *, limit: float = WIDTH - 2 * MARGIN) -> None:
        """Write a title as large as fits."""
        sizes = (Style(size, 800) for size in (84, 76, 68, 60, 54))
        style = next((each for each in sizes if fonts.width(text, each) <= limit), Style(54, 800))
        self.text(MARGIN, y, text, style, limit=limit)

    def footer(self, title: str, address: str) -> None:
        """Write the pages' title with its sign, and their address."""
        y = HEIGHT - 44
        self.sign(MARGIN, y - 27, 34)
        end = self.text(MARGIN + 48, y, title, Style(27, 700), limit=600)
        if address:
            style = Style(25, 500)
            shown = fonts.shortened(address, style, WIDTH - MARGIN - end - 40)
            self.text_to(WIDTH - MARGIN, y, shown, style, SOFT)

    def sign(self, x: float, y: float, side: int) -> None:
        """Draw the chequered sign of the pages."""
        self.panel((x, y, x + side, y + side), self.accent, radius=side // 5)
        square = side / 6.4
        _chequer(self._draw, x + 1.2 * square, y + 1.2 * square, square)

    def panel(self, box: tuple[float, float, float, float], color: str, radius: float) -> None:
        """Fill a box with round corners."""
        mask = self._mask(box)
        edge = (mask.width - 1, mask.height - 1)
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, *edge), radius * _SMOOTH, 255)
        self._paste(mask, box, color)

    def medal(self, x: float, y: float, place: int, size: int = 44) -> None:
        """Draw a place in a disc around a point, gold, silver or bronze for the first three."""
        box = (x - size / 2, y - size / 2, x + size / 2, y + size / 2)
        if place in MEDALS:
            self.panel(box, MEDALS[place], radius=size / 2)
        style = Style(round(size * 0.52), 700)
        text = str(place)
        color = INK if place in MEDALS else SOFT
        self.text(x - fonts.width(text, style) / 2, y + size * 0.19, text, style, color)

    def portrait(self, x: float, y: float, side: int, picture: bytes) -> bool:
        """Draw a round picture. Return False if it cannot be read."""
        try:
            with Image.open(io.BytesIO(picture)) as opened:
                shown = opened.convert("RGB").resize((side, side), Image.Resampling.LANCZOS)
        except (OSError, ValueError):
            return False
        box = (x, y, x + side, y + side)
        mask = self._mask(box)
        ImageDraw.Draw(mask).ellipse((0, 0, mask.width - 1, mask.height - 1), 255)
        self._image.paste(shown, (round(x), round(y)), mask.resize((side, side), Image.Resampling.BOX))
        return True

    def rule(self, y: float) -> None:
        """Draw a thin line across the card."""
        self._draw.line((MARGIN, y, WIDTH - MARGIN, y), LINE, 2)

    def graph(self, box: tuple[float, float, float, float], values: Sequence[float]) -> None:
        """Draw a line through values, with the highest and the last one marked."""
        left, top, *_ = box
        low, high = min(values), max(values)
        reach = max(high - low, 1)
        mask = self._mask(box)
        inset = 8 * _SMOOTH
        across, down = mask.width - 2 * inset, mask.height - 2 * inset
        points = [
            (inset + across * at / max(len(values) - 1, 1), inset + down * (1 - (value - low) / reach))
            for at, value in enumerate(values)
        ]
        area = self._mask(box)
        ImageDraw.Draw(area).polygon([(inset, mask.height), *points, (inset + across, mask.height)], 24)
        self._paste(area, box, self.accent)
        pen = ImageDraw.Draw(mask)
        pen.line(points, 255, 4 * _SMOOTH, joint="curve")
        self._paste(mask, box, self.accent)
        for x, y in {points[values.index(high)], points[-1]}:
            self.panel(_disc(left + x / _SMOOTH, top + y / _SMOOTH, 8), self.accent, 8)
            self.panel(_disc(left + x / _SMOOTH, top + y / _SMOOTH, 4), CARD, 4)

    def png(self) -> bytes:
        """Return the card as a PNG file."""
        file = io.BytesIO()
        self._image.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            file, "PNG", compress_level=6
        )
        return file.getvalue()

    def _mask(self, box: tuple[float, float, float, float]) -> Image.Image:
        left, top, right, bottom = box
        return Image.new("L", (round(right - left) * _SMOOTH, round(bottom - top) * _SMOOTH))

    def _paste(self, mask: Image.Image, box: tuple[float, float, float, float], color: str) -> None:
        smooth = mask.resize((mask.width // _SMOOTH, mask.height // _SMOOTH), Image.Resampling.BOX)
        self._image.paste(color, (round(box[0]), round(box[1])), smooth)


def icon(side: int, file_type: str, accent: str) -> bytes:
    """Draw the sign of the pages as a square of `side` pixels, for phones and programs that take no SVG.

    Phones round the corners themselves.
    """
    image = Image.new("RGB", (side, side), accent)
    square = -(-side * 9 // 64)
    edge = side // 2 - 2 * square
    _chequer(ImageDraw.Draw(image), edge, edge, square)
    if file_type == "ICO":
        # For a format that it has not imported yet, Pillow imports all its formats.
        from PIL import IcoImagePlugin  # noqa: F401, PLC0415
    file = io.BytesIO()
    image.save(file, file_type)
    return file.getvalue()


def _chequer(draw: ImageDraw.ImageDraw, x: float, y: float, square: float) -> None:
    for row in range(4):
        for column in range(row % 2, 4, 2):
            left, top = x + column * square, y + row * square
            draw.rectangle((left, top, left + square - 0.6, top + square - 0.6), CARD)


def _disc(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius
