"""A goal that the site renames while the worker runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from worker_support import Bench, bench, finish, said, settled, until

NEW_NAME = "Orbs, season 2"


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


def rated(sandbox: Bench) -> dict[str, int]:
    """Return the number of rated races by leaderboard."""
    with sandbox.ledger() as ledger:
        return {board.name: ledger.rated_count(board) for board in ledger.leaderboards()}


async def test_a_renamed_goal_keeps_its_leaderboard_and_recorded_rooms_stay(
    sandbox: Bench,
) -> None:
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
        await until(lambda: rated(sandbox) == {NEW_NAME: 1})

        second = sandbox.open_race(3)
        finish(second, 61, 60, 62)
        second.record()
        await until(lambda: settled(sandbox, second))
        assert rated(sandbox) == {NEW_NAME: 2}
        assert (first.info_bot, first.bot_meta) == shown
        assert worker.output.count("is now called") == 1
    assert (await asyncio.to_thread(sandbox.racebot, "verify")).returncode == 0
    done = await asyncio.to_thread(sandbox.racebot, "doctor")
    assert any(goal in line and NEW_NAME in line for line in done.stdout.replace("\n", " ").split("ok "))
