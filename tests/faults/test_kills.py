"""Kills at any moment: nothing is lost, nothing is sent twice, and stored data is whole."""

import asyncio
import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from builders import settler_of
from migrations import STATEMENTS, migrate
from sqlite_utils.db import Database as Upgraded
from worker_support import PATIENCE, Sandbox, finish

from racebot.ledger.lock import backups, folder_of
from racebot.ledger.schema import migrations
from racebot.ledger.store import Ledger
from racebot.standings.follow_settings import apply_settings
from racebot.standings.rebuild import carry_out_rebuilds

from .harness import Plan, Run
from .kills import next_write
from .truth import Database, replay

KILLS = int(os.environ.get("FAULTS_KILLS", "300"))
"""Kills in the long test of the worker."""
FIRST_SCHEMA = ("players", "races", "leaderboards", "carried", "rated", "changes", "standings")


async def test_few_kills_lose_nothing(tmp_path: Path) -> None:
    run = Run(Plan(seed=20, races=10, acts=2, act_seconds=3.0, kills=6), tmp_path)
    report = await run.perform()
    assert sum(report.kills.values()) == 6
    assert report.races["recorded"] >= 3


@pytest.mark.long
async def test_hundreds_of_kills_lose_nothing(tmp_path: Path) -> None:
    run = Run(Plan(seed=1, races=150, acts=6, act_seconds=KILLS * 0.35, kills=KILLS), tmp_path)
    report = await run.perform()
    assert sum(report.kills.values()) == KILLS
    assert report.races["recorded"] >= 75


async def kill_at_random(sandbox: Sandbox, command: str, rng: random.Random, longest: float) -> bool:
    """Kill a command at a random moment, half of the time while it writes. Return whether it was running."""
    process = await sandbox.start(command)
    with suppress(TimeoutError):
        async with asyncio.timeout(rng.uniform(0.1, longest)):
            if rng.random() < 0.5:
                await next_write(sandbox.database)
            else:
                await asyncio.sleep(longest)
    killed = process.running
    await process.kill()
    return killed


def past_races(sandbox: Sandbox, count: int) -> None:
    """Create recorded races that ended a minute apart."""
    for number in range(count):
        sandbox.site.skew = timedelta(minutes=number - count)
        room = sandbox.open_race(2 + number % 5)
        finish(room, *range(60, 61 + number % 4))
        room.record()
    sandbox.site.skew = timedelta(0)


@pytest.mark.parametrize(
    ("races", "kills"),
    [pytest.param(80, 2, id="few"), pytest.param(900, 30, marks=pytest.mark.long, id="many")],
)
async def test_killed_backfill_starts_over_to_the_same_ledger(
    sandbox: Sandbox, races: int, kills: int
) -> None:
    rng = random.Random(3)
    past_races(sandbox, races)
    done = 0
    while done < kills:
        done += await kill_at_random(sandbox, "backfill", rng, longest=1.0 + races / 500)
    assert await (await sandbox.start("backfill")).ended() == 0
    database = Database(sandbox.database)
    (sequence,) = database.sequences().values()
    rooms = {room.name: room for room in sandbox.site.rooms.values()}
    assert sequence == sorted(rooms, key=lambda name: str(rooms[name].ended_at))
    _, problems = replay(database, rooms, {"Sandbox 100%": "thurstone-hurdle"}, {})
    assert problems == []
    assert (await sandbox.racebot("verify")).returncode == 0
    assert not any(message.bot for room in rooms.values() for message in room.chat)


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="few"), pytest.param(30, marks=pytest.mark.long, id="many")]
)
async def test_next_start_completes_a_killed_migration(sandbox: Sandbox, tmp_path: Path, kills: int) -> None:
    rng = random.Random(4)
    past_races(sandbox, 20)
    assert await (await sandbox.start("backfill")).ended() == 0
    old = tmp_path / "old.db"
    in_first_schema(sandbox.database, old)
    done = 0
    while done < kills:
        for path in tmp_path.glob("racebot.db*"):
            path.unlink()
        shutil.copyfile(old, sandbox.database)
        done += await kill_at_random(sandbox, "verify", rng, longest=1.2)
        assert (await sandbox.racebot("verify")).returncode == 0
        with Ledger.open(sandbox.database) as ledger:
            assert ledger.check() == []
            assert migrations.pending(ledger.connection.db) == []
            (board,) = ledger.leaderboards.all()
            assert ledger.ratings.count(board) == 20


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="few"), pytest.param(40, marks=pytest.mark.long, id="many")]
)
async def test_killed_rebuild_leaves_the_old_ratings_or_the_new_ones(
    sandbox: Sandbox, tmp_path: Path, kills: int
) -> None:
    rng = random.Random(6)
    past_races(sandbox, 220)
    assert await (await sandbox.start("backfill")).ended() == 0
    old = ratings(sandbox.database)
    copy = tmp_path / "copy.db"
    with sandbox.ledger() as ledger, closing(sqlite3.connect(copy)) as target:
        ledger.connection.db.conn.backup(target)
    with Ledger.open(copy) as ledger:
        apply_settings(settler_of(ledger, "elo-ffa"))
        carry_out_rebuilds(ledger)
    new = ratings(copy)
    assert old != new
    with closing(sqlite3.connect(sandbox.database)) as watching:
        for number in range(kills):
            live = ratings(sandbox.database)
            sandbox.extra["RACEBOT_MODEL"] = "elo-ffa" if live == old else "thurstone-hurdle"
            state = rating_again(watching)
            process = await sandbox.start("run" if number % 2 else "rebuild")
            async with asyncio.timeout(PATIENCE):
                # It is another process, which may be done before this one looks.
                while rating_again(watching) == state:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            await asyncio.sleep(rng.uniform(0.0, 0.2))
            await process.kill()
            assert ratings(sandbox.database) in (old, new)
        sandbox.extra["RACEBOT_MODEL"] = "elo-ffa"
        assert (await sandbox.racebot("rebuild")).returncode == 0
        assert rating_again(watching) == ("elo-ffa", 0)
    assert ratings(sandbox.database) == new


def ratings(database: Path) -> object:
    """Return everything that is rated on the only leaderboard of an intact ledger."""
    with Ledger.open(database, create=False) as ledger:
        assert ledger.check() == []
        (board,) = ledger.leaderboards.all()
        return board.model, ledger.ratings.rows(board), ledger.standings.all(board)


def rating_again(connection: sqlite3.Connection) -> tuple[str, int]:
    """Return the model of the only leaderboard, and the number of rebuilds that wait."""
    sql = "SELECT model, (SELECT count(*) FROM rebuilds) FROM leaderboards"
    ((model, rebuilds),) = connection.execute(sql)
    return str(model), int(rebuilds)


def in_first_schema(newest: Path, old: Path) -> None:
    """Return a copy of a ledger in the first schema."""
    database = Upgraded(old)
    migrate(database, next(iter(STATEMENTS)))
    database.close()
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("ATTACH ? AS newest", (str(newest),))
        for table in FIRST_SCHEMA:
            names, kept = (
                [row[1] for row in connection.execute(f"PRAGMA {which}.table_info({table})")]
                for which in ("main", "newest")
            )
            columns = ", ".join(name if name in kept else "''" for name in names)
            connection.execute(f"INSERT INTO main.{table} SELECT {columns} FROM newest.{table}")  # noqa: S608
        connection.commit()


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="few"), pytest.param(30, marks=pytest.mark.long, id="many")]
)
async def test_killed_backup_leaves_only_whole_copies(sandbox: Sandbox, kills: int) -> None:
    rng = random.Random(5)
    past_races(sandbox, 60)
    assert await (await sandbox.start("backfill")).ended() == 0
    folder = folder_of(sandbox.database)
    done = 0
    while done < kills:
        process = await sandbox.start("backup")
        with suppress(TimeoutError):
            async with asyncio.timeout(1.5):
                if rng.random() < 0.7:
                    while not list(folder.glob("*.part")):  # noqa: ASYNC110 - it is another process
                        await asyncio.sleep(0.0005)
                    await asyncio.sleep(rng.uniform(0, 0.02))
                else:
                    await asyncio.sleep(rng.uniform(0.3, 1.0))
        done += process.running
        await process.kill()
    assert await (await sandbox.start("backup")).ended() == 0
    made = backups(folder, sandbox.database.stem)
    assert made
    for copy in made:
        with Ledger.open(copy, create=False) as ledger:
            assert ledger.check() == []
            (board,) = ledger.leaderboards.all()
            assert ledger.ratings.count(board) == 60
