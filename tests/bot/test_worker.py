"""The real worker as a process beside the sandbox: chat, faults and kills."""

import asyncio
import json
from unittest.mock import Mock

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from spoiler import FrameFault
from worker_support import PATIENCE, Sandbox, finish, requested, said, settled, until

from racebot.bot.worker import Worker
from racebot.cli import MAY_PASS
from racebot.live_file import LiveEntrant, LiveRoom, live_path, read_live
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import Settings

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


async def test_health_metrics_and_json_logs_describe_the_worker(sandbox: Sandbox, port: int) -> None:
    sandbox.extra.update(RACEBOT_MONITOR_PORT=str(port), RACEBOT_LOG_FORMAT="json")
    address = f"http://127.0.0.1:{port}"
    async with sandbox.worker() as worker, httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:
        room = sandbox.open_race(2)
        finish(room, 80, 85)
        await until(lambda: said(room))
        room.record()
        await until(lambda: settled(sandbox, room))
        await sandbox.look()
        assert (await client.get("/healthz")).status_code == 200
        assert (await sandbox.racebot("health")).returncode == 0
        text = (await client.get("/metrics")).text
        values = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        assert values["racebot_races_settled_total", CATEGORY] == 1
        assert values["racebot_messages_total", "chat", "delivered"] == 1
        assert values["racebot_message_seconds_count",] == 1
        assert values["racebot_outbox_messages", CATEGORY] == 0
        connections = values["racebot_room_connections_total", CATEGORY]
        assert connections == values["racebot_room_reconnects_total", CATEGORY] + 1
        status = json.loads((await sandbox.racebot("status", "--json")).stdout)
        assert status["worker"]["running"]
        assert [board["races"] for board in status["leaderboards"]] == [1]
        assert await worker.terminate() == 0
    lines = [json.loads(line) for line in worker.output.splitlines() if line.startswith("{")]
    assert {line["room"] for line in lines if "counted on" in line["message"]} == {room.slug}
    assert all("racebot" in line["logger"] for line in lines)


async def test_the_log_says_why_the_worker_stopped(sandbox: Sandbox) -> None:
    sandbox.extra.update(RACEBOT_CLIENT_SECRET="wrong", RACEBOT_LOG_FORMAT="json")
    async with sandbox.worker() as worker:
        assert await worker.ended() == 2
    last = json.loads(worker.output.splitlines()[-1])
    assert last["level"] == "CRITICAL"
    assert "check RACEBOT_CLIENT_ID" in last["message"]


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
