"""One connection to a ledger's database: runs statements and manages transactions.

Every statement of the ledger goes through `Connection`, so that SQLite's errors reach callers as
`LedgerError` that names the file and the remedy.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable, PayloadError
from racebot.ledger.lock import problems_of
from racebot.text.format import exact_time

# For the whole process: sqlite3 has no adapters of one connection, and its own for datetime is deprecated.
sqlite3.register_adapter(datetime, exact_time)
P = ParamSpec("P")
T = TypeVar("T")


class Connection:
    """A connection to the database at `path`.

    Raises (all methods):
        LedgerError: the database is damaged, read-only, full, locked, or not a ledger.
        PayloadError: a value SQLite cannot store: invalid Unicode, or an integer over 64 bits.
    """

    def __init__(self, db: Database, path: Path) -> None:
        self.db = db
        self.path = path
        self.ratings_written = 0
        """Number of times that this connection has written ratings."""
        self.races_written: set[str] = set()
        """Names of the races stored, replaced or deleted in the open transaction."""
        self._reads_snapshot = False

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Run a query and return all of its rows."""
        with translated(self.path):
            cursor = self.db.execute(sql, values)
            cursor.row_factory = sqlite3.Row
            return cursor.fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Run a query and return its first row, or None."""
        return next(iter(self.rows(sql, *values)), None)

    def value(self, sql: str, *values: Any) -> Any:
        """Run a query and return the first column of its first row, or None without rows."""
        row = self.row(sql, *values)
        return None if row is None else row[0]

    def stream(self, sql: str, *values: Any) -> Iterator[sqlite3.Row]:
        """Run a query and yield its rows one at a time."""
        with translated(self.path):
            cursor = self.db.execute(sql, values)
            cursor.row_factory = sqlite3.Row
            yield from iter(cursor.fetchone, None)  # a cursor itself would be closed after the ledger

    def write(self, sql: str, *values: Any) -> int:
        """Run a statement that writes, outside snapshots, and return the number of rows it changed."""
        if self._reads_snapshot:
            raise RuntimeError("a write inside a snapshot would be rolled back")
        with translated(self.path):
            return int(self.db.execute(sql, values).rowcount)

    def save(self, table: str, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, all with the same columns; of a stored row with the same key, change these columns.

        A key of several columns has commas between them.
        """
        if not rows:
            return
        columns = rows[0].keys()
        placeholders = ", ".join(f":{column}" for column in columns)
        changes = ", ".join(
            f"{column} = excluded.{column}" for column in columns if column not in key.split(", ")
        )
        self.write_many(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({placeholders})"  # noqa: S608 - ours
            f" ON CONFLICT ({key}) DO UPDATE SET {changes}",
            rows,
        )

    def write_many(self, sql: str, rows: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> None:
        """Run one statement for each row of values, in one transaction."""
        with self.transaction():
            self.db.conn.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit all writes in the block together, or none. Transactions nest; the outermost one commits.

        Takes the write lock at the start, so that no other process can change a row between the block's
        reads and writes. Raises RuntimeError inside a snapshot, which cannot write.
        """
        if self._reads_snapshot:
            raise RuntimeError("a transaction inside a snapshot would be rolled back")
        with translated(self.path):
            if self.db.conn.in_transaction:
                yield
                return
            try:
                self.db.conn.execute("BEGIN IMMEDIATE")
                self.races_written.clear()
                yield
                self.db.conn.execute("COMMIT")
            except BaseException:
                self.db.conn.rollback()
                raise

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Make all reads in the block see the database as it was at the first read."""
        with translated(self.path):
            self.db.conn.execute("BEGIN")
            self._reads_snapshot = True
            try:
                yield
            finally:
                self._reads_snapshot = False
                self.db.conn.rollback()

    def data_version(self) -> int:
        """Return a number that changes when another connection writes to the database."""
        return int(self.value("PRAGMA data_version"))

    def check(self) -> list[str]:
        """Return one line for each problem that SQLite finds in the file; empty if it is intact.

        Runs on a connection of its own, so any thread may call it, on a read-only ledger too.
        """
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        with translated(self.path), closing(sqlite3.connect(address, uri=True, timeout=10.0)) as connection:
            return problems_of(connection)

    def close(self) -> None:
        self.db.close()


class LedgerTable:
    """Reads and writes a table or a group of tables through a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


class RunOnLedger(Protocol):
    """Runs a function on the ledger's thread and returns its result."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class LedgerThread:
    """The only thread that writes to the ledger."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function on the thread and return what it returns.

        If the caller is cancelled, work that has begun is still finished.
        """
        context = copy_context()  # carries the race's name to the log lines
        call = partial(context.run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Finish the queued work and end the thread."""
        self._executor.shutdown()


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
