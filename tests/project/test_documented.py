"""Check documentation against the code: settings, commands, models, metrics, version."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from dotenv import dotenv_values

from racebot import __version__
from racebot.cli.commands import COMMANDS, load_command
from racebot.races.outcome import Outcome
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.registry import MODELS
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import KEPT_IN_FILES, load
from racebot.settings.write import ENV_HEADING
from racebot.telemetry.metrics import REGISTRY
from racebot.web.api.openapi import description

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / ".env.example").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
MODELS_PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
VARIABLES = {PREFIX + name.upper() for name in Settings.model_fields}
VARIABLES |= {f"{PREFIX}{name.upper()}_FILE" for name in KEPT_IN_FILES}


def test_each_setting_is_documented_once() -> None:
    documented = Counter(re.findall(rf"^(?:# )?({PREFIX}\w+)=", SETTINGS, re.MULTILINE))
    assert documented == Counter(PREFIX + name.upper() for name in Settings.model_fields)


def test_documented_settings_exist() -> None:
    assert set(re.findall(rf"{PREFIX}\w+", SETTINGS)) <= VARIABLES
    assert set(re.findall(rf"{PREFIX}[A-Z_]+[A-Z]", REFERENCE)) <= VARIABLES


def test_a_new_env_file_names_the_page_that_lists_every_setting() -> None:
    (page,) = re.findall(r"docs/\S+\.md", ENV_HEADING)
    assert set(re.findall(rf"{PREFIX}\w+", (ROOT / page).read_text(encoding="utf-8"))) >= VARIABLES


def test_documented_defaults_are_the_defaults(tmp_path: Path) -> None:
    uncommented = re.sub(rf"^# ({PREFIX}\w+=)", r"\1", SETTINGS, flags=re.MULTILINE)
    (tmp_path / ".env").write_text(uncommented, encoding="utf-8")
    (tmp_path / "racebot.toml").touch()
    settings = load(tmp_path)
    for name, field in Settings.model_fields.items():
        assert getattr(settings, name) == field.get_default(), name


def test_example_settings_load_unchanged(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(SETTINGS, encoding="utf-8")
    assert load(tmp_path).model_dump() == Settings().model_dump()


def test_settings_on_the_pages_page_keep_their_whole_value() -> None:
    """A space and # begin a comment in `.env`."""
    page = (ROOT / "docs" / "pages.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    written = [line.partition("=") for block in blocks for line in block.splitlines()]
    assert len(written) > 3
    for name, _, value in written:
        assert dotenv_values(stream=StringIO(f"{name}={value}")) == {name: value.strip('"')}


def test_only_required_settings_are_not_commented_out() -> None:
    active = re.findall(rf"^{PREFIX}\w+=.*$", SETTINGS, re.MULTILINE)
    assert active == ["RACEBOT_CATEGORY=", "RACEBOT_CLIENT_ID=", "RACEBOT_CLIENT_SECRET="]


def test_documented_racebot_toml_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", REFERENCE, re.MULTILINE | re.DOTALL)
    (tmp_path / "racebot.toml").write_text(example, encoding="utf-8")
    settings = load(tmp_path)
    written = tomllib.loads(example)
    assert [category.slug for category in settings.required_categories()] == [
        category["slug"] for category in written["categories"]
    ]
    assert [board.name for board in settings.leaderboards] == [
        board["name"] for board in written["leaderboards"]
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example(command: str) -> None:
    assert f"Example: racebot {command}" in (load_command(command).help or "")


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "make_reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_each_command_and_setting_has_a_heading() -> None:
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", commands, re.MULTILINE) == list(COMMANDS)
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    headings = ", ".join(re.findall(r"^### (.*)$", settings, re.MULTILINE)).split(", ")
    assert sorted(headings) == sorted(PREFIX + name.upper() for name in Settings.model_fields)


def test_each_model_is_described() -> None:
    headings = re.findall(r"^(?:\*\*|\| )(`.*?)(?:\*\*| \|)", MODELS_PAGE, re.MULTILINE)
    named = {word for word in re.findall(r"`(.*?)`", " ".join(headings)) if "=" not in word}
    assert named == set(MODELS)


def test_changelog_has_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(__version__)}\]", changelog, re.MULTILINE)


PAGES = (ROOT / "docs" / "pages.md").read_text(encoding="utf-8")


def test_documented_api_addresses_match_openapi() -> None:
    words = {"CATEGORY": "{category}", "BOARD": "{board}", "PLAYER": "{player}", "RACE": "{race}"}
    listed = re.findall(r"^\| `/api(/\S*?)(?:\?[^`]*)?` \|", PAGES, re.MULTILINE)
    named = {re.sub(r"[A-Z]+", lambda word: words[word[0]], path) for path in listed}
    assert named - {"/openapi.json"} == set(description(served=True)["paths"])


def test_documented_costs_of_a_forfeit_are_those_of_the_default_model() -> None:
    page = (ROOT / "docs" / "how-ratings-work.md").read_text(encoding="utf-8")
    found = re.search(
        r"In a\s+first race a forfeit costs (\d+)\s+points.* (\d+) after\s+twenty races and (\d+) after a",
        page,
        re.DOTALL,
    )
    assert found is not None
    model = ThurstoneHurdle()
    assert model.key == Settings().model
    forfeit = Outcome.of([1], unfinished=1)
    for points, races, cost in zip((1000, 1600, 1600), (0, 20, 100), found.groups(), strict=True):
        states = np.array([model.initial()] * 2)
        states[1] = [states[1, 0] + (points - 1000) / model.points_scale, races]
        assert model.points(states)[1] == points
        assert model.points(states)[1] - model.points(model.rate(states, forfeit))[1] == int(cost)


def test_commands_on_the_upgrading_page_exist() -> None:
    text = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
    named = re.findall(r"(?:^ *|`)racebot ([a-z][a-z-]*)`?$", text, re.MULTILINE)
    assert named
    assert set(named) <= set(COMMANDS)


def test_commands_and_settings_on_the_pages_page_exist() -> None:
    assert set(re.findall(r"^racebot ([a-z-]+)", PAGES, re.MULTILINE)) <= set(COMMANDS)
    assert set(re.findall(rf"{PREFIX}[A-Z_]+[A-Z]", PAGES)) <= VARIABLES


def test_each_metric_is_documented() -> None:
    kinds = {"counter": "_total"}
    names = {family.name + kinds.get(family.type, "") for family in REGISTRY.collect()}
    assert names == set(re.findall(r"`(racebot_\w+)`", REFERENCE))
