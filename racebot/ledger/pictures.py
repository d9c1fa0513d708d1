"""A folder of small pictures: avatars and category images that the bot has fetched from the site.

The folder may be deleted at any time; the bot fetches the pictures again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from racebot.errors import LedgerUnavailable

ENDING = ".webp"
RETRY_AFTER = 86_400.0
"""Seconds until a picture that could not be fetched is tried again."""
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
        with suppress(OSError):
            return frozenset(path.stem for path in self._folder.glob(f"*{ENDING}") if _size(path))
        return frozenset()

    def read(self, name: str) -> bytes | None:
        """Return a picture as WebP, or None if no picture has that name."""
        with suppress(OSError):
            return (self._folder / f"{name}{ENDING}").read_bytes() or None
        return None

    def version(self) -> int:
        """Return a number that changes when a picture is added or removed."""
        with suppress(OSError):
            return self._folder.stat().st_mtime_ns
        return 0

    def missing(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses of pictures to fetch now. Recent failures are left out."""
        known, recent = self.names(), time.time() - RETRY_AFTER

        def failed(name: str) -> bool:
            with suppress(OSError):
                return (self._folder / f"{name}{ENDING}").stat().st_mtime > recent
            return False

        names = ((address, name_of(address)) for address in addresses)
        return [address for address, name in names if name not in known and not failed(name)]

    def store(self, address: str, picture: bytes) -> None:
        """Store a picture atomically. An empty one says that it could not be fetched.

        Raises:
            LedgerUnavailable: the folder cannot be written.
        """
        name = name_of(address)
        path, part = self._folder / f"{name}{ENDING}", self._folder / f".{name}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not picture and _size(path) == 0:
                path.touch()  # the folder, and so `version`, stays as it is
                return
            part.write_bytes(picture)
            part.replace(path)
        except OSError as error:
            raise LedgerUnavailable(
                f"{self._folder}: {error.strerror}: free space, or let racebot write there"
            ) from None

    def prune(self, addresses: Collection[str]) -> None:
        for name in self.names() - {name_of(address) for address in addresses}:
            (self._folder / f"{name}{ENDING}").unlink(missing_ok=True)


def _size(path: Path) -> int | None:
    with suppress(OSError):
        return path.stat().st_size
    return None
