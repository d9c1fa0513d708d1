"""Periodic jobs, run by APScheduler.

APScheduler uses the wall clock, so a clock that is set back by an hour would stop it for an hour. Every few
seconds, we bring forward the runs that lie further ahead than they should by the clock.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger

log = logging.getLogger(__name__)

Job = Callable[[], Awaitable[bool | None]]
"""A job that returns False has not worked: it waits after a failure."""

CHECK_CLOCK_EVERY = 5.0
"""Seconds."""
STEP = 2.0
"""Smallest change of the wall clock, in seconds, that is logged."""


class EveryFewSeconds(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Fire at once, and then a fixed time after each run.

    APScheduler's own trigger lists every missed run, even if only one is made up. After a clock step of a
    year, it would list millions and block the event loop.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return now if previous_fire_time is None else max(previous_fire_time, now) + self._pause


class Nightly(BaseTrigger):  # type: ignore[misc]
    """Fire once a day or once a week at an hour, UTC, without listing missed runs."""

    def __init__(self, hour: int, day: str | None = None) -> None:
        self._trigger = CronTrigger(hour=hour, day_of_week=day, timezone=UTC)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        at: datetime | None = self._trigger.get_next_fire_time(None, now + timedelta(microseconds=1))
        return at


class Jobs:
    """Runs jobs between `start` and `stop`. A job never overlaps itself. One run makes up for all missed.

    Args:
        failed: called with the name of a job that failed, and its error. The job runs again.
        works: called with the name of a job that worked.
    """

    def __init__(self, failed: Callable[[str, Exception], None], works: Callable[[str], None]) -> None:
        self._failed = failed
        self._works = works
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._clock_task: asyncio.Task[None] | None = None
        self._stopped = False

    def every(self, seconds: float, job: Job, name: str) -> None:
        """Run a job at the start and then periodically."""
        self._add(job, EveryFewSeconds(seconds), name)
        self._scheduler.modify_job(name, next_run_time=datetime.now(UTC))

    def nightly(
        self, hour: int, job: Job, name: str, *, day: str | None = None, at_once: bool = False
    ) -> None:
        """Run a job once a day, or once a week.

        Args:
            hour: of the day, UTC.
            job: the job.
            name: its name.
            day: a day of the week, for example `mon`; None runs the job every day.
            at_once: whether to run it at the start as well.
        """
        self._add(job, Nightly(hour, day), name)
        if at_once:
            self._scheduler.modify_job(name, next_run_time=datetime.now(UTC))

    def start(self) -> None:
        self._scheduler.start()
        self._clock_task = asyncio.create_task(self._watch_clock(), name="clock")

    async def stop(self) -> None:
        """Cancel running jobs and start no more."""
        self._stopped = True
        if self._clock_task is not None:
            self._clock_task.cancel()
            self._scheduler.pause()
            await asyncio.sleep(0)  # a job that is cancelled before its first step cannot catch it
            self._scheduler.shutdown(wait=False)

    def _add(self, job: Job, trigger: BaseTrigger, name: str) -> None:
        async def run() -> None:
            try:
                if await job() is not False:
                    self._works(name)
            except asyncio.CancelledError:
                # The scheduler cancels running jobs on shutdown, and logs that as an error.
                if not self._stopped:
                    raise
            except Exception as error:
                self._failed(name, error)

        self._scheduler.add_job(
            run, trigger, id=name, name=name, coalesce=True, max_instances=1, misfire_grace_time=None
        )

    async def _watch_clock(self) -> None:
        ahead = time.time() - time.monotonic()
        while True:
            await asyncio.sleep(CHECK_CLOCK_EVERY)
            step = time.time() - time.monotonic() - ahead
            if abs(step) > STEP:
                log.warning("the computer's clock was set by %+.0f s", step)
                ahead += step
            # Not only after a step: the clock may have been set, and set back, since the last check.
            self._follow_clock()

    def _follow_clock(self) -> None:
        """Bring every job's next run in line with the clock."""
        now = datetime.now(UTC)
        for job in self._scheduler.get_jobs():
            latest = job.trigger.get_next_fire_time(now, now)
            if job.next_run_time > latest:
                job.modify(next_run_time=now if isinstance(job.trigger, EveryFewSeconds) else latest)
            elif job.next_run_time <= now:  # a run that was missed, for example while the computer slept
                job.modify(next_run_time=now)
