"""The ledger: results, changes and standings in one SQLite file, in WAL mode with full synchronization.

Related writes share one `Ledger.transaction`, so that a crash leaves all of them or none.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from sqlite_utils.db import Database

from racebot.ledger.backfills import Backfills
from racebot.ledger.backup import back_up
from racebot.ledger.cases import Cases
from racebot.ledger.connection import Connection
from racebot.ledger.database import connect, connect_to_read
from racebot.ledger.discord import Posts
from racebot.ledger.events import Events
from racebot.ledger.jobs import Jobs
from racebot.ledger.leaderboards import Leaderboards, Shadows
from racebot.ledger.orders import Orders
from racebot.ledger.outbox import Outbox
from racebot.ledger.players import Players, Profiles
from racebot.ledger.races import Races
from racebot.ledger.ratings import Ratings
from racebot.ledger.standings import Standings
from racebot.races.result import HIDDEN_NAME, NO_NAME

_NAME = (
    "CASE WHEN id IN (SELECT player FROM main.hidden_players)"  # noqa: S608 - constants only
    f" AND name <> '{NO_NAME}' THEN '{HIDDEN_NAME}' ELSE name END AS name"
)
_VIEWS = {
    "players": f"id, {_NAME}, first_seen, last_seen, folded, letters, discriminator FROM main.players",
    "shown_players": f"id, {_NAME} FROM main.shown_players",
    "profiles": "* FROM main.profiles WHERE player NOT IN (SELECT player FROM main.hidden_players)",
}
"""Views that hide players from one connection, by the name of the table that each stands in for."""


class Ledger:
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
        self.shadows = Shadows(connection)
        self.players = Players(connection)
        self.profiles = Profiles(connection)
        self.orders = Orders(connection)
        self.messages = Outbox(connection)
        self.posts = Posts(connection)
        self.cases = Cases(connection)
        self.events = Events(connection)
        self.jobs = Jobs(connection)
        self.backfills = Backfills(connection)
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
        return cls(connect(path, create=create, holds_lock=holds_lock), path)

    @classmethod
    def open_to_read(cls, path: Path) -> Ledger:
        """Open the ledger at `path` read-only, even while a worker writes to it.

        Raises:
            LedgerError: the file is missing, not accessible, not a ledger, or from another version.
        """
        return cls(connect_to_read(path), path)

    @classmethod
    def open_to_publish(cls, path: Path) -> Ledger:
        """Open the ledger as `open_to_read` does, without the names and profiles of hidden players."""
        ledger = cls.open_to_read(path)
        # SQLite looks a name up among temporary views before the tables of the file, which are not changed.
        # Source: https://www.sqlite.org/lang_naming.html
        ledger.connection.write("PRAGMA temp_store = MEMORY")
        for name, columns in _VIEWS.items():
            ledger.connection.write(f"CREATE TEMP VIEW {name} AS SELECT {columns}")
        return ledger

    def back_up(self, folder: Path, *, keep: int, now: datetime) -> Path:
        """Copy the ledger while it is in use, delete all but the `keep` newest copies, and return the path.

        Raises:
            LedgerUnavailable: the folder cannot be written, the disk is full, or the copy is not intact.
        """
        return back_up(self.connection.db.conn, self.path, folder, keep=keep, now=now)

    def clear_old(self, *, keep: timedelta, now: datetime) -> tuple[int, int]:
        """Delete messages and abandoned backfills older than `keep`, and return the numbers of both.

        Results, changes and standings stay, because ratings are replayed from them. The file does not shrink,
        but SQLite reuses the space before it grows.
        """
        before = now - keep
        with self.transaction():
            messages = self.messages.clear(before)
            abandoned = self.backfills.abandoned(before)
            for category in abandoned:
                self.backfills.clear(category)
        return messages, len(abandoned)

    def revision(self) -> tuple[int, ...]:
        """Token that changes whenever ratings or orders may have changed."""
        return self.connection.ratings_written, self.orders.last(), self.data_version()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
