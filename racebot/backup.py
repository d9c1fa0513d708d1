"""Whole copies of the ledger, made while it is in use, and the old ones cleared away."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from racebot.errors import LedgerUnavailable
from racebot.ledger.store import Ledger

_STAMP = "%Y%m%dT%H%M%SZ"


def folder_of(database: Path) -> Path:
    """Where the backups of a database are kept."""
    return database.parent / "backups"


def back_up(ledger: Ledger, folder: Path, *, keep: int, now: datetime) -> Path:
    """Copy the ledger by SQLite's online backup, then delete all but the newest copies of it.

    The copy appears under its name only when it is complete and SQLite finds it intact.

    Args:
        ledger: what to copy; it may be in use.
        folder: where to; made if it is not there.
        keep: how many copies of this ledger to leave, at least 1.
        now: goes into the name.

    Returns:
        The copy.

    Raises:
        LedgerUnavailable: the folder cannot be written, the disk is full, or the copy is not intact.
    """
    stem = ledger.path.stem
    target = folder / f"{stem}-{now.astimezone(UTC).strftime(_STAMP)}.db"
    partial = target.with_suffix(".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(partial)) as copy:
            ledger.db.conn.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            (found,) = copy.execute("PRAGMA integrity_check").fetchone()
        if found != "ok":
            raise LedgerUnavailable(f"backup {target}: not intact ({found}): run `racebot verify`")
        partial.replace(target)
        for old in backups(folder, stem)[keep:]:
            old.unlink()
    except (OSError, sqlite3.Error) as error:
        raise LedgerUnavailable(f"backup {target}: {error}: free space, or let racebot write there") from None
    finally:
        with suppress(OSError):
            partial.unlink()
    return target


def backups(folder: Path, stem: str) -> list[Path]:
    """The copies of one database in a folder, newest first."""
    name = re.compile(re.escape(stem) + r"-\d{8}T\d{6}Z\.db")
    return sorted((path for path in folder.glob("*.db") if name.fullmatch(path.name)), reverse=True)
