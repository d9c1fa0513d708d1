"""An unknown `carry_over` source, which every command that rates refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from builders import entrant_document, listed_document
from worker_support import Bench, bench, finish, until

FIRST, SECOND = "Sphere 4", "Sphere 5"
MISSPELT = "Sphere 44"
ANN_BO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.extra["RACEBOT_MODEL"] = "trueskill"
        for goal, hour in ((FIRST, 10), (SECOND, 12)):
            races = [
                listed_document(
                    goal.replace(" ", "-").lower(),
                    ANN_BO,
                    recorded=True,
                    goal={"name": goal, "custom": False},
                    ended_at=f"2026-03-01T{hour}:00:00Z",
                )
            ]
            (tmp_path / f"{goal}.json").write_text(json.dumps(races), encoding="utf-8")
        yield made


def carry_from(sandbox: Bench, source: str) -> None:
    (sandbox.database.parent / "racebot.toml").write_text(
        f'[[leaderboards]]\nname = "S5"\ngoals = ["{SECOND}"]\ncarry_over = {{ from = "{source}" }}\n'
    )


async def racebot(sandbox: Bench, *words: str) -> CompletedProcess[str]:
    return await asyncio.to_thread(sandbox.racebot, *words)


def refusal(done: CompletedProcess[str]) -> str:
    """Return the one-line error of a command that refuses the settings."""
    assert done.returncode == 2, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("racebot: "))
    assert "Traceback" not in done.stderr
    return line


def boards(sandbox: Bench) -> dict[str, int]:
    """Return the number of rated races by leaderboard."""
    with sandbox.ledger() as ledger:
        return {board.name: ledger.rated_count(board) for board in ledger.leaderboards()}


async def test_import_and_rebuild_refuse_an_unknown_source_and_change_nothing(sandbox: Bench) -> None:
    assert (await racebot(sandbox, "import", f"{FIRST}.json")).returncode == 0
    carry_from(sandbox, MISSPELT)
    before = boards(sandbox)
    for command in (("import", f"{SECOND}.json"), ("rebuild",)):
        line = refusal(await racebot(sandbox, *command))
        assert "'S5'" in line
        assert f"'{MISSPELT}'" in line
        assert f"did you mean '{FIRST}'?" in line
    assert boards(sandbox) == before == {FIRST: 1}
    doctor = await racebot(sandbox, "doctor")
    assert doctor.returncode == 2
    assert f"'{MISSPELT}'" in doctor.stdout


async def test_one_import_may_bring_a_season_and_its_source(sandbox: Bench) -> None:
    carry_from(sandbox, FIRST)
    folder = sandbox.database.parent
    both = [race for goal in (SECOND, FIRST) for race in json.loads((folder / f"{goal}.json").read_text())]
    (folder / "both.json").write_text(json.dumps(both), encoding="utf-8")
    assert (await racebot(sandbox, "import", "both.json")).returncode == 0
    assert boards(sandbox) == {FIRST: 1, "S5": 1}
    with sandbox.ledger() as ledger:
        (season,) = (board for board in ledger.leaderboards() if board.name == "S5")
        assert set(ledger.carried(season)) == {user["id"] for each in ANN_BO if (user := each["user"])}
    assert (await racebot(sandbox, "rebuild")).returncode == 0


async def test_a_refused_backfill_rates_nothing_and_goes_on_once_the_name_is_right(sandbox: Bench) -> None:
    sandbox.site.category.goals.append("Another Orb")
    for goal in sandbox.site.category.goals:
        room = sandbox.open_race(2, goal=goal)
        finish(room, 10, 20)
        room.record()
    source, season = sandbox.site.category.goals
    toml = sandbox.database.parent / "racebot.toml"
    text = f'[[leaderboards]]\nname = "S5"\ngoals = ["{season}"]\ncarry_over = {{ from = "SOURCE" }}\n'
    toml.write_text(text.replace("SOURCE", source + "s"))
    assert f"did you mean '{source}'?" in refusal(await racebot(sandbox, "backfill"))
    assert boards(sandbox) == {}
    toml.write_text(text.replace("SOURCE", source))
    assert (await racebot(sandbox, "backfill")).returncode == 0
    assert boards(sandbox) == {source: 1, "S5": 1}


async def test_run_refuses_an_unknown_source_and_accepts_a_goal_of_the_category(sandbox: Bench) -> None:
    goal = sandbox.site.category.goals[0]
    carry_from(sandbox, goal + "s")
    async with sandbox.worker() as worker:
        assert await worker.ended() == 2
    assert f"did you mean '{goal}'?" in worker.output
    carry_from(sandbox, goal)
    async with sandbox.worker() as worker:
        await until(lambda: "watching" in worker.output)
        assert await worker.terminate() == 0
