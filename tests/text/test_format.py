from __future__ import annotations

import pytest

from racebot.text.format import counted, ordinal_ending, percentage


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


@pytest.mark.parametrize(
    ("share", "digits", "expected"),
    [
        (0.0, 0, "0"),
        (0.004, 0, "<1"),
        (0.71, 0, "71"),
        (0.996, 0, ">99"),
        (1.0, 0, "100"),
        (0.0004, 1, "<0.1"),
        (0.032, 1, "3.2"),
    ],
)
def test_only_a_certain_outcome_is_shown_as_certain(share: float, digits: int, expected: str) -> None:
    assert percentage(share, digits) == expected
