"""An unknown `carry_over` source, which every command that rates refuses."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from builders import entrant_document, listed_document
from worker_support import Bench, until

FIRST, SECOND = "Sphere 4", "Sphere 5"
MISSPELT = "Sphere 44"
ANN_BO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]


@pytest.fixture
def sandbox(sandbox: Bench, tmp_path: Path) -> Bench:
    sandbox.extra["RACEBOT_MODEL"] = "trueskill"
    for goal, hour in ((FIRST, 10), (SECOND, 12)):
        race = listed_document(
            goal.replace(" ", "-").lower(),
            ANN_BO,
            recorded=True,
            goal={"name": goal, "custom": False},
            ended_at=f"2026-03-01T{hour}:00:00Z",
        )
        (tmp_path / f"{goal}.json").write_text(json.dumps([race]), encoding="utf-8")
    return sandbox


def carry_from(sandbox: Bench, source: str) -> None:
    (sandbox.database.parent / "racebot.toml").write_text(
        f'[[leaderboards]]\nname = "S5"\ngoals = ["{SECOND}"]\ncarry_over = {{ from = "{source}" }}\n'
    )


def refusal(done: CompletedProcess[str]) -> str:
    """Return the one-line error of a command that refuses the settings."""
    assert done.returncode == 2, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("racebot: "))
    assert "Traceback" not in done.stderr
    return line


async def test_import_and_rebuild_refuse_an_unknown_source_and_change_nothing(sandbox: Bench) -> None:
    assert (await sandbox.racebot("import", f"{FIRST}.json")).returncode == 0
    carry_from(sandbox, MISSPELT)
    before = sandbox.rated()
    for command in (("import", f"{SECOND}.json"), ("rebuild",)):
        line = refusal(await sandbox.racebot(*command))
        assert "'S5'" in line
        assert f"'{MISSPELT}'" in line
        assert f"did you mean '{FIRST}'?" in line
    assert sandbox.rated() == before == {FIRST: 1}
    doctor = await sandbox.racebot("doctor")
    assert doctor.returncode == 2
    assert f"'{MISSPELT}'" in doctor.stdout


async def test_one_import_may_bring_a_season_and_its_source(sandbox: Bench) -> None:
    carry_from(sandbox, FIRST)
    folder = sandbox.database.parent
    both = [race for goal in (SECOND, FIRST) for race in json.loads((folder / f"{goal}.json").read_text())]
    (folder / "both.json").write_text(json.dumps(both), encoding="utf-8")
    assert (await sandbox.racebot("import", "both.json")).returncode == 0
    assert sandbox.rated() == {FIRST: 1, "S5": 1}
    with sandbox.ledger() as ledger:
        (season,) = (board for board in ledger.leaderboards.all() if board.name == "S5")
        assert set(ledger.leaderboards.carried(season)) == {
            user["id"] for each in ANN_BO if (user := each["user"])
        }
    assert (await sandbox.racebot("rebuild")).returncode == 0


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
