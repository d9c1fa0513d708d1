"""The processes that the worker starts: exports of the pages and rebuilds."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import NOON, backoff, result, settler_of
from worker_support import PATIENCE, Sandbox, finish, settled, until

from racebot.bot import child_processes
from racebot.bot.child_processes import ChildProcess, run_command
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


class Child:
    """A child process whose command is `run`, and a clock that the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.work: object = "first"
        self.runs = 0
        self.takes = 0.0
        self.problem = ""
        self.process = ChildProcess("work", [], self.waiting, backoff(lambda: self.seconds))

    async def waiting(self) -> Any:
        return self.work

    async def run(self, _command: object) -> str:
        self.runs += 1
        self.seconds += self.takes
        await asyncio.sleep(0)
        if self.problem:
            raise RacebotError(self.problem)
        return ""


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    made = Child()
    monkeypatch.setattr(child_processes, "run_command", made.run)
    return made


@pytest.fixture
def pages(child: Child) -> Child:
    child.process.rest = PAGES_REST
    return child


async def test_the_command_runs_only_if_work_waits(child: Child) -> None:
    assert await child.process.run_if_waiting()
    child.work = ""
    assert await child.process.run_if_waiting()
    assert child.runs == 1


async def test_a_command_that_fails_is_started_again_after_growing_pauses(child: Child) -> None:
    child.problem = "no room left"
    for _ in range(8):
        with pytest.raises(RacebotError, match=r"^work: no room left$"):
            await child.process.run_if_waiting()
        assert not await child.process.run_if_waiting()
        child.seconds += 400
    with pytest.raises(RacebotError):
        await child.process.run_if_waiting()
    child.seconds += 2
    assert not await child.process.run_if_waiting()
    child.work, child.problem = "second", ""
    assert await child.process.run_if_waiting(), "other work waits for nothing"


async def test_pages_are_written_at_the_start_and_when_ratings_changed(pages: Child) -> None:
    for revision in (1, 1, 5, 5):
        pages.work = revision
        await pages.process.run_if_waiting()
    assert pages.runs == 2


async def test_failed_export_is_reported_and_retried_later(pages: Child) -> None:
    pages.problem = "no room left"
    with pytest.raises(RacebotError, match="no room left"):
        await pages.process.run_if_waiting()
    await pages.process.run_if_waiting()
    assert pages.runs == 1
    pages.problem = ""
    for _ in range(2):
        pages.seconds += 360
        await pages.process.run_if_waiting()
        assert pages.runs == 2


async def test_long_export_is_followed_by_a_long_pause(pages: Child) -> None:
    pages.takes = 30.0
    await pages.process.run_if_waiting()
    for revision, seconds, runs in ((2, 70, 1), (3, 49, 1), (3, 2, 2)):
        pages.work = revision
        pages.seconds += seconds
        await pages.process.run_if_waiting()
        assert pages.runs == runs


async def test_race_settled_during_an_export_is_exported_next(pages: Child) -> None:
    first = asyncio.create_task(pages.process.run_if_waiting())
    await until(lambda: pages.runs)
    pages.work = "second"
    await first
    await pages.process.run_if_waiting()
    assert pages.runs == 2


# Real processes


async def test_command_that_fails_says_why_in_its_last_line() -> None:
    with pytest.raises(RacebotError, match=r"^no room left$"):
        await run_command([sys.executable, "-c", "import sys; print(1); sys.exit('racebot: no room left')"])


async def waiting() -> str:
    return "work"


async def test_slow_or_cancelled_command_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
    monkeypatch.chdir(tmp_path)
    slow = ChildProcess("pages", [sys.executable, "-c", script], waiting, backoff(), PAGES_REST)
    with monkeypatch.context() as patch:
        patch.setattr(child_processes, "TIMEOUT", 0.05)
        with pytest.raises(RacebotError, match="timed out"):
            await slow.run_if_waiting()
    task = asyncio.create_task(run_command([sys.executable, "-c", script]))
    pid = int(await until(lambda: Path("pid").exists() and Path("pid").read_text()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


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
