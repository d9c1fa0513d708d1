"""Write a ledger of each schema as SQL, for tests: `PYTHONPATH=tests python -m ledger.write_schemas`.

A file that exists is never written again: it stands for databases that are out there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ledger.test_schema import DATA, SCHEMAS
from sqlite_utils.db import Database

from racebot.ledger.schema import NAMES, migrations


def dump(last: str) -> str:
    """Return a ledger whose last migration is this one, with rows of every table, as SQL."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "ledger.db")
        for name in NAMES[: NAMES.index(last) + 1]:
            migrations.apply(database, stop_before=set(NAMES) - set(NAMES[: NAMES.index(name) + 1]))
            DATA[name][0](database)
        database.execute("UPDATE _sqlite_migrations SET applied_at = '2026-03-01 12:00:00.000000+00:00'")
        lines = list(database.conn.iterdump())
        database.close()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in NAMES:
        path = SCHEMAS / f"{name}.sql"
        if not path.exists():
            path.write_text(dump(name), encoding="utf-8")
