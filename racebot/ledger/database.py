"""Opens a ledger's database file, and translates SQLite's errors for the operator.

The file is in WAL mode with full synchronization.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable, PayloadError
from racebot.ledger.backup import copy_to, folder_of
from racebot.ledger.lock import make_folder, running
from racebot.ledger.schema import migrations, unknown
from racebot.text.parse import did_you_mean

log = logging.getLogger(__name__)


def connect(path: Path, *, create: bool, holds_lock: bool = False) -> Database:
    """Open the database at `path` and bring its schema up to date; see `Ledger.open`."""
    _find(path, create=create)
    with _opened(path, "rwc") as db:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = OFF"):
            db.conn.execute(f"PRAGMA {pragma}")
        if migrations.pending(db):
            if migrations.applied(db) and not holds_lock and running(path):
                raise LedgerError(f"{path} is in use by an older racebot: stop its worker first")
            _migrate(db, path)
        db.conn.execute("PRAGMA foreign_keys = ON")
    return db


def _migrate(db: Database, path: Path) -> None:
    """Bring a ledger's schema up to date. Foreign keys must be off, so that a table can be replaced."""
    # Lock first: another process may be about to create or migrate the same file.
    db.conn.execute("BEGIN IMMEDIATE")
    older = bool(migrations.applied(db) and migrations.pending(db))
    if older:
        _back_up(path)
    migrations.apply(db)
    db.conn.commit()
    if older:
        # If the disk has no room for a second copy, the file keeps its size until new races fill it.
        with suppress(sqlite3.OperationalError):
            db.conn.execute("VACUUM")


def _find(path: Path, *, create: bool) -> None:
    """Check that a database exists, or create an empty file for it."""
    try:
        path.stat()
    except FileNotFoundError:
        if not create:
            raise _missing(path) from None
        make_folder(path)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise LedgerError(f"cannot create the database {path}: {error.strerror}") from None
    except OSError as error:
        raise LedgerError(f"cannot reach the database {path}: {error.strerror}") from None


@contextmanager
def _opened(path: Path, mode: str) -> Generator[Database]:
    """Open a ledger's database in a mode of https://www.sqlite.org/uri.html. Close it if the block fails."""
    with translated(path):
        address = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, timeout=10.0, check_same_thread=False)
        try:
            db = Database(connection, execute_plugins=False)
            _refuse_unknown_schema(db, path)
            yield db
        except BaseException:
            connection.close()
            raise


def _back_up(path: Path) -> None:
    """Copy an older ledger before its schema changes: an older racebot can only go back to this copy."""
    # SQLite cannot copy through a connection that holds the write lock.
    with closing(sqlite3.connect(path)) as reader:
        made = copy_to(folder_of(path), reader, path.stem, datetime.now(UTC))
    log.info("backed up to %s before the database is brought up to date", made)


def connect_to_read(path: Path) -> Database:
    """Open the database at `path` read-only; see `Ledger.open_to_read`."""
    if not path.exists():
        raise _missing(path)
    try:
        with _opened(path, "ro") as db:
            pending = migrations.pending(db)
    except LedgerUnavailable:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # The write-ahead log needs a folder that can be written. On a read-only file system, nothing changes.
        with _opened(path, "ro&immutable=1") as db:
            pending = migrations.pending(db)
    if pending:
        db.close()
        raise LedgerError(
            f"{path} was written by an older racebot: run `racebot verify`, which brings it up to date"
        )
    return db


def similar(path: Path) -> str:
    """Return a hint naming a database whose path is nearly this one, or an empty string."""
    if path.parent.is_dir():
        return did_you_mean(path.name, [each.name for each in path.parent.glob("*.db")])
    return did_you_mean(str(path), map(str, path.parent.parent.glob(f"*/{path.name}")))


def _missing(path: Path) -> LedgerError:
    return LedgerError(
        f"no database at {path}{similar(path)}: run `racebot setup` or `racebot import` first, "
        "or set RACEBOT_DATABASE to its path"
    )


def _refuse_unknown_schema(db: Database, path: Path) -> None:
    """Raise `LedgerError` for another program's database or a newer version's ledger."""
    others = "SELECT 1 FROM sqlite_master WHERE tbl_name <> '_sqlite_migrations'"
    if db.execute(others).fetchone() and not migrations.applied(db):
        raise LedgerError(
            f"{path} is another program's database, not a ledger: set RACEBOT_DATABASE to another path"
        )
    if unknown(db):
        raise LedgerError(
            f"{path} was written by a newer racebot (it holds {', '.join(unknown(db))}): "
            "update racebot, or restore a backup made by this version"
        )


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Translate SQLite's errors into `LedgerError`, naming the file and the remedy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        for signs, kind, remedy in _REMEDIES:
            if any(sign in text for sign in signs):
                raise kind(f"database {path}: {text}: {remedy}") from error
        raise LedgerError(f"database {path}: {text}: run `racebot verify`") from error
    except UnicodeDecodeError as error:
        raise LedgerError(f"database {path}: {_DAMAGED} ({error})") from None
    except (UnicodeEncodeError, OverflowError) as error:
        raise PayloadError(f"database {path}: SQLite cannot store a value ({error})") from None


_DAMAGED = (
    "the file is damaged or not an SQLite database; restore a backup, or move it away and backfill again"
)
_REMEDIES: tuple[tuple[tuple[str, ...], type[LedgerError], str], ...] = (
    (("not a database", "malformed"), LedgerError, _DAMAGED),
    (("readonly",), LedgerUnavailable, "check the permissions of the file and of its folder"),
    (("full", "disk I/O"), LedgerUnavailable, "free space on the disk; the unfinished write was undone"),
    (("locked",), LedgerUnavailable, "another program is using it; stop that program or try again"),
    (("unable to open",), LedgerUnavailable, "check that it is a file that you can read and write"),
)
