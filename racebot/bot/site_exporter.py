"""Exports the site again when ratings have changed.

Only one export runs at a time, so many races settled at once lead to one export. It can be killed safely:
each file is written completely or not at all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence

from racebot.bot.child_process import run_command
from racebot.errors import CommandError, ExportError

log = logging.getLogger(__name__)

AGAIN_AFTER = 300.0
"""Seconds to wait after a failed export."""
PAUSE = 4
"""Pause after an export, as a multiple of its duration, so that exports leave time for other programs."""
TIMEOUT = 900.0
"""Seconds."""


class SiteExporter:
    """Runs a command if the ratings have changed since its last run.

    Args:
        command: the command that writes the pages.
        revision: returns a token that changes whenever ratings may have changed.
        clock: returns seconds on a monotonic scale.
    """

    def __init__(
        self,
        command: Sequence[str],
        revision: Callable[[], Awaitable[Hashable]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._revision = revision
        self._clock = clock
        self._done: Hashable = None
        self._not_before = float("-inf")

    async def export_if_changed(self) -> bool:
        """Export the pages if the ratings have changed.

        Returns:
            Whether the pages are up to date. They are not during a pause.

        Raises:
            ExportError: the export failed; a later call tries again.
        """
        revision = await self._revision()
        start = self._clock()
        if revision == self._done:
            return True
        if start < self._not_before:
            return False
        self._not_before = start + AGAIN_AFTER
        try:
            async with asyncio.timeout(TIMEOUT):
                line = await run_command(self._command)
        except TimeoutError:
            raise ExportError("the pages were not written: the export timed out") from None
        except CommandError as error:
            raise ExportError(f"the pages were not written: {error}") from None
        end = self._clock()
        self._done, self._not_before = revision, end + PAUSE * (end - start)
        log.info("pages: %s", line)
        return True
