"""The lock that allows one worker per database, its heartbeat, and other files beside it."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, TypeAdapter

from racebot.errors import LedgerError, LedgerUnavailable

DEFAULT_FOLDER = "state"
TIMEOUT = 0.5
"""Seconds of retries before we conclude that another worker holds the lock. `running()` holds it briefly."""


def running(database: Path) -> bool:
    """Return whether a worker is running on a database.

    Raises:
        LedgerError: the lock file cannot be read.
    """
    path = beside(database, ".lock")
    try:
        if not path.exists():
            return False
        with _lock(path).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError as error:
        raise LedgerError(f"cannot read the lock file of {database}: {error.strerror}") from None


def make_folder(database: Path) -> None:
    """Create the folder of a database if it is called `state`, as by default.

    Raises:
        LedgerError: there is no folder of another name, such as a misspelt one, or it cannot be created.
    """
    folder = database.parent
    try:
        if folder.name == DEFAULT_FOLDER:
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"cannot create the folder {folder}: {error.strerror}") from None
    if not folder.is_dir():
        raise LedgerError(f"no folder {folder}: create it, or correct RACEBOT_DATABASE")


@contextmanager
def locked(database: Path) -> Generator[None]:
    """Lock a database for this worker.

    Raises:
        LedgerUnavailable: another worker holds the lock, maybe one that is stopping.
        LedgerError: the lock file cannot be written, or the database has another name with its own lock.
    """
    path = beside(database, ".lock")
    make_folder(database)
    if database.exists() and database.stat().st_nlink > 1:
        raise LedgerError(
            f"{database} has a second name, a hard link: remove that, or use a copy of the file"
        )
    try:
        acquired = _lock(path).acquire(timeout=TIMEOUT)
    except Timeout:
        raise LedgerUnavailable(f"another racebot worker uses {database}: stop it first") from None
    except OSError as error:
        raise LedgerError(f"cannot write the lock file of {database}: {error.strerror}") from None
    with acquired:
        yield


def _lock(path: Path) -> FileLock:
    # A soft lock would outlive a killed worker, so fail where the file system has no locks.
    return FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)


def beside(database: Path, ending: str) -> Path:
    """Return the path of a file beside a database, the same one for every link to the database."""
    resolved = database.resolve()
    return resolved.with_name(resolved.name + ending)


def replace_file(path: Path, body: bytes) -> None:
    """Replace a file beside a database atomically. Only its owner can read it.

    Raises:
        LedgerUnavailable: the file cannot be written.
    """
    part = path.with_suffix(".part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            # After a power cut the worker writes the file again, so nothing has to wait for the disk.
            file.write(body)
        part.replace(path)
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None


SHORTEST_TIMEOUT = timedelta(minutes=5)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When a worker last saw its categories, None if it never did, and why some are suspended, by slug.

    `failures` are what `FailureLog.current` returns.
    """

    seen_at: AwareDatetime | None = None
    suspended: Mapping[str, str] = field(default_factory=dict)
    failures: Sequence[str] = ()


_READER = TypeAdapter(Heartbeat)


def write_heartbeat(database: Path, beat: Heartbeat) -> None:
    """Replace the heartbeat of the worker on a database. Raise `LedgerUnavailable` if that fails."""
    replace_file(beside(database, ".alive"), _READER.dump_json(beat))


def read_heartbeat(database: Path) -> Heartbeat:
    try:
        return _READER.validate_json(beside(database, ".alive").read_bytes())
    except (OSError, ValueError):
        return Heartbeat()


def health_timeout(rooms_every: float) -> timedelta:
    """Return how old the heartbeat may be of a worker that looks at its categories at this interval."""
    return max(SHORTEST_TIMEOUT, 2 * timedelta(seconds=rooms_every))
