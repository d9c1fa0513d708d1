"""`racebot improve` as an operator uses it."""

import io
import json
import logging
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from racebot.cli.commands import app
from racebot.cli.tables import print_proposal
from racebot.errors import OrderError
from racebot.ledger.rows import Leaderboard
from racebot.ratings.parameters import defaults
from racebot.ratings.registry import MODELS
from racebot.standings.improve import Move
from racebot.study.fit import Fit
from racebot.study.tuning import JudgedPart

pytestmark = pytest.mark.usefixtures("restored_logging")

Run = Callable[..., Result]


def run(*words: str) -> Result:
    result = CliRunner().invoke(app, words)
    asked = isinstance(result.exception, OrderError)  # this is no terminal
    assert asked or result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose leaderboard of 120 duels began with other parameters."""
    folder = tmp_path_factory.mktemp("imported")
    lines = [
        f"g{n},2026-01-01T{n // 60:02d}:{n % 60:02d}:00Z,{player},{place}"
        for n in range(120)
        for place, player in enumerate(("Ann", "Bo") if n % 3 else ("Bo", "Ann"), start=1)
    ]
    (folder / "games.csv").write_text("race,ended_at,player,place\n" + "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", [])
        patch.chdir(folder)
        patch.setenv("RACEBOT_PARAMETERS", "newcomer_spread=1.25")
        run("import", "games.csv", "--category", "orb")
    return folder


@pytest.fixture
def racebot(imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a copy of the folder."""
    shutil.copytree(imported, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACEBOT_CATEGORY", "orb")
    return run


def parameters(racebot: Run) -> dict[str, object]:
    (board,) = json.loads(racebot("leaderboard", "--json").stdout)
    return board["parameters"]


def test_an_import_prints_the_command_that_improves(racebot: Run) -> None:
    Path("more.csv").write_text("race,ended_at,player,place\nnew,2026-02-01,Ann,1\nnew,2026-02-01,Bo,2\n")
    shown = racebot("import", "more.csv", "--goal", "games").stdout
    assert "fitted to 121 races; no rating changed" in shown
    assert 'racebot improve "games"' in shown
    racebot("verify")


def test_the_largest_moves_of_a_preview_come_first_and_the_others_are_left_out() -> None:
    moves = [Move("Ann", 1, 2, 90, 80), Move("Bo", 3, 1, 70, 95), Move("Cy", 4, 4, 60, 50)]
    board = Leaderboard("orb", "games", (), "thurstone-hurdle", {}, "individual")
    printed = io.StringIO()
    print_proposal(Console(file=printed), board, board, [*moves, Move("Di", 2, 3, 80, 75)])
    *_, now, then, largest = re.split("First ten now|First ten then|Largest moves", printed.getvalue())
    shown = [re.findall("Ann|Bo|Cy|Di", each) for each in (now, then, largest)]
    assert shown == [["Ann", "Di", "Bo", "Cy"], ["Bo", "Ann", "Di", "Cy"], ["Bo", "Ann", "Di"]]


def fitted(*, kept: bool) -> Fit:
    judged = JudgedPart(60, 1.0, 0.216, 0.50, 0.9, 0.209, 0.48, 0.01)
    values = {**defaults(MODELS["thurstone-hurdle"]), "newcomer_spread": 1.5}
    return Fit("thurstone-hurdle", 120, values, judged, kept)


def test_an_accepted_fit_is_written_and_rates_the_leaderboard(racebot: Run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("racebot.study.fit.fit", Mock(return_value=fitted(kept=True)))
    shown = racebot("improve", "games")
    assert "79.1% of cases instead of 78.4%" in shown.stdout
    assert parameters(racebot)["newcomer_spread"] != 1.5, "without a terminal, nobody said yes"
    assert "rates 120 stored races of games again" in shown.stdout
    racebot("improve", "games", "--yes")
    assert len(list((tmp_path / "state" / "backups").glob("*.db"))) == 1
    assert parameters(racebot)["newcomer_spread"] == 1.5
    assert "newcomer_spread = 1.5" in (tmp_path / "racebot.toml").read_text()
    racebot("verify")


def test_a_fit_that_returns_to_a_default_applies_it(racebot: Run, monkeypatch) -> None:
    usual = defaults(MODELS["thurstone-hurdle"])
    again = replace(fitted(kept=True), parameters=usual)
    monkeypatch.setattr("racebot.study.fit.fit", Mock(return_value=again))
    assert parameters(racebot)["newcomer_spread"] == 1.25 != usual["newcomer_spread"]
    racebot("improve", "games", "--yes")
    assert parameters(racebot)["newcomer_spread"] == usual["newcomer_spread"]


def test_a_fit_that_gains_nothing_changes_nothing(racebot: Run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("racebot.study.fit.fit", Mock(return_value=fitted(kept=False)))
    assert "stay" in racebot("improve", "--yes").stdout
    assert not (tmp_path / "racebot.toml").exists()
