"""The lock that keeps a database to one worker."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from racebot.errors import LedgerError

TRIES = 5
"""How often the lock is tried before another worker is taken to have it."""


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
