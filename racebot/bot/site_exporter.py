"""Keeps pages that are written as files up to date while the worker runs.

A process of its own writes them, so that the worker neither waits nor grows; and one after the other, so
that many races settled at once are one refresh.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import datetime, timedelta

from racebot.errors import ExportError

log = logging.getLogger(__name__)

AGAIN_AFTER = timedelta(minutes=5)
"""A refresh that failed is tried again after so long."""
PAUSE = 4
"""So many times as long as a refresh took it rests before the next, to leave the machine to others."""
TAKES_AT_MOST = 900.0
"""Seconds."""


class Refresher:
    """Runs a command whenever the ratings have changed since it last ran.

    Args:
        command: writes the pages.
        revision: gives something that differs once ratings have been written.
        clock: the current time.
    """

    def __init__(
        self,
        command: Sequence[str],
        revision: Callable[[], Awaitable[Hashable]],
        clock: Callable[[], datetime],
    ) -> None:
        self._command = command
        self._revision = revision
        self._clock = clock
        self._done: Hashable = None
        self._not_before: datetime | None = None

    async def refresh(self) -> None:
        """Write the pages, if there is anything new to write.

        Raises:
            ExportError: they could not be written; they will be, when it can be done.
        """
        revision = await self._revision()
        start = self._clock()
        if revision == self._done or (self._not_before is not None and start < self._not_before):
            return
        self._not_before = start + AGAIN_AFTER
        told = await self._run()
        end = self._clock()
        self._done, self._not_before = revision, end + PAUSE * (end - start)
        log.info("pages: %s", told)

    async def _run(self) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise ExportError(f"the pages were not written: {error}") from None
        try:
            async with asyncio.timeout(TAKES_AT_MOST):
                out, problems = await process.communicate()
        except TimeoutError:
            raise ExportError("the pages were not written: it took too long") from None
        finally:
            if process.returncode is None:
                process.kill()  # every file is written whole or not at all
                await process.wait()
        if process.returncode:
            raise ExportError(f"the pages were not written: {_last_line(problems)}")
        return _last_line(out)


def _last_line(output: bytes) -> str:
    return (output.decode(errors="replace").strip().splitlines() or [""])[-1]
