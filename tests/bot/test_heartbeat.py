from __future__ import annotations

import threading
from pathlib import Path

import pytest
from builders import NOON
from filelock import FileLock
from worker_support import PATIENCE

from racebot.bot.heartbeat import last_seen, write_heartbeat
from racebot.errors import LedgerUnavailable
from racebot.ledger import lock


def test_worker_starts_while_another_process_probes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "TIMEOUT", PATIENCE)
    database = tmp_path / "ledger.db"
    probe = FileLock(tmp_path / "ledger.db.lock", thread_local=False)
    probe.acquire()
    release = threading.Timer(0.1, probe.release)
    release.start()
    with lock.locked(database):
        assert lock.running(database)
    assert not lock.running(database)
    release.join()


def test_a_link_to_a_database_has_the_same_lock_and_heartbeat(tmp_path: Path) -> None:
    database, link = tmp_path / "ledger.db", tmp_path / "links" / "other.db"
    link.parent.mkdir()
    link.symlink_to(database)
    database.touch()
    with lock.locked(database):
        assert lock.running(link)
        with pytest.raises(LedgerUnavailable), lock.locked(link):
            pass
    write_heartbeat(link, NOON, {})
    assert last_seen(database) == NOON


def test_probing_creates_no_lock_file(tmp_path: Path) -> None:
    assert not lock.running(tmp_path / "ledger.db")
    assert not list(tmp_path.iterdir())
