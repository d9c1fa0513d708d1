"""`racebot scores` on a file of a league."""

import json
from pathlib import Path

import pytest

from .conftest import Racebot

FILE = """race,player,time
one,Ann,1:20:00
one,Bo,1:22:00
one,Cy,1:24:00
two,Ann,1:40:00
two,Bo,DNF
two,Cy,1:40:00
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "league.csv").write_text(FILE)
    return "league.csv"


def test_scores_of_a_file_have_pars_places_and_outlooks(racebot: Racebot, file: str) -> None:
    found = json.loads(racebot("scores", file, "--cut", "1", "--races", "2", "--json").out)
    # 4920 s is the mean of three times; in the second race, two of three have finished.
    assert [(race["par"]["time"], race["par"]["preliminary_until"]) for race in found["races"]] == [
        (4920.0, 0),
        (6000.0, 3),
    ]
    ann, cy, bo = found["racers"]
    assert [each["name"] for each in (ann, cy, bo)] == ["Ann", "Cy", "Bo"]
    assert ann["score"] == pytest.approx((102.4390244 + 100) / 3)
    assert [each["outlook"]["chance"] for each in (ann, cy, bo)] == ["secured", "over", "over"]


def test_a_part_of_the_rules_can_be_changed(racebot: Racebot, file: str) -> None:
    found = json.loads(
        racebot("scores", file, "--param", "mean_over=2", "--param", "par=[[0, 2]]", "--json").out
    )
    assert found["racers"][0]["score"] == pytest.approx((100 * (2 - 80 / 81) + 100) / 2)
    assert "104" not in racebot("scores", file).out  # the table


def test_an_estimate_is_the_mean_of_the_races_finished(racebot: Racebot, file: str) -> None:
    options = ("--scoring", "sahasrahbot", "--param", "mean_over=4", "--json")
    *_, bo = json.loads(racebot("scores", file, *options).out)["racers"]
    assert (bo["score"], bo["estimate"]) == (pytest.approx(25), pytest.approx(100))  # 82 minutes are the par


def test_unknown_rules_and_files_without_times_are_refused(racebot: Racebot, file: str, tmp_path) -> None:
    assert "sgl-2025" in racebot("scores", file, "--scoring", "sgl").complaints[0]
    (tmp_path / "places.csv").write_text("race,player,place\none,Ann,1\none,Bo,2\n")
    assert "Ann has no finish time" in racebot("scores", "places.csv").err
