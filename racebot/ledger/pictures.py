"""A folder of small pictures: avatars and category images that the bot has fetched from the site.

The folder may be deleted at any time; the bot fetches the pictures again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from racebot.errors import LedgerUnavailable

ENDING = ".webp"
RETRY_AFTER = 86_400.0
"""Seconds until a picture that could not be fetched is tried again."""
MOST = 20_000
"""Most pictures to keep. At about 3 kB each, they take 60 MB."""


def folder_beside(database: Path) -> Path:
    """Return the folder for the pictures of a ledger."""
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
            return frozenset(path.stem for path in self._folder.iterdir() if path.suffix == ENDING)
        return frozenset()

    def read(self, name: str) -> bytes | None:
        """Return a picture as WebP, or None if no picture has that name."""
        with suppress(OSError):
            return (self._folder / f"{name}{ENDING}").read_bytes()
        return None

    def version(self) -> int:
        """Return a number that changes when a picture is added or removed."""
        with suppress(OSError):
            return self._folder.stat().st_mtime_ns
        return 0

    def missing(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses of pictures to fetch now. Recent failures are left out."""
        known, recent = self.names(), time.time() - RETRY_AFTER
        wanted = (address for address in addresses if name_of(address) not in known)
        return [address for address in wanted if self._failed_at(address) < recent]

    def store(self, address: str, picture: bytes) -> None:
        """Store a picture atomically.

        Raises:
            LedgerUnavailable: the folder cannot be written.
        """
        name = name_of(address)
        with self._writing():
            part = self._folder / f".{name}.part"
            part.write_bytes(picture)
            part.replace(self._folder / f"{name}{ENDING}")
            self._failure(address).unlink(missing_ok=True)

    def note_failure(self, address: str) -> None:
        """Remember that a picture could not be fetched.

        Raises:
            LedgerUnavailable: the folder cannot be written.
        """
        with self._writing():
            self._failure(address).touch()

    def prune(self, addresses: Collection[str]) -> int:
        """Delete pictures that no profile uses any more, and return their number."""
        wanted = {name_of(address) for address in addresses}
        old = self.names() - wanted
        for name in old:
            (self._folder / f"{name}{ENDING}").unlink(missing_ok=True)
        return len(old)

    @contextmanager
    def _writing(self) -> Generator[None]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise LedgerUnavailable(
                f"{self._folder}: {error.strerror}: free space, or let racebot write there"
            ) from None

    def _failure(self, address: str) -> Path:
        return self._folder / f"{name_of(address)}.failed"

    def _failed_at(self, address: str) -> float:
        with suppress(OSError):
            return self._failure(address).stat().st_mtime
        return 0.0
