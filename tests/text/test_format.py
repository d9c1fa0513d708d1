from racebot.text.format import counted, ordinal, percentage


def test_a_noun_is_singular_only_for_one() -> None:
    numbers = (0, 1, 2, 1200)
    assert [counted(number, "race") for number in numbers] == ["0 races", "1 race", "2 races", "1,200 races"]
    assert [counted(number, "person", "people") for number in (1, 2)] == ["1 person", "2 people"]


def test_ordinals_have_english_endings() -> None:
    written = [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111, 112)]
    assert " ".join(written) == "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 103rd 111th 112th"


def test_only_a_certain_outcome_is_shown_as_certain() -> None:
    assert [percentage(share) for share in (0.0, 0.004, 0.71, 0.996, 1.0)] == ["0", "<1", "71", ">99", "100"]
    assert [percentage(share, 1) for share in (0.0004, 0.032)] == ["<0.1", "3.2"]
