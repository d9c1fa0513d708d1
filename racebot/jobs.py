"""Work that is done again and again while the bot runs.

Pauses are waited for by the monotonic clock. A scheduler that goes by the time of day stands still for as
long as the computer's clock is set back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta

Job = Callable[[], Awaitable[None]]

LOOK_AT_CLOCK_EVERY = 60.0
"""Seconds."""


async def repeat(job: Job, seconds: float) -> None:
    """Do a job now, and again that long after it was done, for ever."""
    while True:
        await job()
        await asyncio.sleep(seconds)


async def nightly(
    job: Job, hour: int, clock: Callable[[], datetime], look_every: float = LOOK_AT_CLOCK_EVERY
) -> None:
    """Do a job once a day, as soon as the clock has passed an hour of the day, for ever."""

    def day() -> date:
        return (clock() - timedelta(hours=hour)).date()

    done = day()
    while True:
        await asyncio.sleep(look_every)
        if day() != done:
            done = day()
            await job()
