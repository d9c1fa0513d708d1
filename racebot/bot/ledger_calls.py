"""Runs the worker's ledger work, and prepares long re-ratings beside the ledger thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from racebot.ledger.connection import WriteInterrupted, never
from racebot.ledger.thread import LedgerThread
from racebot.standings.prepare import ATTEMPTS, Preparer, sweep
from racebot.standings.rerating import RatingsDeferred
from racebot.standings.settle import Settler

P = ParamSpec("P")
T = TypeVar("T")

INTERRUPTIONS = 60
"""How often a long write lets other work go first before it is finished."""
RETRY_AFTER = 0.5
"""Seconds before an interrupted write is tried again."""
LONGEST_PAUSE = 0.05
"""Seconds that the preparer waits for the ledger thread before it goes on."""


class Stopped(Exception):  # noqa: N818 - not an error
    """The worker stops; what was being prepared is not needed."""


class LedgerCalls:
    """Runs work on the ledger thread. Work that needs a long re-rating is run again once it is prepared.

    Other work goes on meanwhile. Only one re-rating is prepared at a time.

    Args:
        thread: the ledger thread.
    """

    def __init__(self, thread: LedgerThread) -> None:
        self._thread = thread
        self._preparing = asyncio.Lock()
        self._stopped = False
        self._settler: Settler | None = None
        self._preparer: Preparer | None = None

    def prepare_for(self, settler: Settler) -> None:
        """Prepare the long re-ratings of this settler. Its transactions may then be run more than once."""
        self._settler = settler
        self._preparer = settler.updater.preparer = Preparer(settler.ledger.path, pause=self._pause)

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function on the ledger thread and return what it returns."""
        try:
            return await self._thread.run(work, *args, **kwargs)
        except (RatingsDeferred, WriteInterrupted):  # it may use ratings prepared for other work
            return await self._run_prepared(work, *args, **kwargs)

    def stop(self) -> None:
        """Give up what is being prepared."""
        self._stopped = True

    async def sweep(self) -> None:
        """Delete what rebuilds left behind."""
        assert self._settler is not None  # noqa: S101
        ledger = self._settler.ledger
        leftovers = await self._thread.run(ledger.leftovers)
        if leftovers:
            await asyncio.to_thread(sweep, ledger.path, self._pause)

    async def _run_prepared(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        settler, preparer = self._settler, self._preparer
        assert settler is not None and preparer is not None  # noqa: S101 - only a preparer defers work
        async with self._preparing:
            interruptions = attempts = 0
            try:
                while True:
                    wait = interruptions < INTERRUPTIONS
                    settler.updater.interrupted = self._thread.is_wanted if wait else never
                    settler.updater.preparer = preparer if attempts < ATTEMPTS else None
                    try:
                        return await self._thread.run(work, *args, **kwargs)
                    except WriteInterrupted:
                        interruptions += 1
                        await asyncio.sleep(RETRY_AFTER)
                    except RatingsDeferred as deferred:
                        attempts += 1
                        await asyncio.to_thread(preparer.prepare, deferred.task)
            except Stopped:
                raise asyncio.CancelledError from None
            finally:
                settler.updater.preparer = preparer
                preparer.release()

    def _pause(self) -> None:
        """Let the ledger thread go first, since Python runs one thread at a time."""
        until = time.monotonic() + LONGEST_PAUSE
        while self._thread.is_busy() and time.monotonic() < until:
            time.sleep(0.001)
        if self._stopped:
            raise Stopped
