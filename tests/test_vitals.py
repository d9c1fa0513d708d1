from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from racebot import vitals
from racebot.errors import LedgerError


def test_a_worker_that_starts_while_somebody_looks_is_not_refused(
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

    monkeypatch.setattr("time.sleep", lambda _: (tried.set(), looker.join()))
    looker = threading.Thread(target=look)
    looker.start()
    looking.wait(10)
    with vitals.locked(database):
        assert vitals.running(database)
    assert not vitals.running(database)


def test_a_second_worker_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "ledger.db"
    with (
        vitals.locked(database),
        pytest.raises(LedgerError, match="another racebot worker uses"),
        vitals.locked(database),
    ):
        pass
