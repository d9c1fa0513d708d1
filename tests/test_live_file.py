"""The live file by itself."""

from datetime import timedelta
from pathlib import Path

import pytest
from builders import NOON, live_room, racer

from racebot.live_file import LiveReport, live_path, read_live, write_live
from racebot.races.result import EntrantStatus

ROOM = live_room(racer("ann", name="Ann <b>\u202e", status=EntrantStatus.DONE, finish_time=3600.5))
LATER = NOON + timedelta(seconds=10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "live.json"


def test_rooms_of_a_worker_killed_while_it_wrote_are_read(path: Path) -> None:
    write_live(path, LiveReport(NOON, (ROOM,)))
    path.with_suffix(".part").write_text('{"seen_at": "20')
    assert read_live(path) == LiveReport(NOON, (ROOM,))
    write_live(path, LiveReport(LATER, ()))
    assert read_live(path) == LiveReport(LATER, ())


def test_only_the_owner_can_read_the_file(path: Path) -> None:
    write_live(path, LiveReport(NOON, ()))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"\xff{", b"[]", b"{}", b'{"seen_at": "soon", "rooms": []}'])
def test_damaged_file_is_no_report_and_is_replaced(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert read_live(path) is None
    write_live(path, LiveReport(NOON, (ROOM,)))
    assert read_live(path) == LiveReport(NOON, (ROOM,))


def test_databases_in_one_folder_have_their_own_live_files(tmp_path: Path) -> None:
    assert live_path(tmp_path / "racebot.db") == tmp_path / "live.json"
    assert live_path(tmp_path / "other.db") == tmp_path / "other-live.json"
