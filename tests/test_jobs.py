from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from builders import Clock

from racebot.jobs import nightly, repeat


async def test_a_job_is_done_at_once_and_again_after_each_pause() -> None:
    done: list[float] = []
    enough = asyncio.Event()

    async def job() -> None:
        done.append(asyncio.get_running_loop().time())
        if len(done) == 3:
            enough.set()

    working = asyncio.create_task(repeat(job, 0.02))
    await asyncio.wait_for(enough.wait(), 5)
    working.cancel()
    # The loop may wake up early by as much as its clock resolves.
    assert all(later - earlier >= 0.019 for earlier, later in pairwise(done))


class Nights:
    """A nightly job at four by a clock that can be set, and the moments at which it was done."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.done: list[datetime] = []

    async def job(self) -> None:
        self.done.append(self.clock.now)

    async def at(self, *moments: datetime) -> list[datetime]:
        """Set the clock to each moment in turn, and let it be looked at."""
        self.clock.now = moments[0]
        working = asyncio.create_task(nightly(self.job, 4, self.clock, look_every=0))
        for moment in moments:
            self.clock.now = moment
            for _ in range(5):
                await asyncio.sleep(0)
        working.cancel()
        return self.done


def moment(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.fixture
def nights(clock: Clock) -> Nights:
    return Nights(clock)


async def test_once_a_night_and_not_at_the_start(nights: Nights) -> None:
    times = [moment(1, 12), moment(2, 3, 59), moment(2, 4), moment(2, 4, 1), moment(2, 23), moment(3, 5)]
    assert await nights.at(*times) == [moment(2, 4), moment(3, 5)]


async def test_a_start_before_the_hour_does_it_the_same_night(nights: Nights) -> None:
    assert await nights.at(moment(1, 3), moment(1, 4, 30)) == [moment(1, 4, 30)]


async def test_a_clock_that_was_years_ahead_holds_up_no_night(nights: Nights) -> None:
    ahead = moment(2, 5) + timedelta(days=800)
    done = await nights.at(moment(1, 12), moment(2, 5), ahead, moment(2, 6), moment(3, 5))
    assert done[0] == moment(2, 5)
    assert done[-1] == moment(3, 5)
