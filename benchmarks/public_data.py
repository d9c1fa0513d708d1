"""Write the two data sets in docs/model.md from their public sources.

    python benchmarks/public_data.py map-rando 'Map Rando S1-S3.json' > map-rando-s1.json
    python benchmarks/public_data.py f1 f1db-races.csv f1db-races-race-results.csv > f1.csv

The first file is in the folder `racetime_data` of https://github.com/blkerby/MultiEloRating (CC0 1.0);
season 1 is what ended before season 2 began. The others are in `f1db-csv.zip`, part of each release of
https://github.com/f1db/f1db (CC BY 4.0); drivers who did not start are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

SEASON_2 = "2024-10-17T00:44:40Z"
YEARS = range(1980, 2027)
NOT_STARTED = {"DNS", "DNQ", "DNPQ", "DNP", "EX"}


def map_rando(path: Path) -> str:
    """Return the races of season 1 as an archive."""
    races = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps([race for race in races if race["ended_at"] < SEASON_2])


def f1(races: Path, results: Path) -> str:
    """Return the grands prix as CSV, one line per driver who started."""
    with races.open(encoding="utf-8", newline="") as file:
        dates = {row["id"]: row["date"] for row in csv.DictReader(file) if int(row["year"]) in YEARS}
    lines = ["race,ended_at,player,place"]
    with results.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["raceId"] in dates and row["positionText"] not in NOT_STARTED:
                place = row["positionNumber"] or "DNF"
                lines.append(f"{row['raceId']},{dates[row['raceId']]},{row['driverId']},{place}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=["map-rando", "f1"])
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    print((f1 if given.source == "f1" else map_rando)(*given.files))


if __name__ == "__main__":
    main()
