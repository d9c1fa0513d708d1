from __future__ import annotations

from racebot.chat.numbers import decimal, ordinal, percent
from racebot.chat.wording import Texts
from racebot.web.site import formats

TEXTS = Texts()


def test_ordinals_in_english() -> None:
    places = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111]
    shown = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "101st", "111th"]
    assert [ordinal(place, TEXTS) for place in places] == shown


def test_ordinals_decimals_and_percentages_follow_the_texts() -> None:
    french = Texts(ordinal="{place}e", ordinal_first="1er", percent="{number} %", decimal="{whole},{tenths}")
    assert [ordinal(place, french) for place in (1, 2, 21)] == ["1er", "2e", "21e"]
    assert decimal(3.46, french) == "3,5"
    assert [percent(chance, french) for chance in (0.003, 0.07, 0.999)] == ["<1 %", "7 %", ">99 %"]


def test_chat_rounds_chances_as_pages_do() -> None:
    for chance in (0.003, 0.007, 0.5, 0.993, 0.997):
        assert percent(chance, TEXTS) == formats.percent(chance)
