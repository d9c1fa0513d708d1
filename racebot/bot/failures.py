"""Failures: how long what failed rests, and which failures end the worker."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from racebot.errors import CredentialsError, DamagedRaceError, LedgerError, LedgerUnavailable, reason
from racebot.ledger.lock import Heartbeat, write_heartbeat
from racebot.logs import FailureLog

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
GROWTH = 1.6
MOST_ITEMS = 1000  # most items to remember; the site's data may bring ever new ones


def retry_pauses() -> Iterator[float]:
    """Yield pauses in seconds, growing to five minutes, with a random variation of 50 %.

    The variation keeps rooms that lost their connections together from reconnecting at the same time.
    """
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, protects nothing
        pause = min(pause * GROWTH, LONGEST_PAUSE)


async def first_of(*works: Coroutine[Any, Any, object]) -> None:
    """Run coroutines until one of them ends, cancel the others, and raise the error of one that failed."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


@dataclass
class Backoff:
    """Lets items of a list that failed rest for growing pauses, while the list goes on.

    `failed` is called with an item and its error, `works` with an item that worked: a `FailureLog` names the
    items that fail.
    """

    failed: Callable[[str, Exception], object]
    works: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    _pauses: dict[str, Iterator[float]] = field(default_factory=dict)
    _until: dict[str, float] = field(default_factory=dict)
    """When items may be tried again, on the monotonic clock."""

    def rests(self, *items: str) -> bool:
        """Return whether any of these items rests at the moment."""
        return self.clock() < max(self._until.get(item, 0.0) for item in items)

    def rest(self, item: str, seconds: float | None = None) -> None:
        """Let an item rest, by default for longer than the last time."""
        if seconds is None:
            seconds = next(self._pauses.setdefault(item, retry_pauses()))
        self._until[item] = self.clock() + seconds
        if len(self._until) > MOST_ITEMS:
            self._forget(min(self._until, key=lambda each: self._until[each]))

    def note(self, item: str, error: Exception) -> None:
        """Report an item's failure, and let it rest."""
        self.failed(item, error)
        self.rest(item)

    def worked(self, item: str) -> None:
        self._forget(item)
        self.works(item)

    @contextmanager
    def trying(self, item: str) -> Iterator[None]:
        """Do something with an item. If that fails, it is noted, and the caller goes on."""
        try:
            yield
        except Exception as error:
            self.note(item, error)
        else:
            self.worked(item)

    def _forget(self, item: str) -> None:
        self._pauses.pop(item, None)
        self._until.pop(item, None)


SUSPENDED_FOR = 60.0  # seconds that a category rests after the site refused it
MOST_FAILURES = 100  # most failures to write into the heartbeat


@dataclass
class Health:
    """Records when each category was last seen, and decides which failures are fatal."""

    database: Path
    categories: Sequence[str]
    failures: FailureLog
    clock: Callable[[], datetime]
    _seen: dict[str, datetime] = field(default_factory=dict)
    _refused: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Why categories are suspended, and until when, by the monotonic clock."""

    def category_seen(self, slug: str) -> None:
        """Store that a category was just seen, and write the heartbeat."""
        self._seen[slug] = self.clock()
        self._refused.pop(slug, None)
        self._write_heartbeat()

    def suspend(self, slug: str, error: Exception) -> None:
        """Let a category rest that the site refuses. The others go on."""
        self._refused[slug] = reason(error), time.monotonic() + SUSPENDED_FOR
        self._write_heartbeat()

    def is_suspended(self, slug: str) -> bool:
        """Return whether a category rests at the moment."""
        return slug in self._refused and time.monotonic() < self._refused[slug][1]

    def _write_heartbeat(self) -> None:
        """Write the time of the category that was seen the longest ago, and which ones are suspended."""
        watched = [slug for slug in self.categories if slug not in self._refused] or self.categories
        if all(slug in self._seen for slug in watched):
            seen_at = min(self._seen[slug] for slug in watched)
            suspended = {slug: reason for slug, (reason, _) in self._refused.items()}
            failures = self.failures.current()[:MOST_FAILURES]
            write_heartbeat(self.database, Heartbeat(seen_at, suspended, failures))

    def is_fatal(self, source: str, error: Exception) -> bool:
        """Log a failure of `source`, such as a job, and return whether only the operator can fix it."""
        may_pass = isinstance(error, LedgerUnavailable | DamagedRaceError)
        if isinstance(error, LedgerError) and not may_pass:
            return True
        is_refusal = isinstance(error, CredentialsError)
        level = logging.ERROR if may_pass or is_refusal else logging.WARNING
        self.failures.raised(source, error, level=level)
        if is_refusal:
            self.suspend(source.split(maxsplit=1)[0].partition("/")[0], error)
        return False
