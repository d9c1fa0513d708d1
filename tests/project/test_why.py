"""Compare docs/why.md with the models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"
_SPEC = importlib.util.spec_from_file_location("make_why", _DOCS / "make_why.py")
assert _SPEC is not None
assert _SPEC.loader is not None
make_why = importlib.util.module_from_spec(_SPEC)
sys.modules["make_why"] = make_why
_SPEC.loader.exec_module(make_why)


@pytest.fixture(scope="module")
def worlds():
    return make_why.after_the_past()


def test_page_is_current():
    assert (_DOCS / "why.md").read_text(encoding="utf-8") == make_why.page(), "run `python docs/make_why.py`"


def test_there_are_twenty_situations():
    assert len(make_why.SITUATIONS) == 20


@pytest.mark.parametrize("situation", make_why.SITUATIONS, ids=lambda situation: situation.title)
def test_each_paragraph_agrees_with_the_numbers(situation, worlds):
    table = make_why.changes(situation, worlds)
    assert situation.claims
    for system, player, sign in situation.claims:
        before, after = table[system][player]
        found = ">" if after > before else "<" if after < before else "="
        assert found == sign, (system, player, after - before)


@pytest.mark.parametrize("situation", make_why.SITUATIONS, ids=lambda situation: situation.title)
def test_the_default_lets_no_winner_lose_and_no_forfeit_gain(situation, worlds):
    table = make_why.changes(situation, worlds)["racebot"]
    for player, (before, after) in table.items():
        result = situation.races[-1].result(player)
        assert result != "1" or after >= before
        assert result != "DNF" or after <= before
