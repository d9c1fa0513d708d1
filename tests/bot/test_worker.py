"""The real worker as a process beside the sandbox: chat, faults and kills."""

import asyncio
import json
import sqlite3
from datetime import timedelta
from unittest.mock import Mock

import pytest
from builders import existing
from pydantic import SecretStr
from spoiler import FrameFault
from worker_support import PATIENCE, Sandbox, finish, requested, said, settled, spaced, until

from racebot.bot.worker import Worker
from racebot.cli import MAY_PASS
from racebot.live_file import LiveEntrant, LiveRoom, live_path, read_live
from racebot.sandbox.race_state import RacerStatus, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.text.format import Count

EVERYDAY = {FrameFault.LOST}


@pytest.mark.parametrize(
    "fault", [each if each in EVERYDAY else pytest.param(each, marks=pytest.mark.long) for each in FrameFault]
)
async def test_a_bad_frame_loses_neither_a_race_nor_a_message(sandbox: Sandbox, fault: FrameFault) -> None:
    async with sandbox.worker():
        room = sandbox.open_race(3)
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        sandbox.misbehaviour.spoil_frames(fault, 1, kind="chat.message")
        finish(room, 60, 61)
        sandbox.misbehaviour.spoil_frames(fault, 1, kind="race.data")
        room.disqualify(room.entrants[0].user)
        await until(lambda: any("DQ Racer 0" in text for text in said(room)))
        sandbox.misbehaviour.spoil_frames(fault, 1, kind="race.data")
        room.record()
        await until(lambda: settled(sandbox, room))
    assert len(said(room)) == len(set(said(room)))
    assert (await sandbox.racebot("verify")).returncode == 0


async def test_a_bad_setting_stops_the_worker_with_one_line(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_CATEGORY"] = "nowhere"
    async with sandbox.worker() as worker:
        assert await worker.ended() == 2
    (line,) = [each for each in worker.output.splitlines() if each and "New database" not in each]
    assert line.startswith("racebot: ")
    assert "no category 'nowhere'" in line


async def test_a_second_worker_on_the_same_database_refuses(sandbox: Sandbox) -> None:
    async with sandbox.worker():
        await until(lambda: requested(sandbox.site).get(f"/o/{CATEGORY}/data", 0) >= 1)
        async with sandbox.worker() as second:
            assert await second.ended() == MAY_PASS
        # The first worker keeps logging.
        output = [line for line in second.output.splitlines() if not line[0].isdecimal()]
    assert output == [f"racebot: another racebot worker uses {sandbox.database}: stop it first"]


async def test_the_worker_stops_while_the_site_is_unavailable(sandbox: Sandbox) -> None:
    sandbox.misbehaviour.fail_http(100, 503, retry_after="300")
    async with sandbox.worker() as worker:
        await until(lambda: sandbox.site.requests)
        assert await worker.terminate() == 0


async def test_a_temporary_403_does_not_stop_the_worker(sandbox: Sandbox) -> None:
    async with sandbox.worker() as worker:
        await until(lambda: requested(sandbox.site).get(f"/o/{CATEGORY}/data", 0) >= 2)
        sandbox.misbehaviour.fail_http(4, 403, path=f"/o/{CATEGORY}/data")
        seen = requested(sandbox.site)[f"/o/{CATEGORY}/data"]
        await until(lambda: requested(sandbox.site)[f"/o/{CATEGORY}/data"] >= seen + 6)
        room = sandbox.open_race(3)
        finish(room, 60, 61)
        await until(lambda: len(said(room)) == 1)
        assert await worker.terminate() == 0
    logged = [line for line in worker.output.splitlines() if "does not let this bot into" in line]
    assert len(logged) == 2, "its beginning and its end"


async def test_unexpected_error_while_applying_the_settings_stops_the_worker(tmp_path, monkeypatch) -> None:
    apply = Mock(side_effect=ValueError("unexpected"))
    monkeypatch.setattr("racebot.bot.worker.apply_settings", apply)
    async with serve(FakeSite()) as address:
        settings = Settings(
            site=address,
            category=CATEGORY,
            client_id=CLIENT_ID,
            client_secret=SecretStr(CLIENT_SECRET),
            database=tmp_path / "ledger.db",
        )
        with pytest.raises(ValueError, match="unexpected"):
            async with asyncio.timeout(PATIENCE):
                await Worker(settings).run()


@pytest.mark.long  # SQLite waits ten seconds for the lock
async def test_a_locked_database_at_the_finish_loses_no_unlisted_race(sandbox: Sandbox) -> None:
    async with sandbox.worker() as worker:
        room = sandbox.open_race(3, unlisted=True)
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        with sandbox.ledger() as ledger:
            ledger.connection.db.conn.execute("BEGIN IMMEDIATE")
            finish(room, 60, 61)
            await until(lambda: "database is locked" in worker.output)
            ledger.connection.db.conn.rollback()
        await until(lambda: len(said(room)) == 1)


async def test_pages_are_exported_after_a_race_is_settled(sandbox: Sandbox) -> None:
    folder = sandbox.database.parent / "public"
    sandbox.extra["RACEBOT_PAGES_DIR"] = str(folder)
    room = sandbox.open_race(3)
    finish(room, 60, 61)
    room.record()
    page = folder / "races" / f"{room.name}.html"
    async with sandbox.worker() as worker:
        await until(page.exists)
        assert "Racer 0" in page.read_text(encoding="utf-8")
        await until(lambda: "written" in worker.output)
        assert await worker.terminate() == 0


# Watching it


async def test_health_status_and_the_log_describe_the_worker(sandbox: Sandbox) -> None:
    async with sandbox.worker() as worker:
        room = sandbox.open_race(2)
        finish(room, 80, 85)
        await until(lambda: said(room))
        room.record()
        await until(lambda: settled(sandbox, room))
        await sandbox.look()
        assert (await sandbox.racebot("health")).returncode == 0
        status = json.loads((await sandbox.racebot("status", "--json")).stdout)
        assert status["running"]
        assert [board.partition(":")[2].split()[0] for board in status["leaderboards"]] == ["1"]
        assert await worker.terminate() == 0
    assert f"{room.name}: counted on" in worker.output


# The live file


def rooms(sandbox: Sandbox) -> list[LiveRoom] | None:
    """Return the live rooms, or None while the worker writes them."""
    report = read_live(live_path(sandbox.database))
    return list(report.rooms) if report else None


def live(sandbox: Sandbox, race: str, status: str) -> LiveRoom | None:
    """Return a race's room if it has this status."""
    return next((room for room in rooms(sandbox) or () if (room.race, room.status) == (race, status)), None)


async def test_room_is_live_from_its_opening_until_its_record(sandbox: Sandbox) -> None:
    async with sandbox.worker() as worker:
        room = sandbox.site.open_race()
        for user in [sandbox.site.add_user(f"Racer {number}") for number in range(3)]:
            room.enter(user)
        await until(lambda: len(entrants(live(sandbox, room.name, "open"))) == 3)
        for entrant in list(room.entrants):
            room.ready(entrant.user)
        room.count_down()
        room.start()
        shown = await until(lambda: live(sandbox, room.name, "in_progress"))
        assert [entrant.win_chance for entrant in entrants(shown)] == pytest.approx([1 / 3] * 3, abs=0.1)
        finish(room, 60, 61)
        winner, _, unfinished = await until(lambda: changes(live(sandbox, room.name, "finished")))
        assert winner > 0 > unfinished
        await worker.kill()
    assert live(sandbox, room.name, "finished"), "as the worker left it"
    room.record()
    async with sandbox.worker() as worker:
        await until(lambda: settled(sandbox, room) and rooms(sandbox) == [])
        assert await worker.terminate() == 0


def entrants(room: LiveRoom | None) -> tuple[LiveEntrant, ...]:
    return room.leaderboards[0].entrants if room else ()


def changes(room: LiveRoom | None) -> list[int]:
    """Return the changes that a finished race will bring, once they are known."""
    return [entrant.change for entrant in entrants(room) if entrant.change is not None]


# Edits


async def announced(room: FakeRoom, count: int) -> str:
    """Wait for the bot's next message, and return it."""
    await until(lambda: len(said(room)) >= count)
    assert len(said(room)) == count
    return said(room)[-1]


async def test_a_race_is_announced_each_silent_edit_corrected_and_a_record_settled(sandbox: Sandbox) -> None:
    """With the default settings except for the quiet time. The site saves edits in silence."""
    defaults = {"ROOMS_EVERY": "30", "LIST_EVERY": "300", "REQUEST_INTERVAL": "1"}
    sandbox.extra |= {f"RACEBOT_{name}": value for name, value in defaults.items()}
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


# Commands


async def answered(room: FakeRoom, user: User, line: str) -> str:
    """Post a line in a room, and return the next message."""
    before = len(said(room))
    room.say(user, line)
    await until(lambda: len(said(room)) > before)
    return said(room)[-1]


async def test_commands_are_answered_in_the_room(sandbox: Sandbox) -> None:
    room = sandbox.open_race(3)
    ann, bo = room.entrants[0].user, room.entrants[1].user
    async with sandbox.worker():
        await until(lambda: sandbox.site.requests)
        room.say(ann, "!rating")  # just before the bot joins
        await until(lambda: said(room))
        assert "is new and starts at" in said(room)[0]
        assert await answered(room, ann, "!odds") == Texts().odds_none.format(counts=Count(True))
        finish(room, 80, 85)
        await until(lambda: any(text.startswith("Ratings if") for text in said(room)))
        (message,) = [m for m in room.chat if m.text.startswith("Ratings if")]
        assert message.actions["Why?"]["message"] == "!why"
        assert " if recorded: 1st of 2 " in await answered(room, ann, "!why")
        assert ": 2nd of 2 (" in await answered(room, bo, f"!why {bo.name}")
        room.record()
        await until(lambda: room.bot_meta)
    for opening in ("Ratings if", said(room)[0]):
        assert sum(text.startswith(opening) for text in said(room)) == 1


async def test_question_about_a_damaged_ledger_does_not_stop_the_bot(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_LIST_EVERY"] = "3600"  # the list of past races would repair the ledger
    async with sandbox.worker() as worker:
        first = sandbox.open_race(2)
        finish(first, 80, 85)
        await until(lambda: said(first))
        first.record()
        await until(lambda: first.bot_meta)
        with sqlite3.connect(sandbox.database, timeout=PATIENCE) as damage:
            damage.execute("UPDATE races SET result = '?'")
        room = sandbox.open_race(2)
        await until(lambda: room.listeners)
        room.say(room.entrants[0].user, "!why")
        await until(lambda: "no answer given" in worker.output)
        assert (await answered(room, room.entrants[0].user, "!ratings")).startswith("racebot ")


def has_rating_message(room: FakeRoom) -> bool:
    return any(text.startswith("Ratings if") for text in said(room))


async def test_quiet_ordered_before_the_bot_joined_is_kept(sandbox: Sandbox) -> None:
    room = sandbox.open_race(2)
    room.say(sandbox.site.moderator, "!ratings off")
    async with sandbox.worker():
        await until(lambda: said(room))
        finish(room, 80, 85)
        await sandbox.look(10)
        assert not has_rating_message(room)
        room.say(sandbox.site.moderator, "!ratings on")
        await until(lambda: has_rating_message(room))
