"""Run `racebot` with a wrong clock, and with a slow ledger.

The clock is off by the seconds in the file that FAULTS_CLOCK names. The monotonic clock stays right, as it
does on a real computer. The next piece of ledger work takes longer by the seconds in the file that
FAULTS_SLOW names, which is then deleted.
"""

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import racebot.ledger.lock
from racebot.cli import main
from racebot.ledger.connection import LedgerThread

FILE = Path(os.environ.pop("FAULTS_CLOCK"))
SLOW = Path(os.environ.pop("FAULTS_SLOW"))
run = LedgerThread.run


right_time = time.time


def wrong_by() -> float:
    return float(FILE.read_text() or 0)


class WrongDatetime(datetime):
    """A datetime whose `now` is wrong."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC).astimezone(tz) + timedelta(seconds=wrong_by())


def slowly(work: Any, *given: Any, **options: Any) -> Any:
    if SLOW.exists():
        seconds = float(SLOW.read_text() or 0)
        SLOW.unlink()
        time.sleep(seconds)
    return work(*given, **options)


async def run_slowly(thread: LedgerThread, work: Any, /, *given: Any, **options: Any) -> Any:
    return await run(thread, partial(slowly, work), *given, **options)


if __name__ == "__main__":
    LedgerThread.run = run_slowly  # type: ignore[method-assign]
    vars(racebot.ledger.lock)["datetime"] = WrongDatetime
    time.time = lambda: right_time() + wrong_by()
    main()
