from __future__ import annotations

import pytest

from racebot.text.format import counted, ordinal_ending


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 races"), (1, "1 race"), (2, "2 races"), (1200, "1,200 races")]
)
def test_a_noun_is_singular_only_for_one(number: int, shown: str) -> None:
    assert counted(number, "race") == shown


def test_an_irregular_plural_is_given() -> None:
    assert [counted(number, "person", "people") for number in (1, 2)] == ["1 person", "2 people"]


def test_ordinals_have_english_endings() -> None:
    written = [f"{place}{ordinal_ending(place)}" for place in (1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111, 112)]
    assert " ".join(written) == "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 103rd 111th 112th"
