from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from racebot.chat.format import NO_BREAK, WORD_JOINER, decimal, ordinal, percent, unbroken
from racebot.chat.wording import Texts


@pytest.mark.parametrize("name", ["雪の介", "박하늘", "ひらがな", "Ann雪"])
def test_wide_characters_are_held_together(name: str) -> None:
    entry = unbroken(f"1 {name} 2049 (+14)")
    inside = entry.removeprefix(f"1{NO_BREAK}").removesuffix(f"{NO_BREAK}2049{NO_BREAK}(+14)")
    assert inside.replace(WORD_JOINER, "") == name
    assert inside.count(WORD_JOINER) == (1 if name == "Ann雪" else len(name) - 1)


@pytest.mark.parametrize("name", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "Ólöf", "Jean-Loup", "ليلى", "Мира Лесная"])
def test_names_without_breaks_inside_stay_as_they_are(name: str) -> None:
    """The site notifies players only of their name as they write it."""
    assert unbroken(name) == name.replace(" ", NO_BREAK)


def test_an_entry_wider_than_the_column_breaks_as_little_as_possible() -> None:
    two_words = "A_Name_That_Goes_On_For_So_Long Two".replace(" ", NO_BREAK)
    assert unbroken(f"1 {two_words} 1010 (+10)") == f"1{NO_BREAK}{two_words} 1010{NO_BREAK}(+10)"
    for name in ("字" * 25, "a_name_that_goes_on_for_so_long_that_it_breaks"):
        assert unbroken(f"1 {name} 2049 (+14)") == f"1{NO_BREAK}{name} 2049{NO_BREAK}(+14)"


@given(st.text(max_size=40))
def test_an_entry_only_gains_joiners_and_no_break_spaces(text: str) -> None:
    def bare(entry: str) -> str:
        return entry.replace(WORD_JOINER, "").replace(NO_BREAK, " ")

    assert bare(unbroken(text)) == bare(text)


def test_ordinals_decimals_and_percentages_follow_the_texts() -> None:
    french = Texts(ordinal="{place}e", ordinal_first="1er", percent="{number} %", decimal="{whole},{tenths}")
    assert [ordinal(place, french) for place in (1, 2, 21)] == ["1er", "2e", "21e"]
    assert decimal(3.46, french) == "3,5"
    assert [percent(chance, french) for chance in (0.003, 0.07, 0.999)] == ["<1 %", "7 %", ">99 %"]
