"""The rooms that are open now, read from the worker's live file."""

import threading
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import Field

from racebot.live_file import LiveBoard, LiveEntrant, LiveReport, LiveRoom, live_path, read_live

LATE_AFTER = timedelta(seconds=60)
"""Age of a report at which pages say that it may be out of date. The worker writes one every ten seconds."""
GONE_AFTER = timedelta(minutes=10)  # age at which a report is ignored: the worker is down
AWAIT = timedelta(minutes=5)
"""Time for which a race that nobody knows may still appear. The site's list of rooms may be a minute old."""
MOST_ASKED = 1000  # most unknown races whose first request is remembered
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LiveRooms:
    """Listed rooms that are open, in progress, or finished and not recorded yet. The newest comes first."""

    seen_at: Annotated[
        datetime | None, Field(description="When the bot last confirmed them; null if it is down")
    ]
    late: Annotated[bool, Field(description="True if the bot has been silent for a minute")]
    rooms: Sequence[LiveRoom]

    def of(self, player: str) -> list[tuple[LiveRoom, LiveBoard, LiveEntrant]]:
        pairs = ((room, board) for room in self.rooms for board in room.leaderboards)
        return [(room, board, each) for room, board in pairs for each in board.entrants if each.id == player]

    def scored(self, stem: str) -> list[tuple[LiveRoom, LiveBoard]]:
        pairs = ((room, board) for room in self.rooms for board in room.leaderboards)
        return [(room, board) for room, board in pairs if board.board == stem and board.scores]


NOTHING = LiveRooms(None, late=False, rooms=())


class LiveReader:
    """Reads the live file beside a database, again only if it has changed. Thread-safe."""

    def __init__(self, database: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = live_path(database)
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._report: LiveReport | None = None
        self._asked: dict[str, datetime] = {}

    def rooms(self, hidden: Set[str] = frozenset()) -> LiveRooms:
        """Return the rooms that the site lists, without hidden players and rooms of a dead worker."""
        report, late = self._current()[1:]
        if report is None:
            return NOTHING
        listed = [
            _without(room, hidden)
            for room in report.rooms
            if room.race not in report.unlisted and not room.refused
        ]
        listed.sort(key=lambda room: room.opened_at or _LONG_AGO, reverse=True)
        return LiveRooms(report.seen_at, late, tuple(listed))

    def room(self, race: str, hidden: Set[str] = frozenset(), *, listed: bool = False) -> LiveRoom | None:
        """Return a room; if it must be `listed`, one that the site lists or that changes no rating."""
        report = self._current()[1]
        known = self._report.rooms if self._report else ()
        found = next((room for room in known if room.race == race), None)
        if found is None or not (report or (listed and found.refused)):
            return None
        if listed and report and race in report.unlisted and not found.refused:
            return None
        return _without(found, hidden)

    def before_record(self, race: str) -> LiveRoom | None:
        """Return the last state of a room whose race is recorded, if the result was edited before."""
        self._current()
        known = (*self._report.edited, *self._report.rooms) if self._report else ()
        return next((room for room in known if room.race == race), None)

    def knows(self, race: str) -> bool:
        """Return whether the page of a race may change without the ledger."""
        found = self.room(race) or self.room(race, listed=True) or self.before_record(race)
        return race in self._asked or found is not None

    def is_awaited(self, race: str) -> bool:
        """Return whether a race that the bot does not know was first asked for a short time ago."""
        with self._lock:
            first = self._asked.setdefault(race, self._clock())
            while len(self._asked) > MOST_ASKED:
                del self._asked[next(iter(self._asked))]
        return self._clock() - first < AWAIT

    def stamp(self) -> str:
        """Return a text that changes whenever rooms may have changed, and every minute."""
        stamp, report, late = self._current()
        return f"{stamp} {report is None} {late} {self._clock().timestamp() // 60:.0f}"

    def _current(self) -> tuple[tuple[int, int, int] | None, LiveReport | None, bool]:
        """Return the file's stamp, its content, None if it is out of date, and whether the worker is late."""
        with self._lock:
            stamp = self._stamp
            with suppress(OSError):
                facts = self._path.stat()
                stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            # A file that cannot be read is tried again.
            if stamp != self._stamp and (found := read_live(self._path)) is not None:
                self._report, self._stamp = found, stamp
            stamp, report = self._stamp, self._report
        age = timedelta.max if report is None else self._clock() - report.seen_at
        return stamp, None if age > GONE_AFTER else report, age > LATE_AFTER


def _without(room: LiveRoom, hidden: Set[str]) -> LiveRoom:
    boards = []
    for board in room.leaderboards:
        rated = board.outcome.entrants if board.outcome else ()
        # The worker leaves hidden players out. If an order is newer than the file, the outcome has to wait.
        named = any(each.id in hidden for each in rated)
        entrants = tuple(each for each in board.entrants if each.id not in hidden)
        scores = tuple(each for each in board.scores if each.id not in hidden)
        outcome = None if named else board.outcome
        boards.append(replace(board, entrants=entrants, scores=scores, outcome=outcome))
    return replace(room, leaderboards=tuple(boards), edits=tuple(e for e in room.edits if e.id not in hidden))
