"""Logs failures that repeat: the first at once, later ones at growing intervals, and the end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

log = logging.getLogger(__name__)

FIRST_PAUSE = 60.0
"""Seconds from the first line about a failure to the second, if it goes on."""
GROWTH = 4
LONGEST_PAUSE = 6 * 3600.0
"""Longest time between two lines. A failure that has not been seen for longer than that is a new one."""
MOST = 1000
"""Most failures to remember; the site's data may bring ever new ones."""


@dataclass(slots=True)
class _Trouble:
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
    """Seconds without a failure after which it is over. Grows if the trouble comes back."""


class Troubles:
    """Keeps the log of a long failure short. Sources that fail in the same way are logged once.

    Args:
        clock: returns seconds on a monotonic scale.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._troubles: dict[str, _Trouble] = {}

    def failed(
        self,
        source: str,
        problem: str,
        remedy: str = "trying again",
        *,
        level: int = logging.WARNING,
        error: BaseException | None = None,
    ) -> None:
        """Log a failure, unless the same one was logged a short time ago.

        Args:
            source: what failed, such as a job or a room.
            problem: why.
            remedy: what the bot does about it.
            level: the level of the first line. A failure that lasts is at least a warning.
            error: an error whose traceback belongs into the first line.
        """
        now = self._clock()
        self._troubles = {p: t for p, t in self._troubles.items() if now - t.last <= LONGEST_PAUSE}
        known = self._troubles.get(problem)
        if known is None and len(self._troubles) >= MOST:
            del self._troubles[min(self._troubles, key=lambda each: self._troubles[each].last)]
        if known is None:
            trouble = _Trouble(now, level)
        elif known.ended:
            trouble = _Trouble(now, level, calm=max(FIRST_PAUSE, known.calm * GROWTH))
        else:
            trouble = known
        self._troubles[problem] = trouble
        trouble.sources[source] = now
        trouble.last = now
        if trouble is not known:
            log.log(level, "%s; %s", problem, remedy, exc_info=error)
        elif now >= trouble.log_at:
            since = f"{trouble.since:%Y-%m-%d %H:%M} UTC"
            trouble.level = max(level, logging.WARNING)
            log.log(trouble.level, "%s; %s (since %s)", problem, remedy, since)
            trouble.pause = min(trouble.pause * GROWTH, LONGEST_PAUSE)
        else:
            return
        trouble.log_at = now + trouble.pause

    def over(self, source: str) -> None:
        """Note that a source works, and log the end of each trouble that no source has any more."""
        now = self._clock()
        for problem, trouble in self._troubles.items():
            trouble.sources.pop(source, None)
            # A source that is gone, such as a room, never works again.
            trouble.sources = {s: at for s, at in trouble.sources.items() if now - at <= LONGEST_PAUSE}
            if not (trouble.sources or trouble.ended) and now - trouble.last >= trouble.calm:
                trouble.ended = True
                lasted = _duration(trouble.last - trouble.began)
                log.log(min(trouble.level, logging.WARNING), "over after %s: %s", lasted, problem)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
