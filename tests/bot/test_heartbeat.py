from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from racebot.errors import LedgerError
from racebot.ledger import lock


def test_worker_starts_while_another_process_probes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "ledger.db"
    (tmp_path / "ledger.db.lock").touch()
    looking, tried = threading.Event(), threading.Event()

    def look() -> None:
        with (tmp_path / "ledger.db.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            looking.set()
            tried.wait(10)

    looker = threading.Thread(target=look)

    def wait_for_looker(_: float) -> None:
        tried.set()
        looker.join()

    monkeypatch.setattr("time.sleep", wait_for_looker)
    looker.start()
    looking.wait(10)
    with lock.locked(database):
        assert lock.running(database)
    assert not lock.running(database)


def test_a_second_worker_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "ledger.db"
    with (
        lock.locked(database),
        pytest.raises(LedgerError, match="another racebot worker uses"),
        lock.locked(database),
    ):
        pass
