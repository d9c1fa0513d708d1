"""Runs ledger work on one thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class RunOnLedger(Protocol):
    """Runs a function on the ledger's thread and returns its result."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class LedgerThread:
    """The only thread that writes to the ledger."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        self._unfinished: set[Future[Any]] = set()

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function on the thread and return what it returns."""
        context = copy_context()  # carries the race's name to the log lines
        call = partial(context.run, work, *args, **kwargs)
        future = self._executor.submit(call)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return await asyncio.wrap_future(future)

    def is_busy(self) -> bool:
        """Return whether any work is running or waiting."""
        return bool(self._unfinished)

    def is_wanted(self) -> bool:
        """Return whether work is waiting for the thread."""
        return len(self._unfinished) > 1

    def close(self) -> None:
        """Finish the queued work and end the thread."""
        self._executor.shutdown()
