import random
from collections.abc import Callable
from typing import Any

import pytest
from builders import Clock

from racebot.sandbox.room import FakeRoom, Frame
from racebot.sandbox.site import FakeSite

Make = Callable[..., FakeRoom]


@pytest.fixture
def clock() -> Clock:
    """A clock with a fraction of a second, which the site's formats show."""
    clock = Clock()
    clock.advance(milliseconds=250)
    return clock


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
