"""The live file of the real worker beside a sandbox, through the life of a race."""

from __future__ import annotations

import pytest
from worker_support import Bench, finish, settled, until

from racebot.ledger.live import LiveRoom, live_path, read_live


def live(sandbox: Bench) -> dict[str, LiveRoom]:
    report = read_live(live_path(sandbox.database))
    return {room.race: room for room in report.rooms} if report else {}


def status(sandbox: Bench, race: str) -> str:
    room = live(sandbox).get(race)
    return room.status if room else "absent"


async def test_room_is_live_from_its_opening_until_its_record(sandbox: Bench) -> None:
    async with sandbox.worker() as worker:
        room = sandbox.site.open_race()
        for user in [sandbox.site.add_user(f"Racer {number}") for number in range(3)]:
            room.enter(user)
        await until(lambda: status(sandbox, room.name) == "open" and entrants(sandbox, room.name) == 3)
        for entrant in list(room.entrants):
            room.ready(entrant.user)
        room.count_down()
        room.start()
        await until(lambda: status(sandbox, room.name) == "in_progress")
        (board,) = live(sandbox)[room.name].leaderboards
        assert [entrant.win_chance for entrant in board.entrants] == pytest.approx([1 / 3] * 3, abs=0.1)
        finish(room, 60, 61)
        await until(lambda: status(sandbox, room.name) == "finished")
        await until(lambda: changes(sandbox, room.name)[0] is not None)
        winner, second, unfinished = changes(sandbox, room.name)
        assert winner is not None and second is not None and unfinished is not None
        assert winner > 0 > unfinished
        room.record()
        await until(lambda: settled(sandbox, room) and status(sandbox, room.name) == "absent")
        assert await worker.terminate() == 0


async def test_deleted_live_file_comes_back_and_a_killed_worker_leaves_it(sandbox: Bench) -> None:
    room = sandbox.open_race(3)
    async with sandbox.worker() as worker:
        await until(lambda: status(sandbox, room.name) == "in_progress")
        live_path(sandbox.database).unlink()
        finish(room, 60, 61, 62)
        await until(lambda: status(sandbox, room.name) == "finished")
        await worker.kill()
    assert status(sandbox, room.name) == "finished"
    room.record()
    async with sandbox.worker():
        await until(lambda: settled(sandbox, room) and status(sandbox, room.name) == "absent")


async def test_worker_runs_without_its_live_file(sandbox: Bench) -> None:
    live_path(sandbox.database).mkdir()
    room = sandbox.open_race(2)
    async with sandbox.worker() as worker:
        finish(room, 60, 61)
        room.record()
        await until(lambda: settled(sandbox, room))
        await until(lambda: "live rooms" in worker.output)
        await sandbox.look()
        assert worker.output.count("live rooms") == 1
        assert await worker.terminate() == 0


def entrants(sandbox: Bench, race: str) -> int:
    (board,) = live(sandbox)[race].leaderboards
    return len(board.entrants)


def changes(sandbox: Bench, race: str) -> list[int | None]:
    (board,) = live(sandbox)[race].leaderboards
    return [entrant.change for entrant in board.entrants]
