from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from builders import NOON, result
from sqlite_utils.db import Database

from racebot.ledger.schema import migrations
from racebot.ledger.store import Ledger
from racebot.ledger.work import Message, PendingRace

NAMES = [migration.name for migration in migrations._migrations]


def schema(path: Path) -> set[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        return set(
            connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%migrations%'"
            ).fetchall()
        )
    finally:
        connection.close()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [int(name[1:4]) for name in NAMES] == list(range(1, len(NAMES) + 1))
    assert len(set(NAMES)) == len(NAMES)


def test_the_tables_of_a_new_ledger(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "new.db").close()
    tables = {name for name, sql in schema(tmp_path / "new.db") if sql and sql.startswith("CREATE TABLE")}
    assert tables >= {
        "players",
        "races",
        "leaderboards",
        "rated",
        "changes",
        "standings",
        "pending",
        "outbox",
        "backfills",
        "fetched",
    }


@pytest.mark.parametrize("stop", NAMES)
def test_every_older_schema_leads_to_the_same_one(tmp_path: Path, stop: str) -> None:
    """Stopping before the first is an empty database."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    database = Database(old)
    migrations.apply(database, stop_before=stop)
    database.close()
    Ledger.open(old).close()
    Ledger.open(new).close()
    assert schema(old) == schema(new)


def test_what_the_first_schema_held_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    race = result("r", "ann", dnf="bo")
    database = Database(path)
    migrations.apply(database, stop_before="m002_work")
    database.execute("INSERT INTO players VALUES ('id-ann', 'Ann', '2026-01-01', '2026-01-02')")
    database.execute(
        "INSERT INTO races VALUES ('orb/r', 'orb', 'Any Orb', ?, ?, 'live', ?, ?)",
        (NOON.isoformat(), NOON.isoformat(), race.to_json(), race.fingerprint()),
    )
    database.execute(
        "INSERT INTO leaderboards VALUES (7, 'orb', 'Any Orb', '[\"Any Orb\"]', 'm', '{}', 'ignore', 'null')"
    )
    database.execute("INSERT INTO rated VALUES (7, 1, 'orb/r', NULL)")
    database.execute("INSERT INTO changes VALUES (7, 1, 'id-ann', 1, '[0.5]', '[0.75]', 500, 750, 0, '[]')")
    database.execute(
        "INSERT INTO standings VALUES (7, 'id-ann', '[0.75]', 0.75, 750, 1, 1, 1, '2026-01-02T00:00+00:00')"
    )
    database.close()
    with Ledger.open(path) as ledger:
        stored = ledger.race("orb/r")
        assert stored is not None
        assert stored.result == race
        board = ledger.leaderboard("orb", "Any Orb")
        assert board is not None
        assert board.key == 7
        (row,) = ledger.rated_rows(board)
        assert row.changes[0].after == (0.75,)
        assert [s.name for s in ledger.standings(board)] == ["Ann"]
        ledger.pending.save(PendingRace("orb/q", "orb", NOON, NOON))
        ledger.outbox.put(Message("orb/q", "orb", "chat", "g", {"text": "hi"}), NOON)
        assert ledger.check() == []


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    before = path.read_bytes()
    Ledger.open(path).close()
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_schema_before_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    database = Database(path)
    migrations.apply(database, stop_before="m002_work")
    database.execute("CREATE TABLE fetched (mine TEXT)")
    database.close()
    before = schema(path)
    with pytest.raises(Exception, match="table fetched already exists"):
        Ledger.open(path)
    assert schema(path) == before
