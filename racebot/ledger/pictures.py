"""A folder of small pictures: avatars and category images that the bot has fetched from the site.

The folder may be deleted at any time; the bot fetches the pictures again.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from racebot.errors import LedgerUnavailable

ENDING = ".webp"
RETRY_AFTER = 86_400.0  # seconds until a picture that could not be fetched is tried again
MOST = 20_000
"""Most pictures to keep. At about 3 kB each, they take 60 MB."""


def folder_beside(database: Path) -> Path:
    return database.parent / "avatars"


def name_of(address: str) -> str:
    """Return the name of a picture from its address on the site, without an ending."""
    return hashlib.blake2b(address.encode(), digest_size=12).hexdigest()


class Pictures:
    """The pictures in a folder, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> frozenset[str]:
        """Return the names of all pictures; none if the folder does not exist."""
        return frozenset(name for name, facts in self._files().items() if facts.st_size)

    def read(self, name: str) -> bytes | None:
        """Return a picture as WebP, or None if no picture has that name."""
        with suppress(OSError):
            return self._path(name).read_bytes() or None
        return None

    def version(self) -> int:
        """Return a number that changes when a picture is added or removed."""
        with suppress(OSError):
            return self._folder.stat().st_mtime_ns
        return 0

    def missing(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses of pictures to fetch now. Recent failures are left out."""
        recent = time.time() - RETRY_AFTER
        known = {name for name, facts in self._files().items() if facts.st_size or facts.st_mtime > recent}
        return [address for address in addresses if name_of(address) not in known]

    def store(self, address: str, picture: bytes) -> None:
        """Store a picture, an empty one if it cannot be had. Raise `LedgerUnavailable` if that fails."""
        path, part = self._path(name_of(address)), self._folder / f".{name_of(address)}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not picture and path.exists() and not path.stat().st_size:
                path.touch()  # the folder, and so `version`, stays as it is
                return
            part.write_bytes(picture)
            part.replace(path)
        except OSError as error:
            raise LedgerUnavailable(
                f"{self._folder}: {error.strerror}: free space, or let racebot write there"
            ) from None

    def prune(self, addresses: Iterable[str]) -> None:
        for name in self._files().keys() - set(map(name_of, addresses)):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{ENDING}"

    def _files(self) -> dict[str, os.stat_result]:
        """Return the files of pictures, and those of failures, which are empty."""
        found = {}
        for path in self._folder.glob(f"*{ENDING}"):
            with suppress(OSError):  # it was deleted meanwhile
                found[path.stem] = path.stat()
        return found
