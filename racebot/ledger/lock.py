"""The lock that allows one worker per database."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from racebot.errors import LedgerError

TRIES = 5
"""Number of attempts before we conclude that another worker holds the lock."""


def running(database: Path) -> bool:
    """Return whether a worker is running on a database."""
    try:
        handle = os.open(_lock(database), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(f"cannot read the lock file of {database}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def locked(database: Path) -> Generator[None]:
    """Lock a database for this worker.

    Raises:
        LedgerError: another worker holds the lock, or the lock file cannot be written.
    """
    path = _lock(database)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise LedgerError(f"cannot write the lock file of {database}: {error.strerror}") from None
    try:
        if not _acquire(handle):
            raise LedgerError(f"another racebot worker uses {database}: stop it first")
        yield
    finally:
        os.close(handle)


def _acquire(handle: int) -> bool:
    """Acquire the lock. Retry briefly, since `running()` holds it while probing."""
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.1)
    return False


def _lock(database: Path) -> Path:
    return database.with_name(database.name + ".lock")
