"""The examples of docs/python.md and the model of CONTRIBUTING.md run."""

import contextlib
import importlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from racebot.races.outcome import Outcome

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"^(?:<!-- (?:file: )?(\S+|a model) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    names: dict[str, object] = {}
    printed = None
    for file, kind, text in _BLOCK.findall((ROOT / "docs" / "python.md").read_text(encoding="utf-8")):
        if file:
            (tmp_path / file).write_text(text, encoding="utf-8")
        elif kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, "docs/python.md", "exec"), names)  # noqa: S102 - our own page
            printed = output.getvalue()
        else:
            assert printed == text
    assert names


def test_commands_on_the_page_of_studies_print_what_it_shows() -> None:
    shown = 0
    for command, text in re.findall(
        r"```sh\nracebot ([^\n]*examples[^\n]*)\n```\n\n```text\n(.*?)^…\n```$",
        (ROOT / "docs" / "study.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    ):
        program = [sys.executable, "-m", "racebot", *command.split()]
        printed = subprocess.check_output(program, cwd=ROOT, text=True, encoding="utf-8")
        assert "\n".join(map(str.rstrip, printed.splitlines())).startswith(text)
        shown += 1
    assert shown == 2


def test_the_page_of_studies_shows_a_picture_of_every_study_made_by_its_command() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    drawn = dict(re.findall(r"^racebot (\w+) .* --plot docs/(images/\S+)$", text, re.MULTILINE))
    assert drawn.keys() == {"evaluate", "rate", "odds", "tune", "iterate", "scores"}
    for picture in drawn.values():
        assert f"]({picture})" in text and (ROOT / "docs" / picture).is_file()


def test_example_of_a_model_rates_and_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First beats three of three, second two and loses one, and the two DNFs lose to both: 1, 1/3, -2/3."""
    blocks = _BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (source,) = [text for name, _, text in blocks if name == "a model"]
    (tmp_path / "borda.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    borda = importlib.import_module("borda").Borda()
    after = borda.rate(np.zeros((4, 1)), Outcome.of([1, 2], unfinished=2))
    np.testing.assert_allclose(after[:, 0], np.array([3, 1, -2, -2]) / 3 * 0.1)
    assert borda.win_probability(np.array([0.5]), np.array([0.5])) == pytest.approx(0.5)
    assert borda.win_probability(np.array([0.5]), np.array([0.0])) > 0.5
