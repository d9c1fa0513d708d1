"""`racebot season`, which edits racebot.toml."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from .conftest import Racebot

LEAGUE = """\
# Our league
category = "orb"

[[leaderboards]]
name = "SGL 2026" # the third one
custom_goals = ["SGL 2026*", "20260 races of 2026"]
counts = "finished"
scoring = { rules = "sgl-2025", races = 8 }
discord = "https://discord.com/api/webhooks/1/t0ken"

# Texts
[texts]
"""


@pytest.fixture
def league(tmp_path: Path) -> Path:
    toml = tmp_path / "racebot.toml"
    toml.write_text(LEAGUE)
    return toml


def tables(toml: Path) -> list[Mapping[str, Any]]:
    return [{k: str(v) if k in {"from", "until"} else v for k, v in t.items()} for t in read(toml)]


def read(toml: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(toml.read_text())["leaderboards"]
    return found


def test_next_season_copies_table_with_its_number_and_ends_the_last(racebot: Racebot, league: Path) -> None:
    done = racebot("season", "start", "SGL 2027", "--like", "sgl 2026", "--at", "2026-12")
    assert (done.code, done.err) == (0, "")
    assert "SGL 2026 has no race yet" in done.out
    before, old = tomllib.loads(LEAGUE)["leaderboards"][0], league.read_text()
    assert tables(league) == [
        before | {"until": "2026-12-01"},
        before
        | {
            "name": "SGL 2027",
            "custom_goals": ["SGL 2027*", "20260 races of 2027"],
            "carry_over": {"from": "SGL 2026", "factor": 0.9},
            "from": "2026-12-01",
        },
    ]
    assert old.startswith(LEAGUE.partition("# Texts")[0].rstrip())
    assert old.endswith("\n\n# Texts\n[texts]\n")
    assert "2026-12-02" in racebot("season", "list").out  # final from


def test_seasons_of_the_same_goals_are_told_apart_by_their_dates(racebot: Racebot, league: Path) -> None:
    assert racebot("season", "end", "SGL 2026", "--at", "2026-05-01").code == 0
    assert racebot("season", "start", "Autumn", "--like", "SGL 2026").code == 0
    old, new = tables(league)
    assert old["until"] == new["from"] == "2026-05-01"
    assert old["custom_goals"] == new["custom_goals"]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("start New --like SGL_2025", "did you mean 'SGL 2026'"),
        ("start SGL_2026 --like SGL_2026", "SGL 2026"),
        ("start New", "--like"),
        ("end", "name"),
        ("end SGL_2027", "SGL 2026"),
    ],
)
def test_what_would_not_work_is_refused_and_nothing_is_written(
    racebot: Racebot, league: Path, command: str, complaint: str
) -> None:
    done = racebot("season", *(word.replace("_", " ") for word in command.split()))
    assert done.code == 2
    assert complaint in done.complaints[0]
    assert league.read_text() == LEAGUE
    assert ".racebot.toml-" not in done.err


def test_tables_in_the_environment_are_not_hidden_by_a_written_file(
    racebot: Racebot, league: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RACEBOT_LEADERBOARDS", '[{"name": "Other", "goals": ["x"]}]')
    assert "RACEBOT_LEADERBOARDS" in racebot("season", "end", "SGL 2026").complaints[0]
    assert league.read_text() == LEAGUE


def test_new_goal_outside_the_limit_is_named(racebot: Racebot, tmp_path, monkeypatch) -> None:
    (tmp_path / "racebot.toml").write_text(
        'category = "orb"\n[[leaderboards]]\nname = "S4"\ngoals = ["S4"]\n'
    )
    monkeypatch.setenv("RACEBOT_GOALS", "S4")
    assert "'S5'" in racebot("season", "start", "S5", "--like", "S4").out.splitlines()[-1]
