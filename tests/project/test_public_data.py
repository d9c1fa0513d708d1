"""Check that `benchmarks/public_data.py` reads the public sources of the figures in docs/model.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from racebot.races.csv_file import read_csv
from racebot.races.result import EntrantStatus

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "public_data.py"


def written(tmp_path: Path, *arguments: str | Path) -> Path:
    target = tmp_path / "written.csv"
    run = subprocess.run([sys.executable, SCRIPT, *arguments], check=True, capture_output=True, text=True)
    target.write_text(run.stdout, encoding="utf-8")
    return target


def test_grands_prix_rank_classified_drivers_and_leave_out_those_who_did_not_start(tmp_path: Path) -> None:
    races, results = tmp_path / "f1db-races.csv", tmp_path / "f1db-races-race-results.csv"
    races.write_text("id,year,date\n7,1979,1979-10-07\n8,1980,1980-01-13\n")
    results.write_text(
        "raceId,positionNumber,positionText,driverId\n"
        "7,1,1,gilles-villeneuve\n"
        "8,1,1,alan-jones\n8,2,2,nelson-piquet\n8,,DNF,patrick-depailler\n8,,DNQ,david-kennedy\n"
    )
    (race,) = read_csv(written(tmp_path, "f1", races, results), category="", goal="").results
    assert [(each.user_id, each.place, each.status) for each in race.entrants] == [
        ("alan-jones", 1, EntrantStatus.DONE),
        ("nelson-piquet", 2, EntrantStatus.DONE),
        ("patrick-depailler", None, EntrantStatus.DNF),
    ]


def test_season_1_ends_where_season_2_begins(tmp_path: Path) -> None:
    entrants = [{"user_id": "a", "place": 1}, {"user_id": "b", "place": 9999}]
    days = ("2024-10-16T23:07:04.068Z", "2024-10-17T00:44:40Z")
    seasons = tmp_path / "Map Rando S1-S3.json"
    seasons.write_text(
        json.dumps([{"slug": day, "ended_at": day, "recorded": True, "entrants": entrants} for day in days])
    )
    found = json.loads(written(tmp_path, "map-rando", seasons).read_text())
    assert [race["slug"] for race in found] == [days[0]]
