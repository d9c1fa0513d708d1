"""Check CONTRIBUTING.md and docs/architecture.md: the example of a model works, and named files exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from racebot.races.outcome import Outcome

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = set(re.findall(r"`((?:racebot|tests|docs|benchmarks)/[\w/-]+\.(?:py|md))`", TEXT + ARCHITECTURE))
FILES |= {f"racebot/{name}" for name in re.findall(r"\| `(\w+/[\w/]+\.py)`", ARCHITECTURE)}


def test_example_model_rates_and_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First beats three of three, second two and loses one, and the two DNFs lose to both: 1, 1/3, -2/3."""
    (source,) = re.findall(r"<!-- a model -->\n```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "borda.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    borda = importlib.import_module("borda").Borda()
    after = borda.rate(np.zeros((4, 1)), Outcome.of([1, 2], unfinished=2))
    np.testing.assert_allclose(after[:, 0], np.array([3, 1, -2, -2]) / 3 * 0.1)
    assert borda.win_probability(np.array([0.5]), np.array([0.5])) == pytest.approx(0.5)
    assert borda.win_probability(np.array([0.5]), np.array([0.0])) > 0.5


@pytest.mark.parametrize("name", sorted(FILES - {"tests/ratings/models/test_borda.py"}))
def test_named_files_exist(name: str) -> None:
    assert (ROOT / name).exists()


def test_names_in_the_instructions_exist_in_their_files() -> None:
    for step in re.findall(r"^\d\. (.+(?:\n   .+)*)", TEXT, re.MULTILINE):
        files = [ROOT / path for path in re.findall(r"\w+/[\w/]+\.py", step)]
        sources = [file.read_text(encoding="utf-8") for file in files if file.exists()]
        for name in re.findall(r"`(_?[A-Z][A-Z_]+|_[A-Z]+)`", step):
            assert any(re.search(rf"\b{name}\b", source) for source in sources), name
