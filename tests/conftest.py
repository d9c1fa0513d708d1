"""Fixtures for all tests. That this file is here also makes `builders` importable from every folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import Clock

from racebot.ledger.store import Ledger
from racebot.ratings import fast

os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # the studies of a test are too short to start processes for
fast.AVAILABLE = (
    False  # kernels take half a minute to compile, and only tests/ratings/test_fast.py is about them
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        yield ledger
