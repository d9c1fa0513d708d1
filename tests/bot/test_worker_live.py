"""The live file of the real worker beside a sandbox, through the life of a race."""

from __future__ import annotations

import pytest
from worker_support import Bench, finish, settled, until

from racebot.queries.live import LiveEntrant, LiveRoom, live_path, read_live


def rooms(sandbox: Bench) -> list[LiveRoom] | None:
    """Return the live rooms, or None while the worker writes them."""
    report = read_live(live_path(sandbox.database))
    return list(report.rooms) if report else None


def live(sandbox: Bench, race: str, status: str) -> LiveRoom | None:
    """Return a race's room if it has this status."""
    return next((room for room in rooms(sandbox) or () if (room.race, room.status) == (race, status)), None)


async def test_room_is_live_from_its_opening_until_its_record(sandbox: Bench) -> None:
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
        room.record()
        await until(lambda: settled(sandbox, room) and rooms(sandbox) == [])
        assert await worker.terminate() == 0


async def test_deleted_live_file_comes_back_and_a_killed_worker_leaves_it(sandbox: Bench) -> None:
    room = sandbox.open_race(3)
    async with sandbox.worker() as worker:
        await until(lambda: live(sandbox, room.name, "in_progress"))
        live_path(sandbox.database).unlink()
        finish(room, 60, 61, 62)
        await until(lambda: live(sandbox, room.name, "finished"))
        await worker.kill()
    assert live(sandbox, room.name, "finished")
    room.record()
    async with sandbox.worker():
        await until(lambda: settled(sandbox, room) and rooms(sandbox) == [])


def entrants(room: LiveRoom | None) -> tuple[LiveEntrant, ...]:
    return room.leaderboards[0].entrants if room else ()


def changes(room: LiveRoom | None) -> list[int]:
    """Return the changes that a finished race will bring, once they are known."""
    return [entrant.change for entrant in entrants(room) if entrant.change is not None]
