from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from racebot.sandbox.chat_room import Frame
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite

Make = Callable[..., FakeRoom]


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(clock: Clock) -> FakeSite:
    """A site with four users and a manual clock."""
    site = FakeSite(clock=clock, rng=random.Random(7))
    for name in ("Ann", "Bo", "Cy", "Di"):
        site.add_user(name)
    return site


@pytest.fixture
def started(site: FakeSite, clock: Clock) -> Make:
    """Make a race that began an hour ago, by default with Ann, Bo and Cy."""

    def make(*names: str, **options: Any) -> FakeRoom:
        room = site.open_race(**options)
        for name in names or ("Ann", "Bo", "Cy"):
            room.enter(name)
        room.start()
        clock.advance(hours=1)
        return room

    return make


@pytest.fixture
def finished(started: Make, clock: Clock) -> Make:
    """Make a race that Ann, Bo and Cy finished in this order, a second apart."""

    def make(**options: Any) -> FakeRoom:
        room = started("Ann", "Bo", "Cy", **options)
        for name in ("Ann", "Bo", "Cy"):
            room.finish(name)
            clock.advance(seconds=1)
        return room

    return make


def places(room: FakeRoom) -> dict[str, int | None]:
    return {entrant.user.name: entrant.place for entrant in room.entrants}


def heard(room: FakeRoom) -> list[Frame]:
    """Return a list that collects the room's frames from now on."""
    frames: list[Frame] = []
    room.listen(frames.append)
    return frames


def chat_texts(room: FakeRoom) -> list[str]:
    return [message.plain for message in room.chat]
