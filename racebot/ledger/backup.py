"""Backups: complete copies of the ledger, made while it is in use."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from racebot.errors import LedgerUnavailable, reason
from racebot.ledger.copying import STAMP, copy_to, folder_of
from racebot.ledger.store import Ledger

__all__ = ["back_up", "backups", "folder_of", "overdue"]


def back_up(ledger: Ledger, folder: Path, *, keep: int, now: datetime) -> Path:
    """Copy the ledger with SQLite's online backup, then delete all but the newest copies.

    Args:
        ledger: the ledger to copy; it may be in use.
        folder: the folder for the copy; created if missing.
        keep: number of copies of this ledger to keep, at least 1.
        now: the current time, part of the copy's name.

    Returns:
        The path of the copy.

    Raises:
        LedgerUnavailable: the folder cannot be written, the disk is full, or the copy is not intact.
    """
    stem = ledger.path.stem
    target = copy_to(folder, ledger.connection.db.conn, stem, now)
    try:
        for old in [*backups(folder, stem)[keep:], *_abandoned(folder, stem, now)]:
            old.unlink()
    except OSError as error:
        raise LedgerUnavailable(
            f"backup {target}: {reason(error)}: let racebot delete old copies there"
        ) from None
    return target


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


def _abandoned(folder: Path, stem: str, now: datetime) -> list[Path]:
    """Return the partial files of interrupted backups. A backup under way is younger."""
    before = (now - timedelta(days=1)).timestamp()
    return [path for path in _named(folder, stem, ".part") if path.stat().st_mtime < before]


def _named(folder: Path, stem: str, suffix: str) -> list[Path]:
    name = re.compile(re.escape(stem) + r"-\d{8}T\d{6}Z" + re.escape(suffix))
    return [path for path in folder.glob(f"*{suffix}") if name.fullmatch(path.name)]
