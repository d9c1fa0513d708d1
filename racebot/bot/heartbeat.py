"""Signs of life beside a database, for other processes: that it is held, and when its category was seen."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from racebot.errors import LedgerUnavailable

ALIVE_WITHIN = timedelta(minutes=5)
"""A worker that has not seen its categories for longer, or for two turns of looking, is not well."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def write_heartbeat(database: Path, seen_at: datetime) -> None:
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


def health_timeout(rooms_every: float) -> timedelta:
    """For how long a worker that looks at its category every so many seconds counts as well."""
    return max(ALIVE_WITHIN, 2 * timedelta(seconds=rooms_every))


def _heartbeat(database: Path) -> Path:
    return database.with_name(database.name + ".alive")
