"""The worker's health: when each category was last seen, and which failures end the process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from racebot.bot.heartbeat import write_heartbeat
from racebot.errors import CredentialsError, DamagedRaceError, LedgerError, LedgerUnavailable, RacebotError
from racebot.telemetry import metrics
from racebot.telemetry.troubles import Troubles

REFUSED_FOR_LONG = 600.0
"""Seconds of refused credentials after which the process ends, if they were accepted at the start."""


class Health:
    """Records when each category was last seen, and decides which failures are fatal.

    Args:
        database: the database; the heartbeat file is beside it.
        categories: slugs of all categories.
        troubles: logs failures.
        clock: returns the current time, with its offset.
    """

    def __init__(
        self, database: Path, categories: Sequence[str], troubles: Troubles, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._categories = categories
        self._troubles = troubles
        self._clock = clock
        self._seen: dict[str, tuple[datetime, float]] = {}
        """When each category was last seen, by the wall clock and the monotonic clock."""

    def category_seen(self, slug: str) -> None:
        """Store that a category was just seen, and write the heartbeat.

        The heartbeat has the time of the category that was seen the longest ago.

        Raises:
            LedgerUnavailable: the heartbeat cannot be written at the moment.
        """
        now = self._clock()
        self._seen[slug] = (now, time.monotonic())
        metrics.LAST_POLL.labels(slug).set(now.timestamp())
        if len(self._seen) == len(self._categories):
            write_heartbeat(self._database, min(moment for moment, _ in self._seen.values()))

    def ages(self) -> dict[str, float | None]:
        """Return the seconds since each category was seen, None if it has not been seen yet."""
        now = time.monotonic()
        ages: dict[str, float | None] = dict.fromkeys(self._categories)
        return ages | {slug: now - seen for slug, (_, seen) in self._seen.items()}

    def is_fatal(self, source: str, error: BaseException) -> bool:
        """Log a failure, and return whether only the operator can fix it.

        Args:
            source: what failed, such as a job.
            error: why.
        """
        metrics.ERRORS.labels(type(error).__name__).inc()
        failed, level = self._troubles.failed, logging.ERROR
        match error:
            case LedgerUnavailable():
                failed(source, str(error), level=level)
            case DamagedRaceError():
                failed(source, str(error), "other races are still settled", level=level)
            case CredentialsError() if not self._refused_for_long():
                failed(source, str(error), level=level)
            case CredentialsError() | LedgerError():
                return True
            case RacebotError():
                failed(source, str(error))
            case _:
                failed(source, f"unexpected error: {error!r}", "continuing", level=level, error=error)
        return False

    def _refused_for_long(self) -> bool:
        """Return whether credentials that were accepted at the start have been refused for too long."""
        seen = [at for _, at in self._seen.values()]
        return bool(seen) and time.monotonic() - min(seen) > REFUSED_FOR_LONG
