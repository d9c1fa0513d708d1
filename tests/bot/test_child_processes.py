from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from worker_support import until

from racebot.bot import child_processes
from racebot.bot.child_processes import SiteExporter
from racebot.errors import ExportError

# Appends a line to the file in its argument; fails if a file `broken` is beside it.
SCRIPT = """
import pathlib, sys
log = pathlib.Path(sys.argv[1])
log.open("a").write("ran\\n")
if (log.parent / "broken").exists():
    sys.exit("no room left")
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.broken = folder / "broken"
        self.seconds = 0.0
        self.revision = 1
        self.exporter = self.of("-c", SCRIPT, str(self.log))

    def of(self, *arguments: str) -> SiteExporter:
        """Return an exporter that runs Python with these arguments."""
        return SiteExporter([sys.executable, *arguments], self.current, lambda: self.seconds)

    async def current(self) -> int:
        return self.revision

    @property
    def runs(self) -> int:
        return self.log.read_text(encoding="utf-8").count("ran") if self.log.exists() else 0


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_pages_are_written_at_the_start_and_when_ratings_changed(made: Bench) -> None:
    await made.exporter.export_if_changed()
    await made.exporter.export_if_changed()
    assert made.runs == 1
    made.revision = 5
    await made.exporter.export_if_changed()
    await made.exporter.export_if_changed()
    assert made.runs == 2


async def test_failed_export_is_reported_and_retried_later(made: Bench) -> None:
    made.broken.touch()
    with pytest.raises(ExportError, match="no room left"):
        await made.exporter.export_if_changed()
    await made.exporter.export_if_changed()
    assert made.runs == 1
    made.broken.unlink()
    made.seconds += 360
    await made.exporter.export_if_changed()
    assert made.runs == 2
    made.seconds += 360
    await made.exporter.export_if_changed()
    assert made.runs == 2


async def test_long_export_is_followed_by_a_long_pause(made: Bench) -> None:
    ticking = iter([0, 30, 100, 149, 151, 152])  # seconds; the first refresh takes thirty

    exporter = SiteExporter(
        [sys.executable, "-c", SCRIPT, str(made.log)], made.current, lambda: next(ticking)
    )
    await exporter.export_if_changed()
    for revision in (2, 3):
        made.revision = revision
        await exporter.export_if_changed()
        assert made.runs == 1
    await exporter.export_if_changed()
    assert made.runs == 2


async def test_race_settled_during_an_export_is_exported_next(made: Bench) -> None:
    first = asyncio.create_task(made.exporter.export_if_changed())
    await until(lambda: made.runs)
    made.revision += 1
    await first
    await made.exporter.export_if_changed()
    assert made.runs == 2


async def test_slow_export_is_killed(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "TIMEOUT", 0.05)
    sleeping = made.of("-c", "import time; time.sleep(60)")
    with pytest.raises(ExportError, match="timed out"):
        await sleeping.export_if_changed()
