"""SQLite's own checks of a database file."""

from __future__ import annotations

import sqlite3


def problems_of(connection: sqlite3.Connection) -> list[str]:
    """Return one line for each problem that SQLite finds in a database; empty if it is intact.

    The connection must be able to write: on a read-only one, SQLite does not check the constraints of rows.
    """
    found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check")
    return found + [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in broken]
