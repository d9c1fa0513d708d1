"""The log, and failures that repeat.

Invariant: no secret and no unbounded text reaches a log line.
"""

import logging
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from racebot.errors import RacebotError, in_words
from racebot.text.format import minute, span
from racebot.text.safe import printable

_race: ContextVar[str | None] = ContextVar("race", default=None)
log = logging.getLogger(__name__)
FIRST_PAUSE = 60.0  # seconds from the first line about a failure to the second, if it goes on
GROWTH = 4
LONGEST_PAUSE = 6 * 3600.0
"""Longest time between two lines. A failure that has not been seen for longer than that is a new one."""
MOST = 1000  # most failures to remember; the site's data may bring ever new ones
CURRENT, NAMED = 3600.0, 3
"""Seconds for which a failure counts as current, and how many of its sources are named."""


@contextmanager
def about(race: str) -> Generator[None]:
    """Attach a race, `category/slug`, to everything logged inside the block."""
    token = _race.set(race)
    try:
        yield
    finally:
        _race.reset(token)


def to_stderr(level: str) -> None:
    """Send all logging to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Text("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # At debug level they log every header, including the token.
    for chatty in ("httpx", "httpcore", "websockets"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class _Text(logging.Formatter):
    """One line per record, with tracebacks below; control characters from the site are removed."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        race = _race.get()
        message = printable(record.message)
        record.message = message if race is None or race in message else f"{race}: {message}"
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(map(printable, super().formatException(ei).splitlines()))


@dataclass(slots=True)
class _Failure:
    """A failure of one or several sources. All times but `since` are on the monotonic clock."""

    began: float
    level: int
    since: datetime = field(default_factory=partial(datetime.now, UTC))
    last: float = 0.0
    log_at: float = 0.0
    pause: float = FIRST_PAUSE
    sources: dict[str, float] = field(default_factory=dict)
    """The sources that fail at the moment, and when each last failed."""
    ended: bool = False
    calm: float = 0.0
    """Seconds without this failure after which it has ended. Grows if it comes back."""


class FailureLog:
    """Keeps the log of a long failure short. Sources that fail in the same way are logged once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}

    def failed(
        self, source: str, problem: str, *, level: int = logging.WARNING, error: BaseException | None = None
    ) -> None:
        """Log a failure, unless the same one was logged a short time ago.

        Args:
            source: what failed, such as a job or a room.
            level: the level of the first line. A failure that lasts is at least a warning.
            error: an error whose traceback belongs into the first line.
        """
        now = self._clock()
        self._failures = {p: f for p, f in self._failures.items() if now - f.last <= LONGEST_PAUSE}
        known = failure = self._failures.get(problem)
        if known is None and len(self._failures) >= MOST:
            del self._failures[min(self._failures, key=lambda each: self._failures[each].last)]
        if failure is None or failure.ended:
            calm = 0.0 if failure is None else max(FIRST_PAUSE, failure.calm * GROWTH)
            failure = self._failures[problem] = _Failure(now, level, calm=calm)
        failure.sources[source] = failure.last = now
        if failure is not known:
            log.log(level, "%s; trying again", problem, exc_info=error)
        elif now >= failure.log_at:
            failure.level = max(level, logging.WARNING)
            log.log(failure.level, "%s; trying again (since %s UTC)", problem, minute(failure.since))
            failure.pause = min(failure.pause * GROWTH, LONGEST_PAUSE)
        else:
            return
        failure.log_at = now + failure.pause

    def raised(self, source: str, error: Exception, *, level: int = logging.WARNING) -> None:
        """Log an error, with its traceback if nobody expected it."""
        if isinstance(error, RacebotError):
            self.failed(source, str(error), level=level)
        else:
            self.failed(source, f"{source}: {in_words(error)}", level=logging.ERROR, error=error)

    def current(self) -> list[str]:
        """Return what fails at the moment: a line for each problem, with the sources that it has."""
        now, lines = self._clock(), []
        for problem, failure in self._failures.items():
            sources = [source for source, at in failure.sources.items() if now - at <= CURRENT]
            if sources:
                more = f" and {len(sources) - NAMED} more" if len(sources) > NAMED else ""
                lines.append(f"{', '.join(sources[:NAMED])}{more}: {problem}")
        return lines

    def recovered(self, source: str) -> None:
        """Note that a source works, and log the end of each failure that no source has any more."""
        now = self._clock()
        for problem, failure in self._failures.items():
            failure.sources.pop(source, None)
            # A source that is gone, such as a room, never works again.
            failure.sources = {s: at for s, at in failure.sources.items() if now - at <= LONGEST_PAUSE}
            if not (failure.sources or failure.ended) and now - failure.last >= failure.calm:
                failure.ended = True
                lasted, level = span(failure.last - failure.began), min(failure.level, logging.WARNING)
                log.log(level, "over after %s: %s", lasted, problem)
