"""The heartbeat file beside a database: when its worker last saw its categories, and which it suspended."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from racebot.errors import LedgerUnavailable
from racebot.ledger.lock import beside

SHORTEST_TIMEOUT = timedelta(minutes=5)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def write_heartbeat(
    database: Path, seen_at: datetime, suspended: Mapping[str, str], offers: Sequence[str] = ()
) -> None:
    """Store when the worker on a database last saw its categories, and why some are suspended, by slug.

    `offers` are what `season_offers` returns.
    """
    path = _heartbeat(database)
    try:
        path.touch(mode=0o600)
        path.write_text(json.dumps({"suspended": suspended, "offers": offers}), encoding="utf-8")
        os.utime(path, (seen_at.timestamp(), seen_at.timestamp()))
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None


def last_seen(database: Path) -> datetime | None:
    """Return when the worker on a database last saw its categories, None if it never did."""
    try:
        return datetime.fromtimestamp(_heartbeat(database).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def suspended_categories(database: Path) -> dict[str, str]:
    """Return why the worker on a database suspended categories, by slug."""
    found = _read(database, "suspended")
    return {str(slug): str(reason) for slug, reason in found.items()} if isinstance(found, dict) else {}


def season_offers(database: Path) -> list[str]:
    """Return the goals that may be the next seasons, as the worker on a database says it."""
    found = _read(database, "offers")
    return list(map(str, found)) if isinstance(found, list) else []


def _read(database: Path, name: str) -> Any:
    try:
        read = json.loads(_heartbeat(database).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # there is none, an older version wrote it, or it is being written
    return read.get(name) if isinstance(read, dict) else None


def health_timeout(rooms_every: float) -> timedelta:
    """Return how old the heartbeat may be of a worker that looks at its categories at this interval."""
    return max(SHORTEST_TIMEOUT, 2 * timedelta(seconds=rooms_every))


def _heartbeat(database: Path) -> Path:
    return beside(database, ".alive")
