"""Fetches avatars and category images of the site into a local folder, so that pages load them from there."""

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from racebot.bot.failures import Backoff
from racebot.errors import LedgerUnavailable, SiteError
from racebot.ledger.pictures import MOST, Pictures
from racebot.racetime.http import Http, Response, Transport
from racebot.text.safe import printable

log = logging.getLogger(__name__)

SIZE = 128
"""Most pixels in the width and height of a stored picture. The site recommends avatars of 100 x 100."""
QUALITY = 72
"""Of WebP. Pages draw most pictures at a quarter of their size, where more would not be seen."""
MOST_BYTES = 4 * 2**20  # larger files are refused
MOST_PIXELS = 2048 * 2048  # most pixels of a picture to decode, at 4 bytes each in some copies
AT_ONCE = 200  # most pictures to fetch in one run
TIMEOUT = 10.0  # seconds
PAUSE = 0.2  # seconds between two requests

_TYPES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


@dataclass
class PictureFetcher:
    """Fetches the pictures that the ledger refers to, each once, into a folder.

    No other host than the `site` is asked. `wanted` returns the addresses of all pictures in use, most wanted
    first. `transport` replaces the network in tests.
    """

    site: str
    pictures: Pictures
    wanted: Callable[[], Awaitable[list[str]]]
    backoff: Backoff
    transport: Transport | None = None
    pause: float = PAUSE

    async def fetch(self) -> None:
        """Fetch missing pictures, and delete those no longer in use."""
        wanted = (await self.wanted())[:MOST]
        await asyncio.to_thread(self.pictures.prune, wanted)
        missing = (await asyncio.to_thread(self.pictures.missing, wanted))[:AT_ONCE]
        if not missing:
            return
        fetched = 0
        async with Http(self.site, accept="image/*", transport=self.transport, timeout=TIMEOUT) as http:
            for address in missing:
                picture, item = b"", f"picture {printable(address)[:100]}"
                try:
                    picture = await self._picture(http, address)
                    self.backoff.worked(item)
                except LedgerUnavailable:  # nothing can be stored there
                    raise
                except ValueError:
                    self.backoff.note(item, SiteError("not a usable address of a picture"))
                except Exception as error:
                    log.info("%s: %s", item, error)
                    self.backoff.note(item, error)
                await asyncio.to_thread(self.pictures.store, address, picture)
                fetched += bool(picture)
                await asyncio.sleep(self.pause)
        log.info("fetched %d of %d new pictures", fetched, len(missing))

    async def _picture(self, http: Http, address: str) -> bytes:
        url = urljoin(self.site + "/", address)
        if urlsplit(url)[:2] != urlsplit(self.site)[:2]:
            raise SiteError("on another host than the site")
        answer = await http.ask(
            "GET", url, where="a picture", most=MOST_BYTES, within=2 * TIMEOUT, reads=_kind
        )
        if not (kind := _kind(answer)):
            raise SiteError(f"a picture was answered with status {answer.status}, or is of another type")
        # Noted first, so that a picture whose decoding kills the bot is not fetched again at once.
        await asyncio.to_thread(self.pictures.store, address, b"")
        return await asyncio.to_thread(resized, answer.body, kind)


def _kind(answer: Response) -> str:
    """Return the format of a picture, as Pillow names it; empty for an answer without one."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return _TYPES.get(kind, "") if answer.status == 200 else ""


def resized(content: bytes, kind: str) -> bytes:
    """Return a picture as a square WebP of at most `SIZE` pixels, cropped around its center.

    Of an animation, only the first frame is decoded. A file of another format than `kind`, as Pillow names
    it, is refused.
    """
    # An extra of the package. Without its plugin for WebP, Pillow would load the plugins of all formats.
    from PIL import Image, ImageOps, WebPImagePlugin  # noqa: F401, PLC0415

    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise SiteError(f"{picture.width} x {picture.height} pixels are too many")
            side = min(SIZE, *picture.size)
            square = ImageOps.fit(picture.convert("RGBA"), (side, side))
            file = io.BytesIO()
            square.save(file, "WEBP", quality=QUALITY, method=6)
            return file.getvalue()
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise SiteError(str(error)) from None
