import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest
from builders import Clock
from worker_support import until

from racebot.bot import worker
from racebot.bot.worker import Jobs


class WatchedClock(Clock):
    """A clock that counts how often it is read. It begins at noon on a Sunday."""

    reads = 0

    def __call__(self) -> datetime:
        self.reads += 1
        return super().__call__()


class Counted:
    """A job that counts its runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self) -> None:
        self.runs += 1
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        await asyncio.sleep(0.03)
        self.at_once -= 1

    async def until(self, runs: int) -> None:
        await until(lambda: self.runs >= runs and not self.at_once)


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
def jobs(clock: WatchedClock, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Jobs that must not fail, and that look at the clock often."""

    def fail(name: str, error: Exception) -> None:
        raise AssertionError(name) from error

    monkeypatch.setattr(worker, "CHECK_CLOCK_EVERY", 0.01)
    return Jobs(fail, lambda _: None, clock)


@asynccontextmanager
async def started(jobs: Jobs) -> AsyncIterator[None]:
    jobs.start()
    await asyncio.sleep(0)  # each job begins
    try:
        yield
    finally:
        await jobs.stop()


async def test_a_job_runs_at_the_start_then_periodically_and_never_overlaps_itself(jobs: Jobs) -> None:
    job = Counted()
    jobs.every(0.02, job, "often")
    async with started(jobs):
        await job.until(4)
    assert job.most_at_once == 1


@pytest.mark.parametrize("steps", range(4))
async def test_stop_ends_all_jobs_without_an_error(jobs: Jobs, steps: int, caplog) -> None:
    jobs.every(0.001, Counted(), "often")
    jobs.nightly(4, Counted(), "nightly", at_once=True)
    async with started(jobs):
        for _ in range(steps):
            await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing is left that could run"
    assert not caplog.records


async def test_a_nightly_job_runs_once_at_its_hour(jobs: Jobs, clock: Clock) -> None:
    at_four, at_six, at_once = Counted(), Counted(), Counted()
    jobs.nightly(4, at_four, "at four")
    jobs.nightly(6, at_six, "at six")
    jobs.nightly(6, at_once, "missed before the start", at_once=True)
    async with started(jobs):
        await at_once.until(1)
        clock.advance(hours=17)
        await at_four.until(1)
        assert at_six.runs == 0
        clock.advance(hours=1)
        await at_six.until(1)
        await at_once.until(2)
    assert (at_four.runs, at_six.runs, at_once.runs) == (1, 1, 2)


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(hours=1), timedelta(days=-3650)])
async def test_a_clock_step_delays_no_job(jobs: Jobs, clock: Clock, step: timedelta) -> None:
    often, nightly = Counted(), Counted()
    jobs.every(0.05, often, "often")
    jobs.nightly(4, nightly, "nightly")
    async with started(jobs):
        await often.until(1)
        clock.advance(seconds=step.total_seconds())
        await often.until(3)
        clock.advance(hours=24)
        await nightly.until(1)


async def test_a_clock_that_was_wrong_for_a_moment_delays_no_job(jobs: Jobs, clock: WatchedClock) -> None:
    job = Counted()
    jobs.nightly(4, job, "nightly")
    async with started(jobs):
        clock.advance(days=365)
        await job.until(1)
        clock.advance(days=-365)
        reads = clock.reads
        await until(lambda: clock.reads > reads + 2)
        clock.advance(hours=17)
        await job.until(2)


async def test_a_clock_step_of_years_runs_a_missed_job_once(jobs: Jobs, clock: Clock) -> None:
    job, later = Counted(), Counted()
    jobs.nightly(4, job, "nightly")
    jobs.nightly(6, later, "later")
    async with started(jobs):
        clock.advance(days=3650)
        await job.until(1)
        await later.until(1)
        clock.advance(hours=17)
        await job.until(2)
    assert job.runs == 2


async def test_a_job_that_fails_runs_again_and_tells_when_it_works() -> None:
    told: list[str] = []
    outcomes: Iterator[ValueError | bool] = iter([ValueError("no"), False])
    jobs = Jobs(lambda name, error: told.append(f"{name}: {error}"), told.append)

    async def job() -> bool:
        outcome = next(outcomes, True)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    jobs.every(0.001, job, "often")
    async with started(jobs):
        await until(lambda: len(told) >= 3)
    assert told[:2] == ["often: no", "often"]
