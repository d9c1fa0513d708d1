"""`racebot` on a computer whose clock goes wrong: it is off by the seconds that a file holds.

The file is named by FAULTS_CLOCK. The monotonic clock stays right, as it does on a real computer.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import apscheduler.executors.base
import apscheduler.schedulers.base

import racebot.worker
from racebot.cli import main

FILE = Path(os.environ.pop("FAULTS_CLOCK"))


class WrongDatetime(datetime):
    """Tells the wrong time, and is right in everything else."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC).astimezone(tz) + timedelta(seconds=float(FILE.read_text() or 0))


if __name__ == "__main__":
    for module in (racebot.worker, apscheduler.schedulers.base, apscheduler.executors.base):
        module.datetime = WrongDatetime  # type: ignore[attr-defined]
    main()
