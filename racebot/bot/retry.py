"""The pauses between retries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
GROWTH = 1.6
MOST_ITEMS = 1000
"""Most items to remember; the site's data may bring ever new ones."""


def retry_pauses() -> Iterator[float]:
    """Yield pauses in seconds, growing to five minutes, with a random variation of 50 %.

    The variation keeps rooms that lost their connections together from reconnecting at the same time.
    """
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, protects nothing
        pause = min(pause * GROWTH, LONGEST_PAUSE)


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
