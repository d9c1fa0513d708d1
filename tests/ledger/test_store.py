import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from builders import CATEGORY, GOAL, NOON, dump, entrant, keep, result
from hypothesis import given, settings, strategies as st

from racebot.errors import LedgerError, LedgerUnavailable, NoSuchEntryError, PayloadError
from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import Change, Leaderboard, RatedRow, Standing
from racebot.ledger.store import Ledger

BOARD = Leaderboard(CATEGORY, GOAL, (GOAL,), "plackett-luce", {"floor": 0.0, "knots": [0.0, 1.0]}, "ignore")


def change(
    name: str, before: float = 0.0, after: float = 0.5, place: int | None = 1, races: int = 0
) -> Change:
    return Change(f"id-{name}", place, (before,), (after,), int(1000 * before), int(1000 * after), races)


def standing(name: str, rating: float = 0.5, **facts: Any) -> Standing:
    plain = Standing(f"id-{name}", (rating,), rating, int(1000 * rating), 1, 1, 0, NOON, name.title())
    return plain._replace(**facts)


def write(
    ledger: Ledger, board: Leaderboard, rated: Sequence[RatedRow] = (), standings: Sequence[Standing] = ()
) -> None:
    ledger.ratings.append(board, rated, "a platform")
    ledger.standings.replace(board, standings)


# Opening


def test_writes_are_durable_and_references_are_checked(ledger: Ledger) -> None:
    pragmas = {
        name: ledger.connection.db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_rows_that_nobody_reads_to_their_end_may_outlive_the_ledger(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        rows = ledger.connection.stream("SELECT 1 UNION SELECT 2")
        next(rows)
    assert isinstance(rows, Generator)
    rows.close()  # as Python does with what an error left behind


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    with Ledger.open(path) as ledger:
        assert ledger.leaderboards.all() == []


def test_a_new_file_that_another_program_writes_to_becomes_a_ledger(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    Timer(0.2, other.close).start()
    Ledger.open(tmp_path / "new.db").close()


def test_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(
        LedgerError, match=r"ledger\.db: file is not a database: .*restore a backup"
    ) as refused:
        Ledger.open(path)
    assert "\n" not in str(refused.value)
    assert path.read_text().startswith("Dear diary"), "and nothing of it is lost"


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cookbook.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"cookbook\.db is another program's database"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_path_that_cannot_hold_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="unable to open"):
        Ledger.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"cannot reach the database .*ledger\.db: Not a directory"):
        Ledger.open(tmp_path / "file" / "ledger.db")


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Return a folder owned by an unprivileged user, since root ignores permissions."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("folders", "files", "message"),
    [
        (0o555, None, r"cannot create the database .*ledger\.db: Permission denied"),
        (0, 0o600, r"ledger\.db.*Permission denied"),
        (0o700, 0, "unable to open database file: check that it is a file"),
        (0o700, 0o444, "check the permissions of the file"),
    ],
)
def test_missing_permission_is_named(folders: int, files: int | None, message: str) -> None:
    with unprivileged() as folder:
        path = folder / "ledger.db"
        if files is not None:
            Ledger.open(path).close()
            path.chmod(files)
        folder.chmod(folders)
        with pytest.raises(LedgerError, match=message), Ledger.open(path) as ledger:
            keep(ledger, result())


def test_database_locked_by_another_program_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as first, Ledger.open(path) as second:
        second.connection.db.execute("PRAGMA busy_timeout = 10")
        with first.transaction():
            with pytest.raises(LedgerUnavailable, match="locked: another program is using it"):
                keep(second, result())
            assert second.races.get("orb/first") is None, "reading is possible all the same"
        keep(second, result())


def test_a_race_with_a_damaged_result_is_known(ledger: Ledger) -> None:
    keep(ledger, result("r", "ann"))
    ledger.connection.db.execute("UPDATE races SET result = '[]'")
    assert [ledger.races.has(name) for name in ("orb/r", "orb/s")] == [True, False]


def test_a_row_that_refers_to_nothing_is_found(ledger: Ledger) -> None:
    board = ledger.leaderboards.save(BOARD)
    keep(ledger, result("r", "ann"))
    write(ledger, board, [RatedRow(1, "orb/r", (change("ann"),))], [standing("ann")])
    assert ledger.check() == []
    ledger.connection.db.execute("PRAGMA foreign_keys = OFF")
    ledger.connection.db.execute("DELETE FROM rated")
    assert ledger.check() == ["a row of changes refers to a missing row of rated"]


# Transactions


class Halt(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("nested", [False, True])
def test_exception_rolls_back_the_outermost_transaction(ledger: Ledger, nested: bool) -> None:
    board = ledger.leaderboards.save(BOARD)
    before = dump(ledger)
    with pytest.raises(Halt), ledger.transaction():  # noqa: PT012
        keep(ledger, result("r", "ann bo"))
        with ledger.transaction():
            write(ledger, board, [RatedRow(1, "orb/r", (change("ann"),))], [standing("ann")])
            if nested:
                raise Halt
        raise Halt
    assert dump(ledger) == before
    keep(ledger, result("r", "ann"))
    assert ledger.races.has("orb/r"), "it works after an exception"


@pytest.mark.parametrize("write", [lambda on: keep(on, result("r", "ann")), lambda on: on.races.remove("r")])
def test_writes_inside_a_snapshot_are_refused(ledger: Ledger, write: Callable[[Ledger], object]) -> None:
    with ledger.snapshot(), pytest.raises(RuntimeError):
        write(ledger)
    keep(ledger, result("r", "ann"))
    with Ledger.open(ledger.path) as reader:
        assert reader.races.get("orb/r") is not None


# Leaderboards


def test_leaderboards_round_trip_and_keep_their_id_under_new_settings(ledger: Ledger) -> None:
    stored = ledger.leaderboards.save(BOARD)
    assert stored.id is not None
    assert replace(stored, id=None) == BOARD
    assert ledger.leaderboards.get(CATEGORY, GOAL) == stored
    assert ledger.leaderboards.get(CATEGORY, "else") is None
    assert ledger.leaderboards.get("else", GOAL) is None
    other = ledger.leaderboards.save(replace(BOARD, category="cup"))
    second = ledger.leaderboards.save(
        replace(BOARD, model="trueskill", parameters={"sigma": 8.0}, teams="team")
    )
    assert second.key == stored.key != other.key
    assert ledger.leaderboards.all() == [other, second]


def test_a_leaderboard_that_is_removed_leaves_the_races(ledger: Ledger, board: Leaderboard) -> None:
    other = ledger.leaderboards.save(replace(BOARD, name="Other"))
    for each in (board, other):
        write(ledger, each, [A, B, C], [standing("ann")])
    ledger.leaderboards.remove(board)
    assert ledger.leaderboards.all() == [other]
    counts = [f"SELECT count(*) FROM {table}" for table in ("rated", "changes", "standings")]  # noqa: S608
    assert [ledger.connection.db.execute(count).fetchone()[0] for count in counts] == [3, 4, 1]
    assert ledger.races.get("orb/a") is not None
    assert ledger.check() == []


# Races


def test_races_are_found_by_name_or_slug(ledger: Ledger) -> None:
    keep(ledger, result("r", "ann"), result("s", "ann", name="cup/s"), result("s", "ann"))
    assert ledger.races.find("orb/r").result.name == "orb/r"
    assert ledger.races.find("r").result.name == "orb/r"
    assert ledger.races.find("cup/s").result.name == "cup/s"
    with pytest.raises(NoSuchEntryError, match="'s' could be any of: cup/s, orb/s"):
        ledger.races.find("s")
    with pytest.raises(NoSuchEntryError, match="no recorded race 'q' in the ledger"):
        ledger.races.find("q")
    keep(ledger, result("r", "ann", name="lazy-orb-1", category=""))
    assert ledger.races.find("lazy-orb-1").result.name == "lazy-orb-1"


# Players


def test_deleted_accounts_are_not_stored_as_players(ledger: Ledger) -> None:
    keep(ledger, result("r", entrants=(entrant("gone", time=1, user_id=None), entrant("ann", time=2))))
    assert ledger.connection.db.execute("SELECT id FROM players").fetchall() == [("id-ann",)]


# Changes and standings


@pytest.fixture
def board(ledger: Ledger) -> Leaderboard:
    keep(ledger, *(result(slug, "ann bo", dnf="cy", after=i) for i, slug in enumerate("abc")))
    return ledger.leaderboards.save(BOARD)


A = RatedRow(1, "orb/a", (change("ann"), change("bo", after=-0.25, place=2)))
B = RatedRow(2, "orb/b", (), "team race")
C = RatedRow(3, "orb/c", (change("ann", 0.5, 0.75, 1, 1), change("cy", 0.0, -0.5, None)))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3), st.floats(-1e6, 1e6)
)
@settings(max_examples=50)
def test_states_read_back_to_the_last_bit(
    ledger: Ledger, board: Leaderboard, state: list[float], rating: float
) -> None:
    written = Change("id-ann", 1, tuple(state), tuple(reversed(state)), 1, 2, 0)
    place = Standing("id-ann", tuple(state), rating, 5, 1, 1, 0, NOON, "Ann")
    ledger.ratings.truncate(board, 1)
    write(ledger, board, [RatedRow(1, "orb/a", (written,))], [place])
    (row,) = ledger.ratings.rows(board)
    assert repr(row.changes[0]) == repr(written)
    read_back = ledger.standings.get(board, "id-ann")
    assert read_back == place
    assert repr(read_back.state) == repr(place.state)


NO_OFFSET = "2026-03-01T12:00:00"
DAMAGE = [
    *(("races", "result", text, "orb/r") for text in ("", "no json", "{}", '{"name": "orb/r"}', "[]")),
    ("races", "counted_at", NO_OFFSET, f"{NO_OFFSET}' has no offset.*: restore a backup"),
    ("cases", "ended_at", NO_OFFSET, r"CaseRow orb/r, ended_at: .*: restore a backup"),
    ("standings", "last_race_at", NO_OFFSET, f"{NO_OFFSET}' has no offset.*: run `racebot rebuild`"),
    ("standings", "last_race_at", "x", "cannot be read"),
    ("standings", "state", "x", "cannot be read"),
    ("leaderboards", "goals", '["a", 1]', f"Leaderboard {GOAL}, goals.1: "),
    ("leaderboards", "rule", '{"since": "x"}', f"Leaderboard {GOAL}, rule.since: "),
    ("leaderboards", "rule", f'{{"until": "{NO_OFFSET}"}}', f"Leaderboard {GOAL}, rule.until: "),
    ("leaderboards", "rule", '{"nonsense": 1}', f"Leaderboard {GOAL}, rule.nonsense: "),
]


@pytest.mark.parametrize(("table", "column", "text", "named"), DAMAGE)
def test_a_stored_value_that_cannot_be_read_is_named(
    ledger: Ledger, board: Leaderboard, table: str, column: str, text: str, named: str
) -> None:
    keep(ledger, result("r", "ann"))
    ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON))
    write(ledger, board, [], [standing("ann")])
    ledger.connection.db.execute(f"UPDATE {table} SET {column} = ?", [text])  # noqa: S608
    read: dict[str, Callable[[], object]] = {
        "races": lambda: ledger.races.get("orb/r"),
        "cases": lambda: ledger.cases.get("orb/r"),
        "standings": lambda: ledger.standings.all(board),
        "leaderboards": lambda: ledger.leaderboards.get(CATEGORY, board.name),
    }
    with pytest.raises(LedgerError, match=named) as raised:
        read[table]()
    assert "pydantic" not in str(raised.value)


def test_errors_of_sqlite_come_as_ledger_errors(ledger: Ledger) -> None:
    ledger.connection.db.execute("DROP TABLE standings")
    with pytest.raises(LedgerError, match="no such table: standings: run `racebot verify`"):
        ledger.standings.all(replace(BOARD, id=1))


@pytest.mark.parametrize("name", ["\ud800", "An\udcffn"])
def test_name_with_invalid_unicode_is_refused(ledger: Ledger, name: str) -> None:
    """Python passes command line arguments that are not UTF-8 in this form."""
    with pytest.raises(PayloadError, match="SQLite cannot store a value"):
        ledger.players.find(name)
    with pytest.raises(PayloadError):
        ledger.races.find(name)


# Read-only access


def test_snapshot_does_not_change(ledger: Ledger) -> None:
    ledger.leaderboards.save(BOARD)
    with Ledger.open_to_read(ledger.path) as reader:
        version = reader.data_version()
        with reader.snapshot():
            before = reader.leaderboards.all()
            ledger.leaderboards.remove(before[0])
            assert reader.leaderboards.all() == before
        assert reader.leaderboards.all() == []
        assert reader.data_version() != version


def test_a_ledger_opened_to_read_cannot_be_written(ledger: Ledger) -> None:
    with Ledger.open_to_read(ledger.path) as reader, pytest.raises(LedgerUnavailable, match="readonly"):
        reader.leaderboards.save(BOARD)


def test_opening_a_missing_ledger_to_read_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    for missing in (partial(Ledger.open, create=False), Ledger.open_to_read):
        with pytest.raises(LedgerError, match=r"no database at .*none\.db: run `racebot setup`"):
            missing(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(LedgerError, match="older"):
        Ledger.open_to_read(path)
    assert path.stat().st_size == 0


def test_revision_changes_with_own_ratings_and_with_all_foreign_writes(ledger: Ledger) -> None:
    board = ledger.leaderboards.save(BOARD)
    seen = [ledger.revision()]
    ledger.cases.remove("nothing of interest")
    ledger.connection.db.conn.commit()
    assert ledger.revision() == seen[0]
    write(ledger, board, [], [])
    seen.append(ledger.revision())
    ledger.ratings.truncate(board, 1)
    seen.append(ledger.revision())
    with Ledger.open(ledger.path) as other:
        other.leaderboards.remove(board)
    seen.append(ledger.revision())
    assert len(set(seen)) == 4
