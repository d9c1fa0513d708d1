"""A goal that the site renames while the worker runs."""

from __future__ import annotations

import pytest
from worker_support import Bench, finish, said, settled, until

NEW_NAME = "Orbs, season 2"


async def test_a_renamed_goal_keeps_its_leaderboard_and_recorded_rooms_stay(sandbox: Bench) -> None:
    (goal,) = sandbox.site.category.goals
    sandbox.extra["RACEBOT_GOALS"] = goal
    async with sandbox.worker() as worker:
        first = sandbox.open_race(3)
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        finish(first, 60, 61, 62)
        await until(lambda: said(first))
        first.record()
        await until(lambda: first.info_bot and settled(sandbox, first))
        shown = first.info_bot, dict(first.bot_meta)

        first.goal = NEW_NAME
        sandbox.site.category.goals[:] = [NEW_NAME]
        await until(lambda: sandbox.rated() == {NEW_NAME: 1})

        second = sandbox.open_race(3)
        finish(second, 61, 60, 62)
        second.record()
        await until(lambda: settled(sandbox, second))
        assert sandbox.rated() == {NEW_NAME: 2}
        assert (first.info_bot, first.bot_meta) == shown
        assert worker.output.count("is now called") == 1
    assert (await sandbox.racebot("verify")).returncode == 0
    done = await sandbox.racebot("doctor")
    assert any(goal in line and NEW_NAME in line for line in done.stdout.replace("\n", " ").split("ok "))


@pytest.mark.parametrize("goals_are_set", [True, False])
async def test_a_race_in_a_goal_that_was_just_renamed_has_the_ratings_of_its_leaderboard(
    sandbox: Bench, *, goals_are_set: bool
) -> None:
    """The bot learns of the new name from the room, long before it next reads the list of past races."""
    (goal,) = sandbox.site.category.goals
    sandbox.extra |= {"RACEBOT_GREET": "false"}
    if goals_are_set:
        sandbox.extra["RACEBOT_GOALS"] = goal
    async with sandbox.worker():
        first = sandbox.open_race(3)
        await until(lambda: first.listeners)
        finish(first, 60, 61, 62)
        await until(lambda: said(first))
        first.record()
        await until(lambda: settled(sandbox, first))
    sandbox.extra |= {"RACEBOT_LIST_EVERY": "3600"}
    async with sandbox.worker() as worker:
        await until(lambda: "watching" in worker.output)
        await sandbox.look()
        second = sandbox.open_race(3)
        await until(lambda: second.listeners)
        sandbox.site.rename_goal(goal, NEW_NAME)
        finish(second, 61, 60, 62)
        await until(lambda: said(second))
        assert len(said(second)) == 1, "nothing is withdrawn"
        assert "new" not in said(second)[0].partition(": ")[2]
        second.record()
        await until(lambda: settled(sandbox, second))
        assert "new" not in str(second.info_bot).partition(": ")[2]
    assert sandbox.rated() == {NEW_NAME: 2}
