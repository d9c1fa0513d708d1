"""The ledger: results, changes and standings in one SQLite file, in WAL mode with full synchronization.

Related writes share one `Ledger.transaction`, so that a crash leaves all of them or none.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable
from racebot.ledger.connection import Connection, translated
from racebot.ledger.leaderboards import Leaderboards, Rebuilds
from racebot.ledger.lock import copy_to, delete_old, folder_of, make_folder, running
from racebot.ledger.orders import Events, Orders
from racebot.ledger.outbox import Cases, Outbox, Posts
from racebot.ledger.people import People
from racebot.ledger.players import Players, Profiles
from racebot.ledger.races import FullReads, Races
from racebot.ledger.ratings import Ratings, Standings
from racebot.ledger.schema import migrations, unknown

log = logging.getLogger(__name__)
TIMEOUT = 10.0  # seconds to wait for another program that writes to the database


class Ledger(AbstractContextManager["Ledger"]):
    """Reads and writes the database, through one attribute for each table or group of tables.

    Use `Ledger.open`; close it, or use it as a context manager.
    """

    def __init__(self, db: Database, path: Path) -> None:
        self.connection = connection = Connection(db, path)
        self.path = path
        self.leaderboards = Leaderboards(connection)
        self.races = Races(connection)
        self.ratings = Ratings(connection)
        self.standings = Standings(connection)
        self.people = People(connection)
        self.players = Players(connection)
        self.profiles = Profiles(connection)
        self.orders = Orders(connection)
        self.messages = Outbox(connection)
        self.posts = Posts(connection)
        self.cases = Cases(connection)
        self.events = Events(connection)
        self.rebuilds = Rebuilds(connection)
        self.full_reads = FullReads(connection)
        self.transaction = connection.transaction
        self.snapshot = connection.snapshot
        self.check = connection.check
        self.close = connection.close
        self.data_version = connection.data_version

    @classmethod
    def open(cls, path: Path, *, create: bool = True, holds_lock: bool = False) -> Ledger:
        """Open the ledger at `path` and bring its schema up to date. Only the owner can read a new file.

        An older ledger is backed up first. `create` says whether to create a missing file,
        `holds_lock` whether the caller is the database's worker.

        Raises:
            LedgerUnavailable: the backup cannot be written.
            LedgerError: the file is missing (with `create` false), not accessible, not an SQLite database,
                written by a newer version, or written by an older version whose worker is still running.
        """
        _find(path, create=create)
        with _opened(path, "rwc") as db:
            _keep_log(db.conn)
            for pragma in ("synchronous = FULL", "cache_size = -65536", "foreign_keys = OFF"):
                db.conn.execute(f"PRAGMA {pragma}")
            if migrations.pending(db):
                if migrations.applied(db) and not holds_lock and running(path):
                    raise LedgerError(f"{path} is in use by an older racebot: stop its worker first")
                _migrate(db, path)
            db.conn.execute("PRAGMA foreign_keys = ON")
        return cls(db, path)

    @classmethod
    def open_to_read(cls, path: Path) -> Ledger:
        """Open the ledger at `path` read-only, even while a worker writes to it.

        Raise `LedgerError` if the file is missing, not accessible, not a ledger, or from another version.
        """
        _find(path, create=False)
        try:
            with _opened(path, "ro") as db:
                pending = migrations.pending(db)
        except LedgerUnavailable:
            log = path.with_name(f"{path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise
            # The write-ahead log needs a folder that can be written. A read-only file system changes nothing.
            with _opened(path, "ro&immutable=1") as db:
                pending = migrations.pending(db)
        if pending:
            db.close()
            raise LedgerError(
                f"{path} was written by an older racebot: run `racebot verify`, which brings it up to date"
            )
        return cls(db, path)

    @classmethod
    def open_to_publish(cls, path: Path) -> Ledger:
        """Open the ledger as `open_to_read` does, without the names and profiles of hidden players."""
        ledger = cls.open_to_read(path)
        ledger.people.mask()
        return ledger

    def back_up(self, folder: Path, *, keep: int, now: datetime) -> Path:
        """Copy the ledger while it is in use, delete all but the `keep` newest copies, and return the path.

        Raise `LedgerUnavailable` if the folder cannot be written, the disk is full, or the copy is damaged.
        """
        target = copy_to(folder, self.connection.db.conn, self.path.stem, now)
        delete_old(folder, self.path.stem, keep=keep, now=now)
        return target

    def belong_to(self, site: str, *, learn: bool = True) -> None:
        """Raise `LedgerError` unless the races come from this site: two sites may have races of one name.

        With `learn`, store its host if none is known.
        """
        host = urlsplit(site).hostname
        if learn:
            self.connection.write("INSERT INTO site SELECT ? WHERE NOT EXISTS (SELECT 1 FROM site)", host)
        known = self.connection.value("SELECT host FROM site")
        if known not in {host, None}:
            remedy = "set RACEBOT_DATABASE to another path"
            raise LedgerError(f"{self.path} holds races of {known}, and RACEBOT_SITE is {site}: {remedy}")

    def revision(self) -> tuple[int, ...]:
        """Token that changes whenever ratings or orders may have changed."""
        return self.connection.ratings_written, self.orders.last(), self.data_version()

    def __exit__(self, *exc: object) -> None:
        self.close()


def _migrate(db: Database, path: Path) -> None:
    """Bring a ledger's schema up to date. Foreign keys must be off, so that a table can be replaced."""
    # Lock first: another process may be about to create or migrate the same file.
    db.conn.execute("BEGIN IMMEDIATE")
    older = bool(migrations.applied(db) and migrations.pending(db))
    if older:  # an older racebot can only go back to a copy
        # SQLite cannot copy through a connection that holds the write lock.
        with closing(sqlite3.connect(path)) as reader:
            made = copy_to(folder_of(path), reader, path.stem, datetime.now(UTC))
        log.info("backed up to %s before the database is brought up to date", made)
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
            raise LedgerError(
                f"no database at {path}: run `racebot setup` or `racebot import` first, "
                "or set RACEBOT_DATABASE to its path"
            ) from None
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
        connection = sqlite3.connect(address, uri=True, timeout=TIMEOUT, check_same_thread=False)
        try:
            db = Database(connection, execute_plugins=False)
            _refuse_unknown_schema(db, path)
            yield db
        except BaseException:
            connection.close()
            raise


def _keep_log(connection: sqlite3.Connection) -> None:
    """Give a new file a write-ahead log. SQLite does not wait here for a program that opens the file, too."""
    last_try = time.monotonic() + TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last_try:
                raise
            time.sleep(0.01)


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
