"""The live file: rooms that are open or await their record, as the worker sees them now.

The worker writes it, other programs read it. It may be deleted at any time: the worker writes it again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from racebot.errors import LedgerError, LedgerUnavailable
from racebot.ledger.rows import moment_of
from racebot.races.result import EntrantStatus
from racebot.text.format import exact_time, to_json

APPLICATION_ID = 0x52424C56
"""Marks the file as ours: https://www.sqlite.org/pragma.html#pragma_application_id."""
SCHEMA_VERSION = 2
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE worker (seen_at TEXT NOT NULL);
CREATE TABLE rooms (race TEXT PRIMARY KEY, room TEXT NOT NULL, unlisted INTEGER NOT NULL) WITHOUT ROWID;
"""
WRITE_TIMEOUT = 2.0
READ_TIMEOUT = 1.0
"""Seconds to wait for the other program's lock."""


@dataclass(frozen=True, slots=True)
class LiveEntrant:
    """An entrant of a live room, with the rating on one leaderboard.

    Attributes:
        finish_time: in seconds.
        new: whether the player has not raced on this leaderboard yet.
        win_chance: before the race; None in team races.
        finish_chance: before the race; None if the model has none.
        after: points once the race is recorded; None before its end.
        change: change once the race is recorded; None before its end.
    """

    id: str
    name: str
    status: EntrantStatus
    place: int | None
    finish_time: float | None
    points: int
    new: bool
    win_chance: float | None
    finish_chance: float | None
    after: int | None
    change: int | None


@dataclass(frozen=True, slots=True)
class LiveBoard:
    """A live room on one leaderboard: finishers by place, racers by their chance to win, then forfeits.

    `board` is the leaderboard's id, None before its first race.
    """

    board: str | None
    leaderboard: str
    entrants: tuple[LiveEntrant, ...]


@dataclass(frozen=True, slots=True)
class LiveRoom:
    """A race room that is open, in progress, or finished and not recorded yet."""

    race: str
    category: str
    goal: str
    status: str
    opened_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    leaderboards: tuple[LiveBoard, ...]

    @property
    def before_start(self) -> bool:
        return self.status in {"open", "invitational", "pending"}

    @property
    def finished(self) -> bool:
        return self.status == "finished"


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The live rooms, and when the worker last confirmed them.

    Attributes:
        seen_at: when the worker last wrote the file.
        rooms: all rooms, by the name of the race.
        unlisted: the names of races that the site does not list before their record.
    """

    seen_at: datetime
    rooms: tuple[LiveRoom, ...]
    unlisted: frozenset[str] = frozenset()


@cache
def _room_reader() -> TypeAdapter[LiveRoom]:
    return TypeAdapter(LiveRoom)


def live_path(database: Path) -> Path:
    """Return the path of the live file beside a database: `live.db` for `racebot.db`."""
    return database.with_name("live.db" if database.stem == "racebot" else f"{database.stem}-live.db")


def write_live(path: Path, report: LiveReport) -> None:
    """Replace the content of the live file.

    Each call opens the file, so that a deleted file comes back. A damaged file is replaced.

    Raises:
        LedgerUnavailable: the file cannot be written, or belongs to another program.
    """
    with _translated(path):
        try:
            _write(path, report)
        except sqlite3.OperationalError:
            raise  # locked, or a full disk: the file itself may be fine
        except sqlite3.DatabaseError:
            path.unlink()
            _write(path, report)


def read_live(path: Path) -> LiveReport | None:
    """Read the live file. Return None if it is missing or cannot be read."""
    try:
        # A worker that was killed while it wrote may have left a journal, which takes writing to restore.
        with closing(_opened(path, READ_TIMEOUT)) as connection, connection:
            if _identity(connection) != (APPLICATION_ID, SCHEMA_VERSION):
                return None
            (seen_at,) = connection.execute("SELECT seen_at FROM worker").fetchone()
            rows = connection.execute("SELECT race, room, unlisted FROM rooms ORDER BY race").fetchall()
        rooms = tuple(_room_reader().validate_json(text) for _, text, _ in rows)
        return LiveReport(
            moment_of(seen_at), rooms, frozenset(race for race, _, unlisted in rows if unlisted)
        )
    except (sqlite3.Error, OSError, TypeError, ValidationError, LedgerError):
        return None


def _write(path: Path, report: LiveReport) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(_opened(path, WRITE_TIMEOUT)) as connection:
        # After a power cut the worker writes the file again, so nothing has to wait for the disk.
        connection.execute("PRAGMA synchronous = OFF")
        identity = _identity(connection)
        is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        if not is_empty and identity[0] != APPLICATION_ID:
            raise LedgerUnavailable(f"{path} is another program's database: move it away")
        if not is_empty and identity[1] != SCHEMA_VERSION:
            raise sqlite3.DatabaseError("another version wrote the file")
        if is_empty:
            connection.executescript(_SCHEMA)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM worker")
            connection.execute("INSERT INTO worker VALUES (?)", (exact_time(report.seen_at),))
            connection.execute("DELETE FROM rooms")
            rows = [(room.race, to_json(room), room.race in report.unlisted) for room in report.rooms]
            connection.executemany("INSERT INTO rooms VALUES (?, ?, ?)", rows)


def _opened(path: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=timeout)


def _identity(connection: sqlite3.Connection) -> tuple[int, int]:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise LedgerUnavailable(f"cannot write {path}: {error}") from None
