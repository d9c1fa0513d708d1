"""Kills of the worker, some at random moments and some at critical ones."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .harness import Run

PATIENCE = 3.0
"""Seconds that a kill waits for its moment."""


async def next_write(database: Path) -> None:
    """Wait until any program writes to a database's write-ahead log."""
    log = database.with_name(database.name + "-wal")

    def state() -> tuple[int, int]:
        with suppress(FileNotFoundError):
            found = log.stat()
            return found.st_size, found.st_mtime_ns
        return 0, 0

    before = state()
    while state() == before:  # noqa: ASYNC110 - it is another process that writes
        await asyncio.sleep(0.0005)


class Killer:
    """Kills the worker of a run and starts it again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rng = random.Random(f"kills {run.plan.seed}")
        self._word: asyncio.Event | None = None

    async def strike(self, times: int, count: Counter[str]) -> None:
        """Kill the worker several times, and count the kills by moment."""
        moments: dict[str, Callable[[], Awaitable[None]]] = {
            "at any time": lambda: asyncio.sleep(self._rng.uniform(0.3, PATIENCE * 0.9)),
            "while starting": lambda: asyncio.sleep(self._rng.uniform(0, 1.0)),
            "as the database is written": self._writing,
            "as a message arrives": self._speaking,
            "during a backup": self._backing_up,
        }
        names = self._rng.sample(list(moments), k=min(times, len(moments)))
        names += self._rng.choices(list(moments), (25, 15, 25, 30, 5), k=times - len(names))
        for name in names:
            moment = name
            try:
                async with asyncio.timeout(PATIENCE):
                    await moments[name]()
            except TimeoutError:
                moment = "at any time"
            worker = self._run.worker
            await worker.kill()
            if worker.returncode != -signal.SIGKILL:
                raise AssertionError(f"the worker had ended by itself: {worker.output[-500:]}")
            count[moment] += 1
            await self._run.start_worker()

    async def _writing(self) -> None:
        """Let the worker start, then wait for the next write, or a little longer."""
        await asyncio.sleep(self._rng.uniform(0.5, 1.5))
        await next_write(self._run.sandbox.database)
        await asyncio.sleep(self._rng.choice((0.0, 0.0, 0.001, 0.005, 0.02)))

    async def _speaking(self) -> None:
        """Kill it when a message reaches any room, before its echo or just after."""
        await asyncio.sleep(self._rng.uniform(0.5, 1.0))
        self._word = asyncio.Event()
        try:
            await self._word.wait()
        finally:
            self._word = None
        await asyncio.sleep(self._rng.choice((0.0, 0.001, 0.01)))

    def heard(self) -> None:
        """React to a message of the bot before its echo is sent."""
        if self._word is not None:
            self._word.set()
            if self._rng.random() < 0.7:
                self._run.worker.strike()

    async def _backing_up(self) -> None:
        """Kill a running backup, and the worker with it."""
        backup = await self._run.sandbox.start("backup")
        await asyncio.sleep(self._rng.uniform(0.3, 1.2))
        await backup.kill()
