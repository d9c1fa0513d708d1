from __future__ import annotations

import pytest

from racebot.text.format import counted


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 races"), (1, "1 race"), (2, "2 races"), (1200, "1,200 races")]
)
def test_a_noun_is_singular_only_for_one(number: int, shown: str) -> None:
    assert counted(number, "race") == shown


def test_an_irregular_plural_is_given() -> None:
    assert [counted(number, "person", "people") for number in (1, 2)] == ["1 person", "2 people"]
