"""Leaderboards rated again while races go on, by a process that is killed, beside a ledger that is slow."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from racebot.ledger.rows import START

if TYPE_CHECKING:
    from .harness import Run

SLOW = 15.0
"""Seconds that a slow piece of ledger work takes longer than it should."""
LASTS = 10.0
"""Seconds that sockets need to come back."""
PATIENCE = SLOW + 5.0
"""Seconds in which a rebuild's process should begin."""


class RatingAgain:
    """Requests rebuilds, kills their processes, drops sockets meanwhile, and slows the ledger down."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rng = random.Random(f"rebuilds {run.plan.seed}")

    async def strike(self, times: int, seconds: float, count: Counter[str]) -> None:
        """Request rebuilds at random moments of an act, each with one of these faults."""
        await asyncio.sleep(1.0)
        for number in range(times):
            await asyncio.sleep(self._rng.uniform(0, 2 * seconds / times))
            self._request()
            count["rebuild"] += 1
            match ("slow", "killed", "dropped")[number % 3]:
                case "slow":
                    self._run.disturbed(SLOW + LASTS)
                    self._run.slow_ledger(SLOW)
                    count["ledger slow"] += 1
                case "killed":
                    count["rebuild killed"] += await self._kill()
                case "dropped":
                    self._run.disturbed(LASTS)
                    count["socket dropped during a rebuild"] += self._run.misbehaviour.drop_sockets()

    def _request(self) -> None:
        """Let the worker rate every leaderboard again."""
        if not self._run.sandbox.database.exists():
            return
        with self._run.sandbox.ledger() as ledger, ledger.transaction():
            for board in ledger.leaderboards.all():
                ledger.rebuilds.request(board, START, "a test")

    async def _kill(self) -> int:
        """Kill a process of the worker soon after its start. Return how many were killed."""
        pid = self._run.worker.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        with suppress(TimeoutError, FileNotFoundError):
            async with asyncio.timeout(PATIENCE):
                while not (found := children.read_text().split()):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.01)
            await asyncio.sleep(self._rng.uniform(0, 0.5))
            with suppress(ProcessLookupError):
                os.kill(int(found[0]), signal.SIGKILL)
                return 1
        return 0
