"""Simulated racers and the races that they play."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest

from racebot.sandbox.racers import Racer, recruit
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import DEMO, Script, play, race
from racebot.sandbox.site import FakeSite

from .conftest import Clock, chat_texts


class Sleeper:
    """Lets time pass on the clock at once, and remembers how much."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.slept = 0.0

    async def __call__(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept += seconds
        self.clock.advance(seconds=seconds)
        await asyncio.sleep(0)


@pytest.fixture
def sleep(clock: Clock) -> Sleeper:
    return Sleeper(clock)


def standings(room: FakeRoom) -> list[str]:
    return sorted(str(entrant.status) for entrant in room.entrants)


async def test_the_demo_shows_dnfs_a_disqualification_and_a_race_that_does_not_count(
    site: FakeSite, sleep: Sleeper
) -> None:
    rooms = await play(site, rng=random.Random(1), sleep=sleep)
    dnfs, disqualified, unrecorded = rooms
    assert len(rooms) == len(DEMO)
    assert standings(dnfs).count("dnf") == 2
    assert dnfs.recorded
    assert standings(disqualified) == ["done"] * 4 + ["dq"]
    assert disqualified.recorded
    (dq,) = [entrant for entrant in disqualified.entrants if entrant.status == "dq"]
    assert all(
        dq.finish_time < e.finish_time
        for e in disqualified.entrants
        if e.place and dq.finish_time and e.finish_time
    )
    texts = chat_texts(disqualified)
    assert texts.index("!why") < len(texts) - 1
    assert "recorded by" in texts[-1]
    assert (unrecorded.recordable, unrecorded.recorded) == (False, False)


async def test_more_races_follow_the_three(site: FakeSite, sleep: Sleeper) -> None:
    rooms = await play(site, races=8, rng=random.Random(2), sleep=sleep)
    assert len(rooms) == 8
    assert all(room.recorded for room in rooms[3:])
    assert all(3 <= len(room.entrants) <= 8 for room in rooms[3:])


async def test_the_same_seed_plays_the_same_races(clock: Clock, sleep: Sleeper) -> None:
    def result(rooms: list[FakeRoom]) -> list[tuple[str, str, timedelta | None]]:
        return [(room.slug, e.user.name, e.finish_time) for room in rooms for e in room.entrants]

    runs = [
        result(
            await play(
                FakeSite(clock=clock, rng=random.Random(3)), rng=random.Random(4), races=4, sleep=sleep
            )
        )
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


async def test_speed_divides_every_wait(site: FakeSite, clock: Clock) -> None:
    slow, fast = Sleeper(clock), Sleeper(clock)
    await play(site, races=4, rng=random.Random(5), sleep=slow)
    await play(site, races=4, rng=random.Random(5), sleep=fast, speed=10)
    assert fast.slept == pytest.approx(slow.slept / 10)


async def test_the_race_ends_when_its_last_time_says(site: FakeSite, clock: Clock, sleep: Sleeper) -> None:
    racers = recruit(site, 3, random.Random(6))
    room = await race(site, racers, Script(dnfs=0), rng=random.Random(7), sleep=sleep)
    times = [entrant.finish_time for entrant in room.entrants if entrant.finish_time is not None]
    assert room.started_at is not None
    assert room.ended_at is not None
    assert abs(room.ended_at - room.started_at - max(times)) < timedelta(seconds=1)


async def test_somebody_always_finishes(site: FakeSite, sleep: Sleeper) -> None:
    quitters = [Racer(racer.user, 0.0, 1.0) for racer in recruit(site, 3, random.Random(10))]
    for script in (Script(), Script(dnfs=9)):
        room = await race(site, quitters, script, rng=random.Random(11), sleep=sleep)
        assert standings(room) == ["dnf", "dnf", "done"]


def test_skilled_racers_are_faster() -> None:
    site, rng = FakeSite(rng=random.Random(12)), random.Random(13)
    good, poor = (Racer(site.add_user(name), skill, 0.0) for name, skill in (("G", 2.0), ("P", -2.0)))
    wins = sum((good.run(rng) or timedelta()) < (poor.run(rng) or timedelta()) for _ in range(200))
    assert 190 <= wins <= 200


def test_recruits_have_different_names(site: FakeSite) -> None:
    racers = recruit(site, 60, random.Random(14))
    assert len({racer.user.name for racer in racers}) == 60
    assert any(not racer.user.name.isascii() for racer in racers)
    assert all(0 < racer.dnf_chance <= 0.5 for racer in racers)
