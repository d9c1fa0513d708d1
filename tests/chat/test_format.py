import pytest
from hypothesis import given, strategies as st

from racebot.chat.format import NO_BREAK, decimal, ordinal, percent, unbroken
from racebot.settings.texts import Texts


@pytest.mark.parametrize(
    "name", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "Ólöf", "Jean-Loup", "ليلى", "Мира Лесная", "雪の介"]
)
def test_names_stay_as_they_are(name: str) -> None:
    """The site notifies players only of their name as they write it."""
    assert unbroken(name) == name.replace(" ", NO_BREAK)


def test_an_entry_wider_than_the_column_breaks_as_little_as_possible() -> None:
    two_words = "A_Name_That_Goes_On_For_So_Long Two".replace(" ", NO_BREAK)
    assert unbroken(f"1 {two_words} 1010 (+10)") == f"1{NO_BREAK}{two_words} 1010{NO_BREAK}(+10)"
    for name in ("字" * 25, "a_name_that_goes_on_for_so_long_that_it_breaks"):
        assert unbroken(f"1 {name} 2049 (+14)") == f"1{NO_BREAK}{name} 2049{NO_BREAK}(+14)"


@given(st.text(max_size=40))
def test_an_entry_only_gains_no_break_spaces(text: str) -> None:
    assert unbroken(text).replace(NO_BREAK, " ") == text.replace(NO_BREAK, " ")


def test_ordinals_decimals_and_percentages_follow_the_texts() -> None:
    french = Texts(ordinal="{place}{place:er|e}", percent="{number} %", decimal="{whole},{tenths}")
    assert [ordinal(place, french) for place in (1, 2, 21)] == ["1er", "2e", "21e"]
    assert decimal(3.46, french) == "3,5"
    assert [percent(chance, french) for chance in (0.003, 0.07, 0.999)] == ["<1 %", "7 %", ">99 %"]
