from __future__ import annotations

from pathlib import Path

import pytest

from racebot.errors import SettingsError
from racebot.settings.sources import load
from racebot.settings.write import write_leaderboard, write_model

PARAMETERS = {"newcomer_spread": 1.5, "spare_finishers": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MODEL", "PARAMETERS"):
        monkeypatch.delenv(f"RACEBOT_{name}", raising=False)
    return tmp_path


def test_env_keeps_its_comments_and_is_read_back(folder: Path) -> None:
    env = folder / ".env"
    env.write_text("# secret stuff\nRACEBOT_CLIENT_ID=abc # mine\nRACEBOT_MODEL=trueskill\n")
    assert write_model(folder, folder / "racebot.toml", "thurstone-hurdle", PARAMETERS) == env
    text = env.read_text()
    assert "# secret stuff\nRACEBOT_CLIENT_ID=abc # mine\n" in text
    settings = load(folder)
    assert settings.model == "thurstone-hurdle"
    assert settings.parameters == {"newcomer_spread": "1.5", "spare_finishers": "False"}


def test_lists_and_left_out_values_are_read_back(folder: Path) -> None:
    write_model(folder, folder / "racebot.toml", "plackett-luce", {"rates": [0.5, 0.1, 0.02], "dummy": None})
    plan = load(folder).plans().default.leaderboard("orb", "Any Orb")
    assert plan.parameters["rates"] == [0.5, 0.1, 0.02]
    assert plan.parameters["dummy"] is None


def test_toml_keeps_its_comments_and_is_read_back(folder: Path) -> None:
    toml = folder / "racebot.toml"
    toml.write_text('# our bot\nmodel = "trueskill"  # for now\n\n[texts]  # ours\n')
    assert write_model(folder, toml, "plackett-luce", {"rates": [0.5, 0.1, 0.02], "dummy": None}) == toml
    text = toml.read_text()
    assert "# our bot\n" in text
    assert "[texts]  # ours\n" in text
    plan = load(folder).plans().default.leaderboard("orb", "Any Orb")
    assert plan.model == "plackett-luce"
    assert (plan.parameters["rates"], plan.parameters["dummy"]) == ([0.5, 0.1, 0.02], None)


def test_a_leaderboard_with_its_own_table_gets_its_own_parameters(folder: Path) -> None:
    toml = folder / "racebot.toml"
    tables = ('name = "One" # first\ngoals = ["A"]\n', 'name = "Two"\ngoals = ["B"]\n')
    toml.write_text("".join(f"[[leaderboards]]\n{table}\n" for table in tables))
    write_leaderboard(toml, "Two", "orb", ["B"], "thurstone-hurdle", PARAMETERS)
    one, two = load(folder).leaderboards
    assert one.parameters == {}
    assert two.parameters == PARAMETERS
    assert 'name = "One" # first' in toml.read_text()


@pytest.mark.parametrize("before", [None, "# ours\n", '[[leaderboards]]\nname = "One"\ngoals = ["A"]\n'])
def test_a_leaderboard_without_a_table_gets_one(folder: Path, before: str | None) -> None:
    toml = folder / "racebot.toml"
    if before is not None:
        toml.write_text(before)
    write_leaderboard(toml, "Any Orb", "orb", ["Any Orb"], "thurstone-hurdle", PARAMETERS)
    assert toml.read_text().startswith(before or "")
    *_, added = load(folder).leaderboards
    assert (added.name, added.category, added.goals) == ("Any Orb", "orb", ["Any Orb"])
    assert (added.model, added.parameters) == ("thurstone-hurdle", PARAMETERS)


def test_env_wins_where_both_set_the_model(folder: Path) -> None:
    (folder / "racebot.toml").write_text('model = "trueskill"\n')
    (folder / ".env").write_text("RACEBOT_MODEL=plackett-luce\n")
    assert write_model(folder, folder / "racebot.toml", "thurstone-hurdle", {}) == folder / ".env"
    assert load(folder).model == "thurstone-hurdle"


def test_a_variable_that_would_beat_the_file_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACEBOT_PARAMETERS", "beta=3")
    with pytest.raises(SettingsError, match="RACEBOT_PARAMETERS is set in the environment"):
        write_model(folder, folder / "racebot.toml", "trueskill", {})


def test_a_broken_toml_is_named(folder: Path) -> None:
    (folder / "racebot.toml").write_text("model = \n")
    with pytest.raises(SettingsError, match=r"racebot\.toml"):
        write_model(folder, folder / "racebot.toml", "trueskill", {})
