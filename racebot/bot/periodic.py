"""Periodic jobs of the worker.

A job that runs every few seconds sleeps in between, which no clock step can prolong. Only nightly jobs read
the wall clock, and they read it every few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from apscheduler.triggers.cron import CronTrigger

from racebot.bot.heartbeat import utc_now

Job = Callable[[], Awaitable[bool | None]]
"""A job that returns False has not worked: it waits after a failure."""

CHECK_CLOCK_EVERY = 5.0
"""Seconds between two looks at the wall clock."""
STOP_WITHIN = 6.0
"""Seconds that cancelled jobs have to end. Only a message that is being posted takes more than one."""


@dataclass
class Jobs:
    """Runs jobs between `start` and `stop`. A job never overlaps itself. One run makes up for all missed.

    `failed` is called with the name of a job that failed and its error, `works` with one that worked.
    """

    failed: Callable[[str, Exception], object]
    works: Callable[[str], object]
    clock: Callable[[], datetime] = utc_now
    _loops: dict[str, Callable[[], Coroutine[None, None, None]]] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def every(self, seconds: float, job: Job, name: str) -> None:
        """Run a job at the start and then periodically."""
        self._loops[name] = partial(self._repeat, seconds, job, name)

    def nightly(self, hour: int, job: Job, name: str, *, at_once: bool = False) -> None:
        """Run a job every day at an hour, UTC. With `at_once`, run it at the start as well."""
        trigger = CronTrigger(hour=hour, timezone=UTC)
        self._loops[name] = partial(self._run_nightly, trigger, job, name, at_once=at_once)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(loop(), name=name) for name, loop in self._loops.items()]

    async def stop(self) -> None:
        """Cancel running jobs and start no more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_WITHIN)

    async def _repeat(self, seconds: float, job: Job, name: str) -> None:
        while True:
            start = time.monotonic()
            await self._run(job, name)
            # A run that takes longer than the interval skips the runs that it missed.
            await asyncio.sleep(seconds - (time.monotonic() - start) % seconds)

    async def _run_nightly(self, trigger: CronTrigger, job: Job, name: str, *, at_once: bool) -> None:
        if at_once:
            await self._run(job, name)
        due = trigger.get_next_fire_time(None, self.clock())
        while True:
            await asyncio.sleep(CHECK_CLOCK_EVERY)
            now = self.clock()
            if now >= due:
                await self._run(job, name)
                now = self.clock() + timedelta(microseconds=1)  # the trigger's next time may be now itself
            # Computed at every look, because a clock that was set back moves the next run forward.
            due = trigger.get_next_fire_time(None, now)

    async def _run(self, job: Job, name: str) -> None:
        try:
            if await job() is not False:
                self.works(name)
        except Exception as error:
            self.failed(name, error)
