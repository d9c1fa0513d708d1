"""Starts the process that rates leaderboards again, while the ledger holds jobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from racebot.bot.child_process import run_command
from racebot.bot.retry import retry_pauses

log = logging.getLogger(__name__)


class JobStarter:
    """Runs a command as long as jobs are due. If it dies, it is started again after a growing pause.

    Args:
        command: the command that carries out jobs.
        due: returns whether there is work for it.
        clock: returns seconds on a monotonic scale.
    """

    def __init__(
        self,
        command: Sequence[str],
        due: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._due = due
        self._clock = clock
        self._pauses: Iterator[float] = retry_pauses()
        self._not_before = float("-inf")

    async def start_if_due(self) -> bool:
        """Run the command if a job is due. Return whether no job is due any more.

        Raises:
            CommandError: the command failed; a later call runs it again.
        """
        if not await self._due():
            return True
        if self._clock() < self._not_before:
            return False
        log.info("rating leaderboards again in another process")
        self._not_before = float("inf")
        try:
            await run_command(self._command)
        finally:
            self._not_before = self._clock() + next(self._pauses)
        self._pauses = retry_pauses()
        log.info("all leaderboards are rated again")
        return True
