"""Past races, goals that the site renames, and seasons that carry over from an unknown source."""

import json
from pathlib import Path

import pytest
from archives import archive
from builders import entrant_document, existing, listed_document
from past_season import add_races
from worker_support import Sandbox, finish, said, settled, until

from racebot.ledger.rows import Standing
from racebot.ledger.store import Ledger

RACES = 110
GOAL = "saved"


def standings(database: Path) -> list[Standing]:
    with Ledger.open(database, create=False) as ledger:
        (board,) = ledger.leaderboards.all()
        return sorted(
            (
                # Names differ: an archive has none.
                Standing(s.player, s.state, s.rating, s.points, s.races, s.finishes, s.wins, s.last_race_at)
                for s in ledger.standings.all(board)
            ),
            key=lambda s: s.player,
        )


@pytest.fixture
def season(tmp_path: Path) -> Path:
    path = tmp_path / f"{GOAL}.json"
    path.write_text(json.dumps(archive(RACES)))
    return path


async def test_file_and_site_give_the_same_standings(sandbox: Sandbox, tmp_path: Path, season: Path) -> None:
    recorded = sum(race["recorded"] for race in json.loads(season.read_text()))
    add_races(sandbox.site, json.loads(season.read_text()), GOAL)
    fetched = await sandbox.racebot("backfill")
    assert fetched.returncode == 0, fetched.stderr
    assert f"{recorded} new races" in fetched.stdout
    assert sum(each.path == "/sandbox/races/data" for each in sandbox.site.requests) == 2
    imported = await sandbox.racebot("import", str(season), "--database", str(tmp_path / "imported.db"))
    assert imported.returncode == 0, imported.stderr
    assert standings(sandbox.database) == standings(tmp_path / "imported.db")
    assert sandbox.rated() == {GOAL: recorded}


# Renamed goals

NEW_NAME = "Orbs, season 2"


async def test_a_race_in_a_goal_just_renamed_has_the_ratings_of_its_leaderboard(
    sandbox: Sandbox,
) -> None:
    """The bot learns of the new name from the room, long before it next reads the list of past races.

    Rooms with a record keep what they show.
    """
    (goal,) = sandbox.site.category.goals
    sandbox.extra["RACEBOT_GOALS"] = goal
    async with sandbox.worker():
        first = sandbox.open_race(3)
        await until(lambda: first.listeners)
        finish(first, 60, 61, 62)
        await until(lambda: said(first))
        first.record()
        await until(lambda: first.info_bot and settled(sandbox, first))
    recorded = first.info_bot, dict(first.bot_meta)
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
        (shown,) = second.bot_meta["racebot"]
        with sandbox.ledger() as ledger:
            row = existing(ledger.ratings.get(ledger.leaderboards.all()[0], second.name))
        changes = {each.player: [each.points_before, each.points_after] for each in row.changes}
        assert (shown["leaderboard"], shown["changes"]) == (NEW_NAME, changes)
        assert {each.races_before for each in row.changes} == {1}
        assert worker.output.count("is now called") == 1
    assert (first.info_bot, first.bot_meta) == recorded
    assert sandbox.rated() == {NEW_NAME: 2}


# Sources of a season


def carry_from(sandbox: Sandbox, source: str) -> None:
    (sandbox.database.parent / "racebot.toml").write_text(
        f'[[leaderboards]]\nname = "S5"\ngoals = ["Sphere 5"]\ncarry_over = {{ from = "{source}" }}\n'
    )


async def test_commands_refuse_an_unknown_source_of_a_season(sandbox: Sandbox, tmp_path: Path) -> None:
    (goal,) = sandbox.site.category.goals
    racers = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]
    race = listed_document("r", racers, recorded=True, goal={"name": goal, "custom": False})
    (tmp_path / "races.json").write_text(json.dumps([race]), encoding="utf-8")
    assert (await sandbox.racebot("import", "races.json")).returncode == 0
    carry_from(sandbox, goal + "s")
    done = await sandbox.racebot("rebuild")
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("racebot: "))
    assert all(part in line for part in ("'S5'", f"'{goal}s'", f"did you mean '{goal}'?"))
    async with sandbox.worker() as worker:
        assert await worker.ended() == 2
    assert f"did you mean '{goal}'?" in worker.output
    carry_from(sandbox, goal)
    async with sandbox.worker() as worker:
        await until(lambda: "watching" in worker.output)
        assert await worker.terminate() == 0
