"""Fixtures for all tests. That this file is here also makes `builders` importable from every folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from builders import NOON

from racebot.ledger.store import Ledger


class Clock:
    """A clock that stands still until told to go on."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        yield ledger
