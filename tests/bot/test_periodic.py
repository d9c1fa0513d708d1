from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from worker_support import until

from racebot.bot import periodic as jobs
from racebot.bot.periodic import Jobs


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
        await until(lambda: self.runs >= runs)


def jobs_of() -> Jobs:
    """Jobs that must not fail."""

    def fail(name: str, error: Exception) -> None:
        raise AssertionError(name) from error

    return Jobs(fail, lambda _: None)


@asynccontextmanager
async def started(work: Jobs) -> AsyncIterator[None]:
    work.start()
    try:
        yield
    finally:
        await work.stop()


async def test_a_job_runs_at_the_start_then_periodically_and_never_overlaps_itself() -> None:
    work, job = jobs_of(), Counted()
    work.every(0.02, job, "often")
    async with started(work):
        await job.until(4)
    assert job.most_at_once == 1


async def test_no_job_runs_after_stop() -> None:
    work, job = jobs_of(), Counted()
    work.every(0.02, job, "often")
    async with started(work):
        await job.until(1)
    runs = job.runs
    await asyncio.sleep(0.1)
    assert job.runs == runs


@pytest.mark.parametrize("steps", range(4))
async def test_stop_as_a_job_starts_is_no_error(steps: int, caplog: pytest.LogCaptureFixture) -> None:
    work = jobs_of()
    work.every(60, Counted(), "often")
    async with started(work):
        for _ in range(steps):
            await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_stop_without_start_is_allowed() -> None:
    await jobs_of().stop()


async def test_a_nightly_job_waits_for_its_hour() -> None:
    work, job = jobs_of(), Counted()
    work.nightly((datetime.now(UTC) + timedelta(hours=3)).hour, job, "nightly")
    async with started(work):
        await asyncio.sleep(0.1)
    assert job.runs == 0


async def test_a_missed_nightly_run_is_made_up_at_the_start() -> None:
    work, job = jobs_of(), Counted()
    work.nightly((datetime.now(UTC) + timedelta(hours=3)).hour, job, "nightly", at_once=True)
    async with started(work):
        await job.until(1)
        await asyncio.sleep(0.1)
    assert job.runs == 1


def set_clock(monkeypatch: pytest.MonkeyPatch, step: timedelta) -> None:
    """Set the wall clock ahead, or back if the step is negative."""
    right = datetime.now

    class Stepped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return right(tz) + step

    monkeypatch.setattr(jobs, "datetime", Stepped)
    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Stepped)


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_step_delays_no_job(hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the clock check, the next run would be half an hour away or more."""
    monkeypatch.setattr(jobs, "CHECK_CLOCK_EVERY", 0.02)
    work, job = jobs_of(), Counted()
    work.every(1800, job, "seldom")
    async with started(work):
        await job.until(1)
        await until(lambda: not job.at_once)
        assert job.runs == 1
        set_clock(monkeypatch, timedelta(hours=hours))
        await job.until(2)


async def test_a_clock_that_was_wrong_for_a_moment_delays_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CHECK_CLOCK_EVERY", 0.02)
    work, job = jobs_of(), Counted()
    work.every(1800, job, "seldom")
    async with started(work):
        await job.until(1)
        await until(lambda: not job.at_once)
        # The next run after one while the clock was a day ahead.
        work._scheduler.modify_job("seldom", next_run_time=datetime.now(UTC) + timedelta(days=1))
        await job.until(2)


async def test_a_clock_step_of_years_runs_no_missed_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CHECK_CLOCK_EVERY", 0.02)
    work, job = jobs_of(), Counted()
    work.every(0.5, job, "often")
    work.nightly(4, Counted(), "nightly")
    async with started(work):
        await job.until(1)
        set_clock(monkeypatch, timedelta(days=3650))
        await job.until(3)
    assert job.runs < 10


async def test_a_nightly_run_missed_during_sleep_is_made_up() -> None:
    work, job = jobs_of(), Counted()
    work.nightly((datetime.now(UTC) + timedelta(hours=3)).hour, job, "nightly")
    async with started(work):
        # The scheduler's state when the jump is noticed.
        work._scheduler.modify_job("nightly", next_run_time=datetime.now(UTC) - timedelta(hours=1))
        work._follow_clock()
        await job.until(1)


async def test_a_job_that_fails_runs_again_and_tells_when_it_works() -> None:
    told: list[str] = []
    outcomes: Iterator[ValueError | bool] = iter([ValueError("no"), False])
    work = Jobs(lambda name, error: told.append(f"{name}: {error}"), told.append)

    async def job() -> bool:
        outcome = next(outcomes, True)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    work.every(0.001, job, "often")
    async with started(work):
        await until(lambda: len(told) >= 3)
    assert told[:2] == ["often: no", "often"]
