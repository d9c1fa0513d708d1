"""Check the documentation: settings, commands, models, files, figures and links."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from racebot.cli.commands import load_command
from racebot.races.outcome import Outcome
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.registry import MODELS
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import KEPT_IN_FILES, load
from racebot.web.api.openapi import description

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
DOCS["README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
VARIABLES = {PREFIX + name.upper() for name in Settings.model_fields}
VARIABLES |= {f"{PREFIX}{name.upper()}_FILE" for name in KEPT_IN_FILES}


def test_each_setting_is_in_the_example_once_with_its_default(tmp_path: Path) -> None:
    documented = Counter(re.findall(rf"^(?:# )?({PREFIX}\w+)=", EXAMPLE, re.MULTILINE))
    assert documented == Counter(PREFIX + name.upper() for name in Settings.model_fields)
    uncommented = re.sub(rf"^# ({PREFIX}\w+=)", r"\1", EXAMPLE, flags=re.MULTILINE)
    (tmp_path / ".env").write_text(uncommented, encoding="utf-8")
    (tmp_path / "racebot.toml").touch()
    assert load(tmp_path).model_dump() == Settings().model_dump()
    active = re.findall(rf"^{PREFIX}\w+=.*$", EXAMPLE, re.MULTILINE)
    assert active == ["RACEBOT_CATEGORY=", "RACEBOT_CLIENT_ID=", "RACEBOT_CLIENT_SECRET="]


@cache
def options_of(command: str) -> set[str]:
    return {option for each in load_command(command).params for option in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("page", DOCS)
def test_named_settings_commands_and_options_exist(page: str) -> None:
    text = DOCS[page]
    assert set(re.findall(rf"{PREFIX}[A-Z_]+[A-Z]", text)) <= VARIABLES
    shell = "\n".join(re.findall(r"^ *```sh\n(.*?)```", text, re.MULTILINE | re.DOTALL))
    shell = shell.replace("\\\n", " ")
    lines = re.findall(r"`racebot ([a-z].*?)`", text)
    lines += re.findall(r"^ *(?:sudo )?(?:\.venv/bin/|docker .* )?racebot ([a-z].*)", shell, re.MULTILINE)
    for name, *rest in map(str.split, lines):
        options = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert options <= options_of(name) | {"--help"}, f"racebot {name}"
    for file in re.findall(r"(?<=\s)((?:deploy|examples)/\S+)", shell):
        assert (ROOT / file).exists(), file


def test_documented_racebot_toml_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", DOCS["reference.md"], re.MULTILINE | re.DOTALL)
    (tmp_path / "racebot.toml").write_text(example, encoding="utf-8")
    settings, written = load(tmp_path), tomllib.loads(example)
    assert len(settings.required_categories()) == len(written["categories"])
    assert [each.name for each in settings.leaderboards] == [each["name"] for each in written["leaderboards"]]


@pytest.mark.parametrize("script", ["make_reference.py", "make_why.py"])
def test_generated_files_are_current(script: str) -> None:
    check = [sys.executable, str(ROOT / "docs" / script), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_model_is_described() -> None:
    headings = re.findall(r"^(?:\*\*|\| )(`.*?)(?:\*\*| \|)", DOCS["models.md"], re.MULTILINE)
    named = {word for word in re.findall(r"`(.*?)`", " ".join(headings)) if "=" not in word}
    assert named == set(MODELS)


def test_documented_api_addresses_exist() -> None:
    words = {"CATEGORY": "{category}", "BOARD": "{board}", "PLAYER": "{player}", "RACE": "{race}"}
    listed = re.findall(r"^\|.*?`/api(/[^?`]*)", DOCS["pages.md"], re.MULTILINE)
    named = {re.sub(r"[A-Z]+", lambda word: words[word[0]], path) for path in listed}
    assert len(named) > 5
    assert named - {"/", "/openapi.json"} <= set(description(served=True)["paths"])


def test_documented_costs_of_a_forfeit_are_those_of_the_default_model() -> None:
    found = re.search(
        r"In a\s+first race a forfeit costs (\d+)\s+points.* (\d+) after\s+twenty races and (\d+) after a",
        DOCS["how-ratings-work.md"],
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


# Links


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings by GitHub's rule."""
    found = re.findall(r"^#+ (.+)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_work_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"(?<!\[)`[^`\n]+`(?!\])", "", without_code(text))
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose) + re.findall(r'(?:src|srcset)="([^"]+)"', prose)
    for target in targets:
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not heading or heading in headings(file), target
    for name in re.findall(r"`((?:racebot|tests|docs|benchmarks)/[\w/-]+\.(?:py|md))`", text):
        assert (ROOT / name).exists() or "test_borda" in name, name
