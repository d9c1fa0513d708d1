"""Invented profiles and pictures: most accounts have an avatar, many have pronouns, some stream on Twitch."""

from __future__ import annotations

import zlib
from io import BytesIO

from PIL import Image

SIZE = 128
"""Width and height of a picture, in pixels."""
_CELLS = 8
_PRONOUNS = (None, "she/her", "he/him", "they/them", None, "she/they", "any/all")


def profile(user_id: str) -> tuple[str | None, str | None, str | None]:
    """Return the path of a user's avatar, pronouns and name on Twitch, always the same for an id."""
    number = zlib.crc32(user_id.encode())
    avatar = None if number % 5 == 0 else f"/media/{number:08x}.png"
    twitch = f"racer_{number % 10_000:04d}" if number % 3 else None
    return avatar, _PRONOUNS[number // 7 % len(_PRONOUNS)], twitch


def png(name: str) -> bytes:
    """Draw a symmetric pattern of squares in two colors that depend on the name."""
    bits = zlib.crc32(f"pattern {name}".encode())
    hue = zlib.crc32(f"picture {name}".encode()) % 360
    picture = Image.new("RGB", (_CELLS, _CELLS), f"hsl({hue}, 55%, 42%)")
    light = Image.new("RGB", (1, 1), f"hsl({hue + 30}, 65%, 78%)")
    for number in range(_CELLS * _CELLS // 2):
        row, column = divmod(number, _CELLS // 2)
        if bits >> number & 1:
            picture.paste(light, (column, row))
            picture.paste(light, (_CELLS - 1 - column, row))
    file = BytesIO()
    picture.resize((SIZE, SIZE), Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()
