"""Imports and backfills of past races, interrupted and repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from archives import archive
from worker_support import Bench

from racebot.ledger.rows import Standing
from racebot.ledger.store import Ledger
from racebot.sandbox import history

RACES = 620
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


def list_requests(sandbox: Bench) -> list[str]:
    return [r.query for r in sandbox.site.requests if r.path == "/sandbox/races/data"]


@pytest.fixture
def season(tmp_path: Path) -> Path:
    path = tmp_path / f"{GOAL}.json"
    path.write_text(json.dumps(archive(RACES)))
    return path


async def test_a_file_and_the_site_give_bit_identical_standings(
    sandbox: Bench, tmp_path: Path, season: Path
) -> None:
    recorded = sum(race["recorded"] for race in json.loads(season.read_text()))
    history.load(sandbox.site, season)
    fetched = await sandbox.racebot("backfill")
    assert fetched.returncode == 0, fetched.stderr
    assert f"{recorded} new races" in fetched.stdout
    assert len(list_requests(sandbox)) == 7
    imported = await sandbox.racebot("import", str(season), "--database", str(tmp_path / "imported.db"))
    assert imported.returncode == 0, imported.stderr
    assert standings(sandbox.database) == standings(tmp_path / "imported.db")
    assert sandbox.rated() == {GOAL: recorded}
    for database in (sandbox.database, tmp_path / "imported.db"):
        verified = await sandbox.racebot("verify", "--database", str(database))
        assert verified.returncode == 0

    again = await sandbox.racebot("backfill")
    assert f"0 new races, {recorded} unchanged" in again.stdout


async def test_reading_and_importing_need_no_credentials(sandbox: Bench, tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text(json.dumps(archive(20)))
    for name in ("CATEGORY", "CLIENT_ID", "CLIENT_SECRET"):
        sandbox.extra[f"RACEBOT_{name}"] = ""
    for command in (["import", str(few)], ["leaderboard"], ["verify"], ["rebuild"]):
        done = await sandbox.racebot(*command)
        assert done.returncode == 0, done.stderr
