"""The rooms that are open now, read from the worker's live file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import Field

from racebot.ledger.live import LiveReport, LiveRoom, live_path, read_live

LATE_AFTER = timedelta(seconds=60)
"""Age of a report at which pages say that it may be out of date. The worker writes one every ten seconds."""
GONE_AFTER = timedelta(minutes=10)
"""Age at which a report is ignored: the worker is down."""

_FileStamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LiveRooms:
    """Rooms that are open, in progress, or finished and not recorded yet."""

    seen_at: Annotated[
        datetime | None, Field(description="When the bot last confirmed them; null if it is not running")
    ]
    late: Annotated[bool, Field(description="True if the bot has been silent for a minute")]
    rooms: Sequence[LiveRoom]


NOTHING = LiveRooms(None, late=False, rooms=())


class LiveReader:
    """Reads the live file beside a database, again only if it has changed. Thread-safe.

    Args:
        database: path of the ledger.
        clock: returns the current time, with its offset.
    """

    def __init__(self, database: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = live_path(database)
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp: _FileStamp | None = None
        self._report: LiveReport | None = None

    def rooms(self) -> LiveRooms:
        """Return the live rooms, without those of a worker that is down."""
        return self._current()[1]

    def stamp(self) -> str:
        """Return a text that changes whenever `rooms` may return something else."""
        stamp, rooms = self._current()
        return f"{stamp} {rooms.seen_at is None} {rooms.late}"

    def _current(self) -> tuple[_FileStamp | None, LiveRooms]:
        with self._lock:
            try:
                facts = self._path.stat()
                stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            except OSError:
                stamp = None
            if stamp != self._stamp or (stamp and self._report is None):
                self._report = None if stamp is None else read_live(self._path)
                self._stamp = stamp
            report = self._report
        if report is None or (age := self._clock() - report.seen_at) > GONE_AFTER:
            return stamp, NOTHING
        return stamp, LiveRooms(report.seen_at, age > LATE_AFTER, report.rooms)
