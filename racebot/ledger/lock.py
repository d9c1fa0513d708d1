"""Files beside a database: the lock that allows one worker, its heartbeat, and backups."""

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from glob import escape
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, TypeAdapter

from racebot.errors import LedgerError, LedgerUnavailable, reason

DEFAULT_FOLDER = "state"
TIMEOUT = 0.5
"""Seconds of retries before we conclude that another worker holds the lock. `running()` holds it briefly."""


def running(database: Path) -> bool:
    """Return whether a worker is running on a database. Raise `LedgerError` if its lock cannot be read."""
    path = beside(database, ".lock")
    try:
        if not path.exists():
            return False
        with _lock(path).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError as error:
        raise LedgerError(f"cannot read the lock file of {database}: {error.strerror}") from None


def make_folder(database: Path) -> None:
    """Create the folder of a database if it is called `state`. Raise `LedgerError` if then there is none."""
    folder = database.parent
    try:
        if folder.name == DEFAULT_FOLDER:
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"cannot create the folder {folder}: {error.strerror}") from None
    if not folder.is_dir():
        raise LedgerError(f"no folder {folder}: create it, or correct RACEBOT_DATABASE")


@contextmanager
def locked(database: Path) -> Generator[None]:
    """Lock a database for this worker.

    Raises:
        LedgerUnavailable: another worker holds the lock, maybe one that is stopping.
        LedgerError: the lock file cannot be written, or the database has another name with its own lock.
    """
    path = beside(database, ".lock")
    make_folder(database)
    if database.exists() and database.stat().st_nlink > 1:
        raise LedgerError(f"{database} has a second name, a hard link: remove that, or copy the file")
    try:
        acquired = _lock(path).acquire(timeout=TIMEOUT)
    except Timeout:
        raise LedgerUnavailable(f"another racebot worker uses {database}: stop it first") from None
    except OSError as error:
        raise LedgerError(f"cannot write the lock file of {database}: {error.strerror}") from None
    with acquired:
        yield


def _lock(path: Path) -> FileLock:
    # A soft lock would outlive a killed worker, so fail where the file system has no locks.
    return FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)


def beside(database: Path, ending: str) -> Path:
    """Return the path of a file beside a database, the same one for every link to the database."""
    resolved = database.resolve()
    return resolved.with_name(resolved.name + ending)


def replace_file(path: Path, body: bytes) -> None:
    """Replace a file beside a database, for its owner only. Raise `LedgerUnavailable` if that fails."""
    part = path.with_suffix(".part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            # After a power cut the worker writes the file again, so nothing has to wait for the disk.
            file.write(body)
        part.replace(path)
    except OSError as error:
        raise LedgerUnavailable(f"cannot write {path}: {error.strerror}") from None


SHORTEST_TIMEOUT = timedelta(minutes=5)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When a worker last saw its categories, None if it never did, and why some are suspended, by slug.

    `failures` are what `FailureLog.current` returns.
    """

    seen_at: AwareDatetime | None = None
    suspended: Mapping[str, str] = field(default_factory=dict)
    failures: Sequence[str] = ()


_READER = TypeAdapter(Heartbeat)


def write_heartbeat(database: Path, beat: Heartbeat) -> None:
    """Replace the heartbeat of the worker on a database. Raise `LedgerUnavailable` if that fails."""
    replace_file(beside(database, ".alive"), _READER.dump_json(beat))


def read_heartbeat(database: Path) -> Heartbeat:
    try:
        return _READER.validate_json(beside(database, ".alive").read_bytes())
    except (OSError, ValueError):
        return Heartbeat()


def health_timeout(rooms_every: float) -> timedelta:
    """Return how old the heartbeat may be of a worker that looks at its categories at this interval."""
    return max(SHORTEST_TIMEOUT, 2 * timedelta(seconds=rooms_every))


STAMP = "%Y%m%dT%H%M%SZ"  # format of the time in a copy's name


def folder_of(database: Path) -> Path:
    return database.parent / "backups"


def copy_to(folder: Path, connection: sqlite3.Connection, stem: str, now: datetime) -> Path:
    """Copy a database to a file named after `stem` and the current time, and return its path.

    The copy gets its final name only once it is complete and passes SQLite's integrity check.

    Raises:
        LedgerUnavailable: the folder cannot be written, or the disk is full.
        LedgerError: the database is damaged.
    """
    target = folder / f"{stem}-{now.astimezone(UTC).strftime(STAMP)}.db"
    partial = target.with_suffix(".part")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(partial)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            problems = problems_of(copy)
        if problems:
            raise LedgerError(f"backup {target}: not intact ({problems[0]}): run `racebot verify`")
        partial.replace(target)
    except (OSError, sqlite3.Error) as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise LedgerError(f"backup {target}: the database is damaged: run `racebot verify`") from None
        raise LedgerUnavailable(
            f"backup {target}: {reason(error)}: free space, or let racebot write there"
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()
    return target


def problems_of(connection: sqlite3.Connection) -> list[str]:
    """Return one line for each problem that SQLite finds in a database; empty if it is intact.

    The connection must be able to write: on a read-only one, SQLite does not check the constraints of rows.
    """
    found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check")
    return found + [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in broken]


def delete_old(folder: Path, stem: str, *, keep: int, now: datetime) -> None:
    """Delete all but the newest `keep` copies of a database, and what interrupted backups left."""
    before = (now - timedelta(days=1)).timestamp()  # a backup under way is younger
    try:
        abandoned = [path for path in _named(folder, stem, ".part") if path.stat().st_mtime < before]
        for old in [*backups(folder, stem)[keep:], *abandoned]:
            old.unlink()
    except OSError as error:
        raise LedgerUnavailable(f"{folder}: {reason(error)}: let racebot delete old copies there") from None


def backups(folder: Path, stem: str) -> list[Path]:
    """Return the copies of one database in a folder, newest first."""
    return sorted(_named(folder, stem, ".db"), reverse=True)


def overdue(database: Path, now: datetime) -> bool:
    """Return whether last night's backup is missing, for example because the computer was off."""
    newest = next(iter(backups(folder_of(database), database.stem)), None)
    if newest is None:
        return True
    made_at = datetime.strptime(newest.stem.rpartition("-")[2], STAMP).replace(tzinfo=UTC)
    return now - made_at > timedelta(days=1)


def _named(folder: Path, stem: str, suffix: str) -> list[Path]:
    return list(folder.glob(f"{escape(stem)}-{'[0-9]' * 8}T{'[0-9]' * 6}Z{suffix}"))
