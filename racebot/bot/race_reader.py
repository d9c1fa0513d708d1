"""Reads one race over HTTP, which shows edits that the frames of its room do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from racebot.errors import NotFoundError, PayloadError, SiteError
from racebot.racetime.client import Site
from racebot.racetime.payload import Race
from racebot.racetime.room import Room
from racebot.telemetry.troubles import Troubles

READ_FOR_ANSWER = 10.0
"""Seconds that an answer waits for the site to show the race."""


class RaceReader:
    """Reads a room's race on request, one request at a time.

    Args:
        name: the race, `category/slug`.
        site: the site.
        room: the room's state.
        on_read: called with the race and the time of the request, by the monotonic clock.
        on_failed: called after each read that failed.
        troubles: logs failures.
    """

    def __init__(
        self,
        name: str,
        site: Site,
        room: Room,
        *,
        on_read: Callable[[Race, float], Awaitable[None]],
        on_failed: Callable[[], None],
        troubles: Troubles,
    ) -> None:
        self._name = name
        self._site = site
        self._room = room
        self._on_read = on_read
        self._on_failed = on_failed
        self._troubles = troubles
        self._wanted = asyncio.Event()
        self._reading = asyncio.Lock()

    def request(self) -> None:
        """Let `run` read the race."""
        self._wanted.set()

    async def run(self) -> None:
        """Read the race after each request, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._read()

    async def is_up_to_date(self) -> bool:
        """Read the race again if it may have changed. Return False if it was edited and cannot be read."""
        if not self._room.needs_read(time.monotonic()):
            return True
        await self._read(within=READ_FOR_ANSWER)
        return not (self._room.unsure and self._room.needs_read(time.monotonic()))

    async def is_gone(self) -> bool:
        """Return whether the site says that the race does not exist."""
        if self._site.gate.existence_check.locked():
            return False  # another room is asking; this one can ask after its next failure
        async with self._site.gate.existence_check:
            try:
                await self._site.race(self._name)
            except NotFoundError:
                return True
            except (SiteError, PayloadError):
                pass
            return False

    async def _read(self, within: float | None = None) -> None:
        """Read the race, waiting for the site for at most `within` seconds."""
        try:
            async with asyncio.timeout(within), self._reading:
                asked_at = time.monotonic()
                race = await self._site.race(self._name)
        except (SiteError, PayloadError, TimeoutError) as error:
            self._troubles.failed(f"{self._name} read", str(error) or "no answer in time")
            self._room.on_read_failed(time.monotonic())
            self._on_failed()
        else:
            self._troubles.over(f"{self._name} read")
            await self._on_read(race, asked_at)
