"""The pinned rating message: the real worker beside the sandbox."""

from datetime import timedelta

import pytest
from worker_support import Sandbox, finish, said, until

from racebot.sandbox.race_state import ChatLine, RacerStatus
from racebot.sandbox.room import FakeRoom


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    sandbox.extra["RACEBOT_PIN"] = "true"
    return sandbox


def spoken(room: FakeRoom) -> list[ChatLine]:
    return [line for line in room.chat if line.bot is not None]


def pinned(room: FakeRoom) -> list[int]:
    """Return which of the bot's messages are pinned, by number."""
    return [number for number, line in enumerate(spoken(room)) if line.pinned]


def idle(sandbox: Sandbox, room: FakeRoom) -> bool:
    """Return whether all work in a room is done."""
    with sandbox.ledger() as ledger:
        return not ledger.messages.open_for(room.name)


async def announced(sandbox: Sandbox, room: FakeRoom, count: int) -> None:
    await until(lambda: len(said(room)) == count and idle(sandbox, room))


async def test_the_rating_message_that_stands_is_pinned_beside_those_of_moderators(sandbox: Sandbox) -> None:
    async with sandbox.worker():
        room = sandbox.open_race(3)
        rules = room.say(sandbox.site.moderator, "the rules")
        room.set_pin(rules.id, pinned=True)
        finish(room, 80, 85, 90)
        await announced(sandbox, room, 1)
        assert pinned(room) == [0]
        assert spoken(room)[0].actions, "its buttons stay in sight"
        room.edit_result(room.entrants[2].user, time=timedelta(minutes=70))
        await announced(sandbox, room, 2)
        await until(lambda: pinned(room) == [1])
    async with sandbox.worker():
        room.edit_result(room.entrants[2].user, time=timedelta(minutes=95))
        await announced(sandbox, room, 3)
        await until(lambda: pinned(room) == [2])
        room.do_not_record()
        await announced(sandbox, room, 4)
        await until(lambda: not pinned(room))
        room.edit_result(room.entrants[0].user, RacerStatus.DNF)  # which makes the race count again
        await announced(sandbox, room, 5)
        await until(lambda: pinned(room) == [4])
        assert rules.pinned


async def test_a_moderators_unpinning_is_respected(sandbox: Sandbox) -> None:
    async with sandbox.worker():
        room = sandbox.open_race(3)
        finish(room, 80, 85, 90)
        await announced(sandbox, room, 1)
        room.set_pin(spoken(room)[0].id, pinned=False)
        for count, minutes in ((2, 70), (3, 95)):
            room.edit_result(room.entrants[2].user, time=timedelta(minutes=minutes))
            await announced(sandbox, room, count)
            assert pinned(room) == []


async def test_only_the_last_message_of_a_large_race_is_pinned(sandbox: Sandbox) -> None:
    async with sandbox.worker():
        room = sandbox.open_race(60)
        finish(room, *range(80, 140))
        await until(lambda: said(room) and idle(sandbox, room))
        assert len(spoken(room)) > 1
        assert pinned(room) == [len(spoken(room)) - 1]
