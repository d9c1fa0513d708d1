"""The pages as files for any host that serves files, or for opening from a folder.

A file is only written where its content changed, and then whole or not at all. What an earlier export
wrote and is no longer wanted is removed; what it did not write is never touched.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from racebot.errors import ExportError
from racebot.ledger.store import Ledger
from racebot.web.document import Document
from racebot.web.inventory import paths
from racebot.web.pages import Pages
from racebot.web.view import Publication, View

MANIFEST = ".racebot-pages"
"""Names the files that the last export wrote, one to a line."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Numbers of files of an export."""

    written: int
    unchanged: int
    removed: int


def export(ledger: Ledger, publication: Publication, folder: Path) -> Exported:
    """Write all pages into a folder.

    Raises:
        ExportError: the folder cannot be written.
        LedgerError: the ledger cannot be read.
    """
    try:
        _make(folder)
        with _alone(folder):
            return _export(ledger, publication, folder)
    except OSError as error:
        raise ExportError(
            f"cannot write the pages into {folder}: {error.strerror or error}: check the folder and its disk"
        ) from None


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Wait for another export into the same folder, and keep others waiting."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _export(ledger: Ledger, publication: Publication, folder: Path) -> Exported:
    before = _manifest(folder)
    kept: dict[str, None] = {}
    written = 0
    with ledger.snapshot():
        view = View(ledger, publication)
        pages = Pages(view, served=False)
        for path in paths(view):
            content = pages.document(path, {})
            if content is not None:
                kept[path] = None
                body = content.body if isinstance(content, Document) else b"".join(content.pieces())
                written += _write(folder / path, body)
    # Old and new names together first: whatever is interrupted, nothing of ours is forgotten.
    _write_manifest(folder, {*before, *kept})
    removed = sum(_remove(folder, path) for path in before if path not in kept)
    _write_manifest(folder, kept)
    return Exported(written, len(kept) - written, removed)


def _write(path: Path, body: bytes) -> bool:
    """Write a file unless that is what it holds already."""
    try:
        if path.read_bytes() == body:
            return False
    except FileNotFoundError:
        _make(path.parent)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(body)
    part.chmod(0o644)  # for a web server, which is another user
    part.replace(path)
    return True


def _make(folder: Path) -> None:
    """Make a folder, and those it is in, so that a web server may enter them whatever the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        each.chmod(0o755)


def _manifest(folder: Path) -> list[str]:
    try:
        names = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [
        name
        for name in names
        if name and ".." not in (parts := PurePosixPath(name).parts) and parts[0] != "/"
    ]


def _write_manifest(folder: Path, paths: Iterable[str]) -> None:
    _write(folder / MANIFEST, "".join(f"{path}\n" for path in sorted(paths)).encode())


def _remove(folder: Path, path: str) -> bool:
    """Remove a file that an earlier export wrote, and folders that it leaves empty."""
    file = folder / path
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    for parent in file.relative_to(folder).parents[:-1]:
        try:
            (folder / parent).rmdir()
        except OSError:
            break  # something is in it still
    return True
