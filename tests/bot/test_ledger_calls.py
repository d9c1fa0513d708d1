from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import CATEGORY, GOAL, NOON, result
from worker_support import PATIENCE

from racebot.bot import ledger_calls
from racebot.bot.ledger_calls import LedgerCalls
from racebot.ledger.connection import WriteInterrupted
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.ledger.thread import LedgerThread
from racebot.races.result import RaceResult
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.prepare import AT_ONCE, Preparer
from racebot.standings.rerating import RerateTask
from racebot.standings.settle import RatedRace, Settler
from racebot.standings.verify import verify

NOW = NOON + timedelta(days=30)
RACES = [result(f"r{n}", "ann bo" if n % 2 else "cy bo ann", after=n) for n in range(AT_ONCE + 10)]
CHANGED = replace(RACES[1], entrants=result("x", "bo ann").entrants)
NEW = result("new", "di ann", after=99)


@dataclass
class Bot:
    thread: LedgerThread
    calls: LedgerCalls
    settler: Settler

    async def settle(self, race: RaceResult) -> list[RatedRace] | None:
        return await self.calls.run(self.settler.settle, race, lambda _: (), NOW)

    def board(self) -> Leaderboard:
        board = self.settler.ledger.leaderboard(CATEGORY, GOAL)
        assert board is not None
        return board

    async def assert_right(self) -> None:
        assert await self.thread.run(lambda: verify(self.settler.ledger, self.board())) == []


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    thread = LedgerThread()
    ledger = await thread.run(Ledger.open, tmp_path / "ledger.db")
    settler = Settler(ledger, Plans(LeaderboardPlan("thurstone-hurdle")))
    await thread.run(settler.merge, RACES, "import")
    calls = LedgerCalls(thread)
    calls.prepare_for(settler)
    yield Bot(thread, calls, settler)
    await thread.run(ledger.close)
    thread.close()


async def test_races_are_settled_while_ratings_are_prepared(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    prepare = Preparer.prepare

    def slowly(preparer: Preparer, task: RerateTask) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        prepare(preparer, task)

    monkeypatch.setattr(Preparer, "prepare", slowly)
    changing = asyncio.create_task(bot.settle(CHANGED))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    assert await bot.settle(NEW)
    assert not changing.done()
    go_on.set()
    (rated,) = await changing or []
    assert rated.result == CHANGED
    assert (await bot.thread.run(bot.settler.ledger.race, NEW.name)) is not None
    await bot.assert_right()


async def test_a_write_that_is_always_interrupted_finishes_in_the_end(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_calls, "RETRY_AFTER", 0.0)
    monkeypatch.setattr(bot.thread, "is_wanted", lambda: True)
    interrupted = 0
    run = bot.thread.run

    async def counting(*given, **named):
        nonlocal interrupted
        try:
            return await run(*given, **named)
        except WriteInterrupted:
            interrupted += 1
            if interrupted in {1, 3}:
                race = replace(NEW, name=f"{NEW.name}{interrupted}")
                await run(bot.settler.settle, race, lambda _: (), NOW)
            raise

    monkeypatch.setattr(bot.thread, "run", counting)
    assert await bot.settle(CHANGED)
    assert interrupted == ledger_calls.INTERRUPTIONS
    await bot.assert_right()


async def test_an_interrupted_write_is_repeated_whatever_work_it_belongs_to(bot: Bot) -> None:
    outcomes = iter([WriteInterrupted()])

    def work() -> str:
        if (error := next(outcomes, None)) is not None:
            raise error
        return "done"

    assert await bot.calls.run(work) == "done"


async def test_a_stopping_worker_gives_up_what_is_prepared(bot: Bot) -> None:
    before = await bot.thread.run(bot.settler.ledger.standings, bot.board())
    bot.calls.stop()
    with pytest.raises(asyncio.CancelledError):
        await bot.settle(CHANGED)
    assert await bot.thread.run(bot.settler.ledger.standings, bot.board()) == before


async def test_leftovers_of_a_killed_rebuild_are_deleted(bot: Bot) -> None:
    ledger = bot.settler.ledger
    await bot.thread.run(ledger.add_shadow, bot.board())
    await bot.calls.sweep()
    assert await bot.thread.run(ledger.leftovers) == []
    await bot.assert_right()
