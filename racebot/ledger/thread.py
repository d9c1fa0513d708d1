"""Runs ledger work on one thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class RunOnLedger(Protocol):
    """Runs a function on the ledger's thread and returns its result."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class LedgerThread:
    """The only thread that writes to the ledger."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function on the thread and return what it returns.

        If the caller is cancelled, work that has begun is still finished.
        """
        context = copy_context()  # carries the race's name to the log lines
        call = partial(context.run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Finish the queued work and end the thread."""
        self._executor.shutdown()
