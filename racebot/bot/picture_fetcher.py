"""Fetches avatars and category images into a local folder, so that pages never load them from other hosts."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import logging
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from urllib.parse import urljoin, urlsplit

import httpx

from racebot.ledger.pictures import MOST, Pictures
from racebot.racetime.client import USER_AGENT
from racebot.racetime.gate import Gate

log = logging.getLogger(__name__)

SIZE = 128
"""Most pixels in the width and height of a stored picture. The site recommends avatars of 100 x 100."""
QUALITY = 72
"""Of WebP. Pages draw most pictures at a quarter of their size, where more would not be seen."""
MOST_BYTES = 4 * 2**20
"""Larger files are refused."""
MOST_PIXELS = 4096 * 4096
AT_ONCE = 200
"""Most pictures to fetch in one run."""
TIMEOUT = 10.0
"""Seconds."""
PAUSE = 0.2
"""Seconds between two requests."""

_TYPES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


class UnusablePictureError(Exception):
    """A picture cannot be fetched or read."""


def available() -> bool:
    """Return True if Pillow is installed, which resizes the pictures."""
    return find_spec("PIL") is not None


class PictureFetcher:
    """Fetches the pictures that the ledger refers to, each once.

    Args:
        site: the site's address, for pictures given by their path alone.
        pictures: the folder to fill.
        wanted: returns the addresses of all pictures in use, most wanted first.
        gate: holds the TLS context.
        transport: replaces the network in tests.
        pause: seconds between two requests.
    """

    def __init__(
        self,
        site: str,
        pictures: Pictures,
        wanted: Callable[[], Awaitable[list[str]]],
        gate: Gate,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: float = PAUSE,
    ) -> None:
        self._site = site
        self._pictures = pictures
        self._wanted = wanted
        self._gate = gate
        self._transport = transport
        self._pause = pause

    async def fetch(self) -> None:
        """Fetch missing pictures, and delete those no longer in use."""
        wanted = (await self._wanted())[:MOST]
        await asyncio.to_thread(self._pictures.prune, wanted)
        missing = (await asyncio.to_thread(self._pictures.missing, wanted))[:AT_ONCE]
        if not missing:
            return
        fetched = 0
        async with httpx.AsyncClient(
            headers={"User-Agent": USER_AGENT, "Accept": ", ".join(_TYPES)},
            timeout=TIMEOUT,
            follow_redirects=False,
            verify=self._gate.tls if self._transport is None else True,
            transport=self._transport,
        ) as client:
            for address in missing:
                try:
                    async with asyncio.timeout(2 * TIMEOUT):
                        picture = await self._picture(client, address)
                except (UnusablePictureError, httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                    log.debug("picture %s: %s", address, error)
                    await asyncio.to_thread(self._pictures.note_failure, address)
                else:
                    await asyncio.to_thread(self._pictures.store, address, picture)
                    fetched += 1
                await asyncio.sleep(self._pause)
        log.info("fetched %d of %d new pictures", fetched, len(missing))

    async def _picture(self, client: httpx.AsyncClient, address: str) -> bytes:
        url = urljoin(self._site + "/", address)
        if not _is_allowed(url, self._site):
            raise UnusablePictureError("not an https address of a public host")
        async with client.stream("GET", url) as answer:
            kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if answer.status_code != httpx.codes.OK or kind not in _TYPES:
                raise UnusablePictureError(f"status {answer.status_code}, type {kind}")
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise UnusablePictureError(f"more than {MOST_BYTES} bytes")
        return await asyncio.to_thread(resized, bytes(body), _TYPES[kind])


def resized(content: bytes, kind: str) -> bytes:
    """Return a picture as a square WebP of at most `SIZE` pixels, cropped around its center.

    Args:
        content: the file.
        kind: its format, as Pillow names it. A file of any other format is refused.

    Raises:
        UnusablePictureError: the file cannot be read, or is too large.
    """
    # An extra of the package. Without its plugin for WebP, Pillow would load the plugins of all formats.
    from PIL import Image, ImageOps, WebPImagePlugin  # noqa: F401, PLC0415

    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise UnusablePictureError(f"{picture.width} x {picture.height} pixels are too many")
            side = min(SIZE, *picture.size)
            square = ImageOps.fit(picture.convert("RGBA"), (side, side))
            file = io.BytesIO()
            square.save(file, "WEBP", quality=QUALITY, method=6)
            return file.getvalue()
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UnusablePictureError(str(error)) from None


def _is_allowed(url: str, site: str) -> bool:
    """Return True for addresses on the site, and on public hosts by https."""
    parts = urlsplit(url)
    if (parts.scheme, parts.netloc) == urlsplit(site)[:2]:
        return True
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return parts.scheme == "https" and parts.port in {None, 443} and "." in host.strip(".")
    return False
