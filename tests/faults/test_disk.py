"""If the database cannot be written, the worker logs one clear line, stores nothing in part and goes on."""

import asyncio
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from worker_support import Sandbox, WorkerProcess, finish, said, until

from racebot.bot.worker import Worker
from racebot.ledger.connection import LedgerThread
from racebot.ledger.store import Ledger
from racebot.sandbox.room import FakeRoom
from racebot.settings.sources import load

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")

DISK_FULL = "free space on the disk"
"""Part of the error that names the remedy."""


def in_ledger(sandbox: Sandbox, room: FakeRoom) -> bool:
    with sandbox.ledger() as ledger:
        return ledger.races.get(room.name) is not None


def announced_record(room: FakeRoom) -> bool:
    return "racebot" in room.bot_meta and (room.info_bot or "").startswith("Ratings by racebot")


async def announced(sandbox: Sandbox) -> FakeRoom:
    """Return a room whose race is finished and announced, but not recorded yet."""
    room = sandbox.open_race(3)
    finish(room, 60, 61)
    await until(lambda: len(said(room)) == 1)
    return room


async def test_settle_survives_a_database_that_turns_read_only(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Runs in this process: only the open connection itself can be made read-only."""
    for name, value in sandbox.environment().items():
        if name.startswith("RACEBOT_"):
            monkeypatch.setenv(name, value)
    opened: list[Ledger] = []
    threads: list[LedgerThread] = []
    open_ledger = Ledger.open

    def remembering(path: Path, **options: bool) -> Ledger:
        opened.append(open_ledger(path, **options))
        return opened[-1]

    def made() -> LedgerThread:
        threads.append(LedgerThread())
        return threads[-1]

    monkeypatch.setattr(Ledger, "open", remembering)
    monkeypatch.setattr("racebot.bot.worker.LedgerThread", made)
    worker = Worker(load(tmp_path))
    running = asyncio.create_task(worker.run())
    try:
        room = await announced(sandbox)
        await threads[0].run(opened[0].connection.db.execute, "PRAGMA query_only = 1")
        room.record()
        await until(lambda: "attempt to write a readonly database: check the permissions" in caplog.text)
        await threads[0].run(opened[0].connection.db.execute, "PRAGMA query_only = 0")
        await until(lambda: announced_record(room))
    finally:
        worker.stop()
        await running
    assert len(said(room)) == 1
    assert "Traceback" not in caplog.text


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)  # noqa: S607
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # noqa: S607


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)  # noqa: S607


def fill(folder: Path) -> Path:
    """Fill the file system."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break
    return filler


@contextmanager
def short_file(sandbox: Sandbox, worker: WorkerProcess) -> Iterator[None]:
    """Let the worker's files grow no further."""
    size = sandbox.database.with_name(sandbox.database.name + "-wal").stat().st_size
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    yield
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, unlimited)


@contextmanager
def full_disk(sandbox: Sandbox, _: WorkerProcess) -> Iterator[None]:
    filler = fill(sandbox.database.parent)
    yield
    filler.unlink()


@pytest.mark.parametrize("fault", [short_file, pytest.param(full_disk, marks=[pytest.mark.long, needs_root])])
async def test_settle_survives_a_disk_without_space(
    sandbox: Sandbox, request: pytest.FixtureRequest, fault: Callable[..., AbstractContextManager[None]]
) -> None:
    if fault is full_disk:
        sandbox.database = request.getfixturevalue("small_disk") / "racebot.db"
        sandbox.log_folder = sandbox.database.parent.parent
    async with sandbox.worker() as worker:
        room = await announced(sandbox)
        with fault(sandbox, worker):
            room.record()
            await until(lambda: DISK_FULL in worker.output)
            assert not in_ledger(sandbox, room)
        await until(lambda: in_ledger(sandbox, room))
        await until(lambda: announced_record(room))
        assert worker.running
        assert await worker.terminate() == 0
    assert len(said(room)) == 1
    assert sum("updated the race information" in message.text for message in room.chat) == 1
    assert (await sandbox.racebot("verify")).returncode == 0
    assert "Traceback" not in worker.output


@pytest.mark.long
@needs_root
async def test_read_only_disk_is_refused_in_one_line(sandbox: Sandbox, small_disk: Path) -> None:
    sandbox.database = small_disk / "racebot.db"
    sandbox.log_folder = small_disk.parent
    async with sandbox.worker() as worker:
        await announced(sandbox)
        assert await worker.terminate() == 0
    remount(small_disk, "ro")
    async with sandbox.worker() as worker:
        assert await worker.ended() == 2
    lines = worker.output.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"racebot: cannot write the lock file of {sandbox.database}")
    remount(small_disk, "rw")
    assert (await sandbox.racebot("verify")).returncode == 0
