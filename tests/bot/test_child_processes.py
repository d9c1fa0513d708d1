"""The processes that the worker starts: exports of the pages and rebuilds."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import NOON, result, settler_of
from worker_support import PATIENCE, Sandbox, finish, settled, until

from racebot.bot import child_processes
from racebot.bot.child_processes import ChildProcess
from racebot.bot.worker import PAGES_REST
from racebot.errors import RacebotError
from racebot.ledger.connection import LedgerThread
from racebot.ledger.store import Ledger
from racebot.sandbox.site import CATEGORY
from racebot.standings import rebuild
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.verify import verify

GOAL = "Sandbox 100%"
MANY = int(rebuild.LONGEST / rebuild.SECONDS_PER_RACE) + 10

# Takes one job off the file in its argument, or fails as the job says.
SCRIPT = """
import pathlib, sys, time
jobs = pathlib.Path(sys.argv[1])
first, *rest = jobs.read_text().split()
if first == "wrong":
    sys.exit("racebot: no room left")
if first == "endless":
    sys.stdin.buffer.read()
jobs.write_text(" ".join(rest))
"""


class Jobs:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "jobs"
        self.seconds = 0.0
        command = [sys.executable, "-c", SCRIPT, str(self.file)]
        self.starter = ChildProcess("rating again", command, self.waiting, clock=lambda: self.seconds)

    async def waiting(self) -> str:
        return self.left

    @property
    def left(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @left.setter
    def left(self, jobs: str) -> None:
        self.file.write_text(jobs, encoding="utf-8")


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


async def test_the_command_runs_only_if_a_rebuild_waits(jobs: Jobs) -> None:
    jobs.left = ""
    assert await jobs.starter.run_if_waiting()
    jobs.left = "job"
    assert await jobs.starter.run_if_waiting()
    assert jobs.left == ""


async def test_a_command_that_fails_is_started_again_after_growing_pauses(jobs: Jobs) -> None:
    jobs.left = "wrong"
    for _ in range(8):
        with pytest.raises(RacebotError, match=r"^rating again: no room left$"):
            await jobs.starter.run_if_waiting()
        assert not await jobs.starter.run_if_waiting()
        jobs.seconds += 400
    with pytest.raises(RacebotError):
        await jobs.starter.run_if_waiting()
    jobs.seconds += 2
    assert not await jobs.starter.run_if_waiting()
    jobs.left = "job"
    assert await jobs.starter.run_if_waiting(), "a new one waits for nothing"
    assert jobs.left == ""


async def test_a_cancelled_command_is_killed(jobs: Jobs) -> None:
    jobs.left = "endless job"
    task = asyncio.create_task(jobs.starter.run_if_waiting())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert jobs.left == "endless job"


def fill(sandbox: Sandbox) -> None:
    """Store more races than are rated at once."""
    with Ledger.open(sandbox.database) as ledger:
        settler = settler_of(ledger, "elo-ffa")
        races = [
            replace(result(f"r{n}", "ann bo", after=n / 100, goal=GOAL), name=f"{CATEGORY}/r{n}")
            for n in range(MANY)
        ]
        settler.add_past_races([replace(race, category=CATEGORY) for race in races], "import")
        carry_out_rebuilds(ledger)


def model_of(sandbox: Sandbox) -> str:
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        return board.model


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_worker_rates_again_beside_open_rooms_although_the_process_is_killed(sandbox: Sandbox) -> None:
    fill(sandbox)
    sandbox.extra["RACEBOT_MODEL"] = "thurstone-hurdle"
    async with sandbox.worker() as worker:
        room = sandbox.open_race(3, goal=GOAL)
        await until(lambda: "watching" in worker.output)
        first = await until(lambda: children(worker.pid))
        os.kill(first[0], signal.SIGKILL)
        finish(room, 60, 70)
        room.record()
        await until(lambda: settled(sandbox, room))
        await until(lambda: model_of(sandbox) == "thurstone-hurdle")
        assert "was killed by signal 9" in worker.output
        assert await worker.terminate() == 0
    assert (await sandbox.racebot("verify")).returncode == 0
    assert sandbox.rated() == {GOAL: MANY + 1}


async def test_worker_fits_odds_again_and_moves_no_rating(sandbox: Sandbox) -> None:
    fill(sandbox)
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        before = ledger.standings.all(board)
    async with sandbox.worker() as worker:
        await until(lambda: "fitting odds: done" in worker.output)
        assert await worker.terminate() == 0
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        assert (board.odds_races, ledger.leaderboards.with_old_odds()) == (MANY, [])
        assert ledger.standings.all(board) == before
    assert f"{GOAL} ({MANY} races)" in worker.output


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_process_ends_with_its_worker(sandbox: Sandbox) -> None:
    fill(sandbox)
    sandbox.extra["RACEBOT_MODEL"] = "thurstone-hurdle"
    async with sandbox.worker() as worker:
        (child,) = await until(lambda: children(worker.pid))
        await worker.kill()
    await until(lambda: not Path(f"/proc/{child}").exists() or "Z" in _state(child))


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


async def test_a_cancelled_room_does_no_harm_to_a_rebuild(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(rebuild, "fits", lambda board, races: races <= 1)
    thread = LedgerThread()
    ledger = await thread.run(Ledger.open, tmp_path / "ledger.db")
    settler = settler_of(ledger, "thurstone-hurdle")
    races = [result(f"r{n}", "ann bo" if n % 2 else "cy bo ann", after=n) for n in range(9)]
    await thread.run(settler.add_past_races, races, "import")
    await thread.run(carry_out_rebuilds, ledger)

    def rate_beside() -> None:
        with Ledger.open(ledger.path) as other:
            assert carry_out_rebuilds(other) == {}

    for race in races[:4]:
        changed = replace(race, entrants=result("x", "bo ann").entrants)
        room = asyncio.create_task(thread.run(settler.settle, changed, NOON))
        await asyncio.sleep(0)
        beside = asyncio.create_task(asyncio.to_thread(rate_beside))
        room.cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(room, return_exceptions=True)
            await beside
    await thread.run(ledger.leaderboards.all)  # waits for the work of the cancelled rooms
    await asyncio.to_thread(rate_beside)
    for board in await thread.run(ledger.leaderboards.all):
        assert await thread.run(verify, ledger, board) == []
    assert await thread.run(ledger.check) == []
    await thread.run(ledger.close)
    thread.close()


# Exports

# Appends a line to the file in its argument; fails if a file `broken` is beside it.
EXPORT = """
import pathlib, sys
log = pathlib.Path(sys.argv[1])
log.open("a").write("ran\\n")
if (log.parent / "broken").exists():
    sys.exit("no room left")
"""


class Exports:
    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.broken = folder / "broken"
        self.seconds = 0.0
        self.revision = 1
        self.exporter = self.of("-c", EXPORT, str(self.log))

    def of(self, *arguments: str) -> ChildProcess:
        """Return an exporter that runs Python with these arguments."""
        command = [sys.executable, *arguments]
        return ChildProcess("pages", command, self.current, PAGES_REST, lambda: self.seconds)

    async def current(self) -> int:
        return self.revision

    @property
    def runs(self) -> int:
        return self.log.read_text(encoding="utf-8").count("ran") if self.log.exists() else 0


@pytest.fixture
def made(tmp_path: Path) -> Exports:
    return Exports(tmp_path)


async def test_pages_are_written_at_the_start_and_when_ratings_changed(made: Exports) -> None:
    await made.exporter.run_if_waiting()
    await made.exporter.run_if_waiting()
    assert made.runs == 1
    made.revision = 5
    await made.exporter.run_if_waiting()
    await made.exporter.run_if_waiting()
    assert made.runs == 2


async def test_failed_export_is_reported_and_retried_later(made: Exports) -> None:
    made.broken.touch()
    with pytest.raises(RacebotError, match="no room left"):
        await made.exporter.run_if_waiting()
    await made.exporter.run_if_waiting()
    assert made.runs == 1
    made.broken.unlink()
    made.seconds += 360
    await made.exporter.run_if_waiting()
    assert made.runs == 2
    made.seconds += 360
    await made.exporter.run_if_waiting()
    assert made.runs == 2


async def test_long_export_is_followed_by_a_long_pause(made: Exports) -> None:
    ticking = iter([0, 30, 100, 149, 151, 152])  # seconds; the first refresh takes thirty
    made.exporter.clock = lambda: next(ticking)
    await made.exporter.run_if_waiting()
    for revision in (2, 3):
        made.revision = revision
        await made.exporter.run_if_waiting()
        assert made.runs == 1
    await made.exporter.run_if_waiting()
    assert made.runs == 2


async def test_race_settled_during_an_export_is_exported_next(made: Exports) -> None:
    first = asyncio.create_task(made.exporter.run_if_waiting())
    await until(lambda: made.runs)
    made.revision += 1
    await first
    await made.exporter.run_if_waiting()
    assert made.runs == 2


async def test_slow_export_is_killed(made: Exports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "TIMEOUT", 0.05)
    sleeping = made.of("-c", "import time; time.sleep(60)")
    with pytest.raises(RacebotError, match="timed out"):
        await sleeping.run_if_waiting()
