"""Run `racebot` with a wrong clock: it is off by the seconds in a file.

The file is named by FAULTS_CLOCK. The monotonic clock stays right, as it does on a real computer.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import racebot.bot.heartbeat
from racebot.cli import main

FILE = Path(os.environ.pop("FAULTS_CLOCK"))


right_time = time.time


def wrong_by() -> float:
    return float(FILE.read_text() or 0)


class WrongDatetime(datetime):
    """A datetime whose `now` is wrong."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC).astimezone(tz) + timedelta(seconds=wrong_by())


if __name__ == "__main__":
    vars(racebot.bot.heartbeat)["datetime"] = WrongDatetime
    time.time = lambda: right_time() + wrong_by()
    main()
