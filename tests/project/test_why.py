"""Compare docs/why.md with the models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_why():
    spec = importlib.util.spec_from_file_location("make_why", DOCS / "make_why.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["make_why"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_current(make_why):
    assert (DOCS / "why.md").read_text(encoding="utf-8") == make_why.page(), "run `python docs/make_why.py`"


def test_the_default_lets_no_winner_lose_and_no_forfeit_gain(make_why):
    worlds = make_why.after_the_past()
    for situation in make_why.SITUATIONS:
        for player, (before, after) in make_why.changes(situation, worlds)["racebot"].items():
            result = situation.races[-1].result(player)
            assert result != "1" or after >= before, (situation.title, player)
            assert result != "DNF" or after <= before, (situation.title, player)
