"""Write the data sets of docs/benchmark.md from their public sources, as archives or tables.

    python benchmarks/public_data.py map-rando 'Map Rando S1-S3.json' > map-rando.json
    python benchmarks/public_data.py formula-1 f1db-races.csv f1db-races-race-results.csv > formula-1.csv
    python benchmarks/public_data.py trackmania tmesports.sqlite > trackmania.csv
    python benchmarks/public_data.py nascar cup_race_results_2014_2024.csv > nascar.csv
    python benchmarks/public_data.py biathlon all_races_*.csv > biathlon.csv

The files are in the folder `racetime_data` of https://github.com/blkerby/MultiEloRating (CC0 1.0; season 1
is what ended before season 2 began); in `f1db-csv.zip` of a release of https://github.com/f1db/f1db (CC BY
4.0; without drivers who did not start); at the top of https://github.com/spl1nes/tmesports (MIT); in `data`
of https://github.com/johnschwenck/nascar_analysis, and in `data/raw` of https://github.com/Qxe23/Biathlon
(men, without relays, those who did not start and the disqualified). The last two state no license.
"""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

SEASON_2 = "2024-10-17T00:44:40Z"
YEARS = range(1980, 2027)
NOT_STARTED = {"DNS", "DNQ", "DNPQ", "DNP", "EX"}
Row = tuple[object, object, object, object]
"""A race, its date, a player and the place, or DNF."""


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def formula_1(races: Path, results: Path) -> Iterator[Row]:
    dates = {row["id"]: row["date"] for row in rows_of(races) if int(row["year"]) in YEARS}
    for row in rows_of(results):
        if row["raceId"] in dates and row["positionText"] not in NOT_STARTED:
            place = row["positionNumber"] or "DNF"
            yield row["raceId"], dates[row["raceId"]], row["driverId"], place


def trackmania(path: Path) -> Iterator[Row]:
    sql = (
        "SELECT match_mid, datetime(match_datetime, 'unixepoch'), driver_name, match_rank"
        ' FROM "match" JOIN driver ON driver_id = match_driver'
    )
    with closing(sqlite3.connect(path)) as connection:
        yield from connection.execute(sql)


def nascar(path: Path) -> Iterator[Row]:
    for row in rows_of(path):
        if row["series_id"] == "1":
            place = row["finishing_position"] if row["finishing_status"] == "Running" else "DNF"
            yield row["race_id"], row["race_date"], row["driver_id"], place


def biathlon(*paths: Path) -> Iterator[Row]:
    for row in (row for path in paths for row in rows_of(path)):
        if row["Genre"] == "Male" and "Relay" not in row["RaceName"] and row["IRM"] not in {"DNS", "DSQ"}:
            yield row["RaceId"], row["RaceDate"], row["IBUId"], "DNF" if row["IRM"] else row["Rank"]


TABLES: dict[str, Callable[..., Iterator[Row]]] = {
    each.__name__.replace("_", "-"): each for each in (formula_1, trackmania, nascar, biathlon)
}


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("source", choices=["map-rando", *TABLES])
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.source == "map-rando":
        races = json.loads(given.files[0].read_text(encoding="utf-8"))
        print(json.dumps([race for race in races if race["ended_at"] < SEASON_2]))
        return
    print("race,ended_at,player,place")
    for row in TABLES[given.source](*given.files):
        print(*row, sep=",")


if __name__ == "__main__":
    main()
