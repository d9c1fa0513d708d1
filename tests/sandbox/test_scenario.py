"""Simulated racers, the story of the demo, and past races."""

import asyncio
import random
from datetime import timedelta

import pytest
from builders import Clock, existing
from worker_support import PATIENCE

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import FIELD, Racer, Stage, play, play_past_races, recruit, silent_edit
from racebot.sandbox.site import FakeSite

from .conftest import chat_texts


class Sleeper:
    """Advances the clock at once, and sums up the waits."""

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


@pytest.fixture
def stage(site: FakeSite, sleep: Sleeper) -> Stage:
    return Stage(site, random.Random(1), sleep=sleep)


@pytest.fixture
def racers(site: FakeSite) -> list[Racer]:
    return list(recruit(site, FIELD, random.Random(2)))


def order(room: FakeRoom) -> list[str]:
    return [e.user.id for e in sorted(room.entrants, key=lambda e: e.place or 99) if e.place]


async def test_the_moderator_changes_the_winner(stage: Stage, racers: list[Racer]) -> None:
    room = await silent_edit(stage, racers)
    first, second = (racers[0].user, racers[2].user)
    assert order(room)[:2] == [second.id, first.id]
    texts = chat_texts(room)
    edited = next(n for n, text in enumerate(texts) if "changed finish time" in text)
    assert texts.index("!why") > edited
    assert f"!vs {first.name}" in texts
    assert room.recorded
    longest = max(entrant.finish_time or timedelta(0) for entrant in room.entrants)
    assert abs(existing(room.ended_at) - existing(room.started_at) - longest) < timedelta(seconds=1)


def test_past_races_are_recorded_one_after_another(site: FakeSite, clock: Clock) -> None:
    racers = recruit(site, 12, random.Random(4))
    play_past_races(site, racers, 30, random.Random(5))
    past = site.past_races()
    assert len(past) == 30
    assert all(room.recorded for room in past)
    ends = [room.ended_at for room in past if room.ended_at is not None]
    assert len(set(ends)) == 30
    assert max(ends) < clock() == site.clock()
    entrants = {entrant.user.id for room in past for entrant in room.entrants}
    assert entrants == {racer.user.id for racer in racers}


async def test_a_custom_goal_gets_past_rounds_and_the_first_room(site: FakeSite, sleep: Sleeper) -> None:
    playing = asyncio.create_task(play(site, random.Random(1), sleep, custom_goal="SGL q*"))
    async with asyncio.timeout(PATIENCE):
        while len(rounds := [room for room in site.rooms.values() if room.custom_goal]) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0)
    playing.cancel()
    assert [room.goal for room in rounds] == ["SGL q1", "SGL q2", "SGL q3", "SGL q4"]
    assert not any(room.recorded for room in rounds)
    assert all(room.status.over for room in rounds[:3])
