"""The database file of a ledger: opening it, and SQLite's errors in the operator's terms.

It is in WAL mode with full synchronisation.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable, PayloadError
from racebot.ledger.schema import migrations, unknown


def connect(path: Path, *, create: bool) -> Database:
    """The database at `path` with its schema up to date; a new file is its owner's alone.

    Raises:
        LedgerError: no such file (with `create` false), no permission, not an SQLite database, or written
            by a newer version.
    """
    try:
        path.stat()
    except FileNotFoundError:
        if not create:
            raise _missing(path) from None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise LedgerError(f"cannot create the database {path}: {error.strerror}") from None
    except OSError as error:
        raise LedgerError(f"cannot reach the database {path}: {error.strerror}") from None
    with translated(path):
        connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
        try:
            db = Database(connection, execute_plugins=False)
            _refuse_what_is_not_ours(db, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if migrations.pending(db):
                # The lock comes first: another process may be about to do the same.
                connection.execute("BEGIN IMMEDIATE")
                migrations.apply(db)
                connection.commit()
        except BaseException:
            connection.close()
            raise
    return db


def connect_to_read(path: Path) -> Database:
    """The database at `path`, never to be written to, also while a worker does.

    Raises:
        LedgerError: no such file, no permission, not a ledger, or one of another version of racebot.
    """
    if not path.exists():
        raise _missing(path)
    with translated(path):
        address = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=10.0, check_same_thread=False)
        db = Database(connection, execute_plugins=False)
        try:
            _refuse_what_is_not_ours(db, path)
            if migrations.pending(db):
                raise LedgerError(
                    f"{path} was written by an older racebot: run `racebot verify`, which brings it "
                    "up to date"
                )
        except BaseException:
            connection.close()
            raise
    return db


def _missing(path: Path) -> LedgerError:
    return LedgerError(
        f"no database at {path}: run `racebot backfill` or `racebot import` first, "
        "or set RACEBOT_DATABASE to where it is"
    )


def _refuse_what_is_not_ours(db: Database, path: Path) -> None:
    """Raise `LedgerError` for another program's database, or a ledger that this version does not know."""
    others = "SELECT 1 FROM sqlite_master WHERE tbl_name <> '_sqlite_migrations'"
    if db.execute(others).fetchone() and not migrations.applied(db):
        raise LedgerError(
            f"{path} is not a ledger but another program's database: "
            "set RACEBOT_DATABASE to a file of its own"
        )
    if unknown(db):
        raise LedgerError(
            f"{path} was written by a newer racebot (it holds {', '.join(unknown(db))}): "
            "update racebot, or restore a backup that this version made"
        )


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors as `LedgerError`, naming the file and the mend."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        for signs, kind, mend in _MENDS:
            if any(sign in text for sign in signs):
                raise kind(f"database {path}: {text}: {mend}") from error
        raise LedgerError(f"database {path}: {text}: run `racebot verify`") from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise PayloadError(f"database {path}: it cannot hold such a value ({error})") from None


_MENDS: tuple[tuple[tuple[str, ...], type[LedgerError], str], ...] = (
    (
        ("not a database", "malformed"),
        LedgerError,
        "it is not an intact SQLite database; restore a backup, or move it away and backfill again",
    ),
    (("readonly",), LedgerUnavailable, "check the permissions of the file and of its folder"),
    (("full", "disk I/O"), LedgerUnavailable, "free space on the disk; nothing half-done was kept"),
    (("locked",), LedgerUnavailable, "another program holds it; stop that program or try again"),
    (("unable to open",), LedgerUnavailable, "check that it is a file you may read and write"),
)
