"""The heartbeat file beside a database: when its worker last saw its categories, and which it suspended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, TypeAdapter

from racebot.ledger.lock import beside, replace_file

SHORTEST_TIMEOUT = timedelta(minutes=5)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When a worker last saw its categories, None if it never did, and why some are suspended, by slug.

    `offers` are what `season_offers` returns, `failures` what `FailureLog.current` does.
    """

    seen_at: AwareDatetime | None = None
    suspended: Mapping[str, str] = field(default_factory=dict)
    offers: Sequence[str] = ()
    failures: Sequence[str] = ()


_READER = TypeAdapter(Heartbeat)


def write_heartbeat(database: Path, beat: Heartbeat) -> None:
    """Replace the heartbeat of the worker on a database. Raise `LedgerUnavailable` if that fails."""
    replace_file(beside(database, ".alive"), json.dumps(asdict(beat), default=datetime.isoformat).encode())


def read_heartbeat(database: Path) -> Heartbeat:
    """Return the heartbeat of the worker on a database."""
    path = beside(database, ".alive")
    try:
        written_at, text = datetime.fromtimestamp(path.stat().st_mtime, UTC), path.read_bytes()
    except OSError:
        return Heartbeat()
    try:  # older versions stored the time as that of the file
        return _READER.validate_python({"seen_at": written_at, **json.loads(text)})
    except (TypeError, ValueError):
        return Heartbeat(written_at)


def health_timeout(rooms_every: float) -> timedelta:
    """Return how old the heartbeat may be of a worker that looks at its categories at this interval."""
    return max(SHORTEST_TIMEOUT, 2 * timedelta(seconds=rooms_every))
