"""Commands in a room, with the real worker beside a sandbox."""

import sqlite3

from worker_support import PATIENCE, Sandbox, finish, said, until

from racebot.sandbox.race_state import User
from racebot.sandbox.room import FakeRoom
from racebot.settings.texts import Texts
from racebot.text.format import Count


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
        room.say(ann, "!rating")  # which the bot does not answer again so soon
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
