"""Signs of life beside a database, for other processes: that it is held, and when its category was seen."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from racebot.errors import LedgerError, LedgerUnavailable

ALIVE_WITHIN = timedelta(minutes=5)
"""A worker that has not seen its categories for longer, or for two turns of looking, is not well."""
TRIES = 5
"""How often the lock is tried before another worker is taken to have it."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def beat(database: Path, seen_at: datetime) -> None:
    """Note when the worker on a database last saw its category.

    Raises:
        LedgerUnavailable: it cannot be written down just now.
    """
    path = _heartbeat(database)
    try:
        path.touch(mode=0o600)
        os.utime(path, (seen_at.timestamp(), seen_at.timestamp()))
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None


def last_seen(database: Path) -> datetime | None:
    """When the worker on a database last saw its category, None where there has been none."""
    try:
        return datetime.fromtimestamp(_heartbeat(database).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def well_within(rooms_every: float) -> timedelta:
    """For how long a worker that looks at its category every so many seconds counts as well."""
    return max(ALIVE_WITHIN, 2 * timedelta(seconds=rooms_every))


def running(database: Path) -> bool:
    """Whether a worker holds a database."""
    try:
        handle = os.open(_lock(database), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(f"cannot read beside the database {database}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def locked(database: Path) -> Generator[None]:
    """Hold the database for one worker alone.

    Raises:
        LedgerError: another worker holds it, for longer than it takes to look.
    """
    path = _lock(database)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise LedgerError(f"cannot write beside the database {database}: {error.strerror}") from None
    try:
        if not _held(handle):
            raise LedgerError(f"another racebot worker uses {database}: stop it first")
        yield
    finally:
        os.close(handle)


def _held(handle: int) -> bool:
    """Take the lock, unless a worker has it; who only looks, as `running` does, has it for a moment."""
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.1)
    return False


def _lock(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


def _heartbeat(database: Path) -> Path:
    return database.with_name(database.name + ".alive")
