"""Moderators' edits, which the site saves in silence: the real worker beside the sandbox."""

import asyncio
from datetime import timedelta

import pytest
from builders import existing
from forks import PACE
from spoiler import FrameFault
from worker_support import RACE_CACHE, Sandbox, finish, said, settled, spaced, until

from racebot.bot.room.case import MAX_AGE
from racebot.sandbox.race_state import RacerStatus
from racebot.sandbox.room import FakeRoom
from racebot.settings.texts import DEFAULT_TEXTS
from racebot.text.format import Count


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


async def test_why_is_answered_from_the_edited_result(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_QUIET_SECONDS"] = "600"
    room = sandbox.open_race(3)
    async with sandbox.worker():
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        finish(room, 60, 61, 62)
        room.say("Racer 2", "!why")
        first = await announced(room, 1)
        # Without the chat message, only the age of the data leads to a read.
        sandbox.misbehaviour.spoil_frames(FrameFault.LOST, 1, kind="chat.message")
        room.edit_result("Racer 2", time=timedelta(minutes=50))
        await asyncio.sleep(RACE_CACHE + MAX_AGE / PACE)  # then the data is too old to answer from
        room.say("Racer 2", "!why")
        await until(lambda: len(said(room)) == 2)
        assert said(room)[1] != first


@pytest.mark.long  # the bot looks at a finished race once a minute
async def test_an_account_deleted_before_the_record_is_corrected_once(sandbox: Sandbox) -> None:
    """No version rises, and the connection repeats its own copy of the race."""
    sandbox.extra |= {"RACEBOT_ROOMS_EVERY": "0.5", "RACEBOT_REQUEST_INTERVAL": "0"}
    room = sandbox.open_race(4)
    async with sandbox.worker():
        await until(lambda: room.listeners)
        finish(room, 60, 61, 62)
        await announced(room, 1)
        sandbox.site.delete_user("Racer 1")
        text = await announced(room, 2)
        assert text.startswith(f"Correction ({DEFAULT_TEXTS.edit_other.format(deleted=Count(True))}): ")
        assert "Racer 1" not in text
        await sandbox.look(20)
        assert len(said(room)) == 2
