"""Moderators' edits, which the site saves in silence: the real worker beside the sandbox."""

from datetime import timedelta

import pytest
from builders import existing
from worker_support import Sandbox, finish, said, settled, spaced, until

from racebot.sandbox.race_state import RacerStatus
from racebot.sandbox.room import FakeRoom


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    """A sandbox whose worker has the default settings except for the quiet time."""
    defaults = {"ROOMS_EVERY": "30", "LIST_EVERY": "300", "REQUEST_INTERVAL": "1"}
    sandbox.extra |= {f"RACEBOT_{name}": value for name, value in defaults.items()}
    return sandbox


async def announced(room: FakeRoom, count: int) -> str:
    """Wait for the bot's next message, and return it."""
    await until(lambda: len(said(room)) >= count)
    assert len(said(room)) == count
    return said(room)[-1]


async def test_a_race_is_announced_each_silent_edit_corrected_and_a_record_settled(sandbox: Sandbox) -> None:
    room = sandbox.open_race(4)
    async with sandbox.worker() as worker:
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        finish(room, 60, 61, 62)
        text = await announced(room, 1)
        assert text.startswith("Ratings if recorded (Sandbox 100%): 1 Racer 0 ")
        assert "DNF Racer 3" in text

        room.edit_result("Racer 2", time=timedelta(minutes=50))
        text = await announced(room, 2)
        assert text.startswith("Correction (Racer 2's time edited)")
        assert ": 1 Racer 2 " in text

        room.edit_result("Racer 2", RacerStatus.DQ)
        assert ": 1 Racer 0 " in (text := await announced(room, 3))
        assert "DQ Racer 2" in text

        room.edit_result("Racer 2", RacerStatus.DONE)
        assert ": 1 Racer 2 " in await announced(room, 4)

        room.record()
        await until(lambda: settled(sandbox, room))
        assert len(said(room)) == 4
        assert spaced(room.info_bot or "").startswith("Ratings by racebot (Sandbox 100%): 1 Racer 2 ")
        (shown,) = room.bot_meta["racebot"]
        winner = next(e.user for e in room.entrants if e.place == 1)
        with sandbox.ledger() as ledger:
            (board,) = ledger.leaderboards.all()
            standing = existing(ledger.standings.get(board, winner.id))
        assert (shown["leaderboard"], shown["changes"][winner.id]) == (
            "Sandbox 100%",
            [1000, standing.points],
        )
        assert await worker.terminate() == 0
    assert (await sandbox.racebot("verify")).returncode == 0
