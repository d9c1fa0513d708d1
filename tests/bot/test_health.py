"""Health of the worker: its categories, its heartbeat, its lock and its pauses between retries."""

import threading
from itertools import islice
from pathlib import Path

import pytest
from builders import NOON
from filelock import FileLock
from worker_support import PATIENCE, Sandbox, finish, settled, until

from racebot.bot import failures
from racebot.bot.failures import Health, retry_pauses
from racebot.errors import CredentialsError, LedgerError, LedgerUnavailable
from racebot.ledger import lock
from racebot.ledger.lock import Heartbeat, read_heartbeat, write_heartbeat
from racebot.logs import FailureLog

REFUSAL = CredentialsError("the site refuses the token")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "racebot.db"


@pytest.fixture
def made(database: Path) -> Health:
    found = Health(database, ["a", "b"], FailureLog(), lambda: NOON)
    for slug in ("a", "b"):
        found.category_seen(slug)
    return found


def test_a_refused_category_is_suspended_and_the_other_goes_on(made: Health, database: Path) -> None:
    assert not any(made.is_fatal(source, REFUSAL) for source in ("a rooms", "a/race", "a token"))
    assert (made.is_suspended("a"), made.is_suspended("b")) == (True, False)
    assert read_heartbeat(database).suspended == {"a": str(REFUSAL)}
    made.category_seen("b")
    assert read_heartbeat(database).seen_at == NOON
    made.category_seen("a")
    assert not made.is_suspended("a")
    assert read_heartbeat(database).suspended == {}


def test_a_suspended_category_is_tried_again(made: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "SUSPENDED_FOR", 0.0)
    made.is_fatal("a rooms", REFUSAL)
    assert not made.is_suspended("a")


async def test_one_category_with_a_wrong_secret_does_not_stop_the_other(sandbox: Sandbox, tmp_path) -> None:
    bot = sandbox.site.bot
    tables = (
        f'{{ slug = "{slug}", client_id = "{bot.client_id}", client_secret = "{secret}" }}'
        for slug, secret in (("sandbox", bot.client_secret), ("elsewhere", "an old secret"))
    )
    (tmp_path / "racebot.toml").write_text(f"categories = [{', '.join(tables)}]")
    for name in ("CATEGORY", "CLIENT_ID", "CLIENT_SECRET"):
        sandbox.extra[f"RACEBOT_{name}"] = ""
    async with sandbox.worker() as worker:
        room = sandbox.open_race(3)
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        finish(room, 60, 70)
        room.record()
        await until(lambda: settled(sandbox, room))
        assert "category elsewhere is suspended" in worker.output
        await until(lambda: read_heartbeat(sandbox.database).suspended)  # after the first look at the other
        assert "elsewhere is suspended" in (await sandbox.racebot("status")).stdout
        done = await sandbox.racebot("health")
        assert done.returncode == 1
        assert "elsewhere is suspended" in done.stderr
        assert await worker.terminate() == 0


def test_worker_starts_while_another_process_probes_the_lock(tmp_path, monkeypatch) -> None:
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
    (tmp_path / "hard.db").hardlink_to(database)
    with pytest.raises(LedgerError, match="hard link"), lock.locked(database):
        pass
    write_heartbeat(link, Heartbeat(NOON))
    assert read_heartbeat(database).seen_at == NOON


@pytest.mark.parametrize("content", ["", "x", "null", "[]", "{}", '{"seen_at": 1, "suspended": []}'])
def test_a_heartbeat_that_cannot_be_read_is_empty(database: Path, content: str) -> None:
    lock.beside(database, ".alive").write_text(content, encoding="utf-8")
    assert read_heartbeat(database) == Heartbeat()


def test_probing_creates_no_lock_file(tmp_path: Path) -> None:
    assert not lock.running(tmp_path / "ledger.db")
    assert not list(tmp_path.iterdir())


def test_pauses_grow_to_five_minutes_and_differ_between_rooms() -> None:
    rooms = [list(islice(retry_pauses(), 20)) for _ in range(50)]
    for tries in zip(*rooms, strict=True):
        assert len(set(tries)) == len(rooms)
    assert all(pauses[0] <= 1.5 and 150 <= pauses[-1] <= 450 for pauses in rooms)
