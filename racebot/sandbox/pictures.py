"""Invented profiles and pictures: most accounts have an avatar, many have pronouns, some stream on Twitch."""

from __future__ import annotations

import colorsys
import struct
import zlib

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
    """Draw a symmetric pattern of squares in two colors that depend on the name.

    PNG: https://www.w3.org/TR/png-3/.
    """
    number = zlib.crc32(f"picture {name}".encode())
    hue = number % 360 / 360
    dark, light = (_color(hue, 0.42, 0.55), _color(hue + 0.09, 0.78, 0.65))
    bits = zlib.crc32(f"pattern {name}".encode())
    size = SIZE // _CELLS
    rows = []
    for row in range(_CELLS):
        half = [light if bits >> (row * 4 + column) & 1 else dark for column in range(_CELLS // 2)]
        line = b"".join(color * size for color in half + half[::-1])
        rows.append((b"\0" + line) * size)
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _color(hue: float, lightness: float, saturation: float) -> bytes:
    return bytes(round(255 * share) for share in colorsys.hls_to_rgb(hue % 1, lightness, saturation))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
