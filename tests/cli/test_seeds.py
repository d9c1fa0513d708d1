"""`racebot seeds` and `racebot export-races` on a rated file."""

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


def test_files_that_cannot_be_read_or_written_are_named(rated: Racebot) -> None:
    assert "none.txt" in rated("seeds", "league", "--entrants", "none.txt").complaints[0]
    assert ".csv" in rated("export-races", "league", "out.txt").complaints[0]
