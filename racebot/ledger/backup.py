"""Backups: complete copies of a database, made while it is in use, and SQLite's own checks."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from glob import escape
from pathlib import Path

from racebot.errors import LedgerError, LedgerUnavailable, reason

STAMP = "%Y%m%dT%H%M%SZ"
"""Format of the time in a copy's name."""


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
