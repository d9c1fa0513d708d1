"""`racebot seeds` and `racebot export-races` on a rated file."""

import json
from pathlib import Path

import pytest

from .conftest import Racebot

FILE = "race,player,place\none,Ann,1\none,Bo,2\none,Cy,3\n"


@pytest.fixture
def rated(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Racebot:
    monkeypatch.setenv("RACEBOT_MINIMUM_FINISHES", "1")
    (tmp_path / "league.csv").write_text(FILE)
    assert racebot("import", "league.csv", "--category", "orb").code == 0
    return racebot


def test_seeds_have_a_row_for_each_entrant_found_and_name_the_others(rated: Racebot, tmp_path: Path) -> None:
    (tmp_path / "entrants.txt").write_text("cy\nAnn\nDee\n")
    done = rated("seeds", "league", "--entrants", "entrants.txt")
    rows = [line.split()[:2] for line in done.out.splitlines()]
    assert [row for row in rows if row and row[0] in {"1", "2"}] == [["1", "Ann"], ["2", "Cy"]]
    assert "Dee" in done.err


def test_json_has_seeds_and_missing_entrants(rated: Racebot) -> None:
    found = json.loads(rated("seeds", "orb/League", "--json").out)
    assert [each["name"] for each in found["seeds"]] == ["Ann", "Bo", "Cy"]
    assert found["missing"] == []


def test_a_file_that_cannot_be_read_is_named(rated: Racebot) -> None:
    assert "none.txt" in rated("seeds", "league", "--entrants", "none.txt").complaints[0]


def test_races_are_exported_in_the_format_of_the_files_ending(rated: Racebot, tmp_path: Path) -> None:
    for file in ("out.json", "out.csv"):
        assert rated("export-races", "league", file).code == 0
        assert (
            rated("import", file, "--category", "orb", "--goal", "league", "--database", f"{file}.db").code
            == 0
        )
        found = json.loads(rated("leaderboard", "--json", "--database", f"{file}.db").out)
        assert [each["name"] for each in found[0]["players"]] == ["Ann", "Bo", "Cy"]
    assert ".csv" in rated("export-races", "league", "out.txt").complaints[0]
