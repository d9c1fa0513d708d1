"""The page of the benchmark shows the stored results, and the converters read what the sources publish."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from racebot.races.outcome import Outcome

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import public_data  # noqa: E402 - beside the package
import systems  # noqa: E402


def test_tables_and_pictures_are_those_of_the_stored_results() -> None:
    results = json.loads((ROOT / "docs" / "benchmark.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    for name, found in results.items():
        assert f"<!-- {name} -->\n{systems.table(found)}\n<!-- end -->" in page
    for figure in systems.FIGURES:
        picture = ROOT / "docs" / "images" / f"benchmark-{figure}.svg"
        assert picture.read_text(encoding="utf-8") == systems.picture(results, figure)
    names = "thurstone-hurdle", "thurstone-filter", "trueskill (package)", "Glicko-2", "elo-mmr-py Elo-MMR"
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("| As they come")[2].splitlines()[2:8]
    for name, line in zip((*names, "openskill PlackettLuce"), readme, strict=True):
        orders = [found["systems"][name]["order"][0] for found in results.values()]
        assert line.split(" | ", 1)[1] == f"{' | '.join(f'{100 * each:.1f}%' for each in orders)} |"


def test_glicko_2_rates_the_example_of_its_paper() -> None:
    """Against 1400, 1550 and 1700 with deviations 30, 100 and 300: one win, two losses; it gives 1464.06."""
    scale = 173.7178
    mean = (np.array([1500.0, 1400.0, 1550.0, 1700.0]) - 1500) / scale
    deviation = np.array([200.0, 30.0, 100.0, 300.0]) / scale
    outcome = Outcome.of([2, 3, 1, 1])
    after, spread, volatility = systems.after_glicko_2(outcome, mean, deviation, np.full(4, 0.06))
    assert 1500 + scale * after[0] == pytest.approx(1464.06, abs=0.02)
    assert scale * spread[0] == pytest.approx(151.52, abs=0.02)
    assert volatility[0] == pytest.approx(0.05999, abs=1e-5)


def test_racers_who_did_not_run_to_the_end_have_not_finished(tmp_path: Path) -> None:
    file = tmp_path / "cup.csv"
    head = "series_id,race_id,race_date,driver_id,finishing_position,finishing_status"
    file.write_text(
        f"{head}\n1,5,2014-02-23,7,2,Running\n1,5,2014-02-23,8,3,Engine\n2,6,2014-02-23,9,1,Running\n"
    )
    assert [row[2:] for row in public_data.nascar(file)] == [("7", "2"), ("8", "DNF")]


def test_only_men_who_started_a_biathlon_race_alone_count(tmp_path: Path) -> None:
    file = tmp_path / "all_races_1.csv"
    head = "RaceId,RaceDate,RaceName,Genre,IBUId,Rank,IRM"
    lines = [
        "1,2020-01-01,Sprint,Male,a,1,",
        "1,2020-01-01,Sprint,Male,b,,DNF",
        "1,2020-01-01,Sprint,Male,c,,DNS",
    ]
    lines += ["2,2020-01-02,Relay,Male,a,1,", "3,2020-01-03,Sprint,Female,d,1,"]
    file.write_text("\n".join([head, *lines]) + "\n")
    assert [row[2:] for row in public_data.biathlon(file)] == [("a", "1"), ("b", "DNF")]
