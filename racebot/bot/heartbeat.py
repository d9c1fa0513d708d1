"""The heartbeat file beside a database: when its worker last saw its categories."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from racebot.errors import LedgerUnavailable

SHORTEST_TIMEOUT = timedelta(minutes=5)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def write_heartbeat(database: Path, seen_at: datetime) -> None:
    """Store when the worker on a database last saw its categories.

    Raises:
        LedgerUnavailable: the file cannot be written at the moment.
    """
    path = _heartbeat(database)
    try:
        path.touch(mode=0o600)
        os.utime(path, (seen_at.timestamp(), seen_at.timestamp()))
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None


def last_seen(database: Path) -> datetime | None:
    """Return when the worker on a database last saw its categories, None if it never did."""
    try:
        return datetime.fromtimestamp(_heartbeat(database).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def health_timeout(rooms_every: float) -> timedelta:
    """Return how old the heartbeat of a healthy worker may be.

    Args:
        rooms_every: seconds between two looks of the worker at its categories.
    """
    return max(SHORTEST_TIMEOUT, 2 * timedelta(seconds=rooms_every))


def _heartbeat(database: Path) -> Path:
    return database.with_name(database.name + ".alive")
