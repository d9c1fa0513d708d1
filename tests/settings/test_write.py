import stat
from pathlib import Path

import pytest

from racebot.errors import SettingsError
from racebot.ratings.parameters import ParameterValue
from racebot.settings.sources import load
from racebot.settings.write import write_env, write_leaderboard

PARAMETERS: dict[str, ParameterValue] = {"newcomer_spread": 1.5, "spare_finishers": False}


def test_a_leaderboard_with_its_own_table_gets_its_own_parameters(tmp_path: Path) -> None:
    toml = tmp_path / "racebot.toml"
    tables = ('name = "One" # first\ngoals = ["A"]\n', 'name = "Two"\ngoals = ["B"]\n')
    toml.write_text("".join(f"[[leaderboards]]\n{table}\n" for table in tables))
    write_leaderboard(toml, "Two", "orb", ["B"], "thurstone-hurdle", PARAMETERS)
    one, two = load(tmp_path).leaderboards
    assert one.parameters == {}
    assert two.parameters == PARAMETERS
    assert 'name = "One" # first' in toml.read_text()


@pytest.mark.parametrize("before", [None, "# ours\n", '[[leaderboards]]\nname = "One"\ngoals = ["A"]\n'])
def test_a_leaderboard_without_a_table_gets_one(tmp_path: Path, before: str | None) -> None:
    toml = tmp_path / "racebot.toml"
    if before is not None:
        toml.write_text(before)
    write_leaderboard(toml, "Any Orb", "orb", ["Any Orb"], "thurstone-hurdle", PARAMETERS)
    assert toml.read_text().startswith(before or "")
    *_, added = load(tmp_path).leaderboards
    assert (added.name, added.category, added.goals) == ("Any Orb", "orb", ["Any Orb"])
    assert (added.model, added.parameters) == ("thurstone-hurdle", PARAMETERS)


def test_broken_toml_file_is_named(tmp_path: Path) -> None:
    toml = tmp_path / "racebot.toml"
    toml.write_text("model = \n")
    with pytest.raises(SettingsError, match=r"racebot\.toml"):
        write_leaderboard(toml, "Two", "orb", ["B"], "trueskill", {})


AWKWARD = "p'ä \"s\\ #x; =1"


def test_new_env_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    write_env(env, {"RACEBOT_CATEGORY": "orb", "RACEBOT_CLIENT_SECRET": AWKWARD})
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    settings = load(tmp_path)
    assert settings.category == "orb"
    assert settings.client_secret is not None
    assert settings.client_secret.get_secret_value() == AWKWARD


def test_rewritten_env_keeps_comments_group_access_and_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "settings"
    real.write_text("# ours\nRACEBOT_CATEGORY=orb\nOTHER='a b' # theirs\n", encoding="utf-8")
    real.chmod(0o644)
    (tmp_path / ".env").symlink_to(real)
    write_env(tmp_path / ".env", {"RACEBOT_CATEGORY": "smr"})
    assert real.read_text(encoding="utf-8") == "# ours\nRACEBOT_CATEGORY=smr\nOTHER='a b' # theirs\n"
    assert (tmp_path / ".env").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600, "its group could read the secret"


def test_removed_variable_is_gone_from_env(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("RACEBOT_CLIENT_ID=a\nRACEBOT_CATEGORY=orb\n")
    write_env(tmp_path / ".env", {"RACEBOT_CLIENT_ID": None, "RACEBOT_CLIENT_SECRET": None})
    assert (tmp_path / ".env").read_text() == "RACEBOT_CATEGORY=orb\n"


def test_value_that_env_cannot_hold_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    (tmp_path / ".env").write_text("RACEBOT_CATEGORY=orb\n")
    with pytest.raises(SettingsError, match="RACEBOT_CLIENT_SECRET") as refused:
        write_env(tmp_path / ".env", {"RACEBOT_CATEGORY": "smr", "RACEBOT_CLIENT_SECRET": "a${HOME}b"})
    assert "${HOME}" not in str(refused.value)
    assert (tmp_path / ".env").read_text() == "RACEBOT_CATEGORY=orb\n"
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


def test_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("RACEBOT_CATEGORY=orb\n")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_env(tmp_path / ".env", {"RACEBOT_CATEGORY": "smr"})
    assert (tmp_path / ".env").read_text() == "RACEBOT_CATEGORY=orb\n"
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
