import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from builders import NOON, result, settler_of

from racebot.errors import LedgerUnavailable
from racebot.ledger.lock import Heartbeat, backups, folder_of, locked, overdue, write_heartbeat
from racebot.ledger.outbox import CaseRow
from racebot.ledger.store import Ledger
from racebot.standings.settle import Settler
from racebot.standings.verify import verify


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    settler = settler_of(ledger, "plackett-luce")
    settler.add_past_races([result("first", "ann bo", dnf="cy")], "import")
    return settler


def test_backup_of_a_ledger_in_use_is_complete(settler: Settler, tmp_path: Path) -> None:
    ledger = settler.ledger
    (board,) = ledger.leaderboards.all()
    with Ledger.open(ledger.path) as reader:
        reader.connection.db.conn.execute("BEGIN")
        reader.standings.all(board)
        made = ledger.back_up(tmp_path / "copies", keep=3, now=NOON)
    assert made == tmp_path / "copies" / f"{ledger.path.stem}-20260301T120000Z.db"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with Ledger.open(made, create=False) as copy:
        assert copy.standings.all(board) == ledger.standings.all(board)
        assert verify(copy, board) == []


def test_backup_neither_waits_for_a_writer_nor_contains_its_uncommitted_rows(
    settler: Settler, tmp_path: Path
) -> None:
    writer = settler.ledger
    (board,) = writer.leaderboards.all()
    with writer.transaction(), Ledger.open_to_read(writer.path) as source:
        settler.add_past_races([result("second", "bo ann", after=1)], "import")
        made = source.back_up(tmp_path / "copies", keep=1, now=NOON)
    assert writer.ratings.count(board) == 2
    with Ledger.open(made, create=False) as copy:
        assert copy.ratings.count(board) == 1
        assert verify(copy, board) == []


def test_restored_backup_continues_from_its_time(settler: Settler, tmp_path: Path) -> None:
    made = settler.ledger.back_up(tmp_path / "copies", keep=1, now=NOON)
    settler.add_past_races([result("second", "bo ann", after=1)], "import")
    (board,) = settler.ledger.leaderboards.all()
    expected = settler.ledger.standings.all(board)
    path = settler.ledger.path
    settler.ledger.close()
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    made.rename(path)
    with Ledger.open(path, create=False) as restored:
        assert restored.ratings.count(board) == 1
        Settler(restored, settler.rules).add_past_races([result("second", "bo ann", after=1)], "import")
        assert restored.standings.all(board) == expected


def test_only_the_newest_backups_of_a_database_are_kept(settler: Settler, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    foreign = [folder / name for name in ("other-20260101T000000Z.db", "notes.txt", "ledger-old.db")]
    for path in foreign:
        path.touch()
    made = [settler.ledger.back_up(folder, keep=2, now=NOON + timedelta(days=day)) for day in range(4)]
    assert backups(folder, settler.ledger.path.stem) == [made[3], made[2]]
    assert sorted(folder.iterdir()) == sorted([*foreign, made[2], made[3]])


def test_unwritable_backup_folder_is_named(settler: Settler, tmp_path: Path) -> None:
    (tmp_path / "copies").write_text("not a folder")
    with pytest.raises(LedgerUnavailable, match="copies"):
        settler.ledger.back_up(tmp_path / "copies", keep=1, now=NOON)
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(LedgerUnavailable, match="locked"):
            settler.ledger.back_up(tmp_path / "locked", keep=1, now=NOON)


def test_partial_backup_is_deleted_after_a_day(settler: Settler, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    stem = settler.ledger.path.stem
    left, begun = (folder / f"{stem}-{moment}.part" for moment in ("20260228T040000Z", "20260301T115900Z"))
    foreign = folder / "film.part"
    for path, hours in ((left, 25), (begun, 1), (foreign, 99)):
        path.touch()
        os.utime(path, ((NOON - timedelta(hours=hours)).timestamp(),) * 2)
    made = settler.ledger.back_up(folder, keep=3, now=NOON)
    assert sorted(folder.iterdir()) == sorted([begun, foreign, made])


def test_only_the_owner_can_read_ledger_and_backups_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database = tmp_path / "state" / "racebot.db"
        with locked(database), Ledger.open(database) as opened:
            write_heartbeat(database, Heartbeat(NOON))
            with opened.transaction():
                opened.cases.save(CaseRow("orb/r", "orb"))
            opened.back_up(folder_of(opened.path), keep=2, now=NOON)
            found = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").rglob("*")}
    finally:
        os.umask(before)
    assert {path.name for path in found} >= {"racebot.db", "racebot.db-wal", "racebot.db-shm", "backups"}
    assert [oct(mode) for mode in found.values() if mode & 0o077] == []
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_missed_backup_is_overdue(settler: Settler) -> None:
    database = settler.ledger.path
    assert overdue(database, NOON), "there is no copy yet"
    settler.ledger.back_up(folder_of(database), keep=3, now=NOON)
    assert not overdue(database, NOON + timedelta(hours=23))
    assert overdue(database, NOON + timedelta(hours=25))
    assert overdue(database.with_name("other.db"), NOON), "copies of another database do not count"
