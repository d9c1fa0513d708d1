import pytest

from racebot.text.safe import MOST_MARKS, plain, printable, without_domains


@pytest.mark.parametrize("name", ["محمد", "אורי", "Zoë שלום", "Zo٣"])
def test_right_to_left_names_do_not_reorder_the_text_after_them(name: str) -> None:
    """Isolated as by the Unicode Bidirectional Algorithm (UAX #9), section 2.4."""
    assert plain(name) == f"\u2068{name}\u2069"
    assert plain("\u202e" + name) == f"\u2068{name}\u2069", "and existing marks are removed"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Ann", "Ann"),
        ("Bø 漢字 Élan!", "Bø 漢字 Élan!"),
        ("  two \n lines ", "two lines"),
        ("@everyone", "＠everyone"),
        ("a@b.example", "a＠b\u2060․\u2060example"),
        ("https://evil.example/x", "https:∕∕evil\u2060․\u2060example/x"),
        ("evil-.example", "evil-\u2060․\u2060example"),
        ("злой.рф", "злой\u2060․\u2060рф"),
        ("[x](https://evil.example)", "[x](https:∕∕evil\u2060․\u2060example)"),
        ("\x1b]8;;https://evil.example\x1b\\x", "]8;;https:∕∕evil\u2060․\u2060example\\x"),
        ("a\u2028@\u2029here", "a ＠ here"),
        ("##bad##", "#＃bad#＃"),
        ("v1.5", "v1.5"),
        ("left\u202eright", "leftright"),
        ("", "?"),
        ("\u200b \n", "?"),
    ],
)
def test_plain_text_replaces_what_the_site_would_format(text: str, safe: str) -> None:
    assert without_domains(plain(text)) == safe


@pytest.mark.parametrize("emoji", ["👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👍🏽"])
def test_joined_emoji_stay_whole(emoji: str) -> None:
    assert plain(f"x{emoji}\u200d\u200d") == f"x{emoji}"


@pytest.mark.parametrize(
    "name", ["\u3164", "\u115f\u1160", "\ufe0f", "\u034f", "\uffa0 \u2800", "\u0301", " \u0489"]
)
def test_a_name_that_shows_nothing_is_a_question_mark(name: str) -> None:
    assert plain(name) == "?"
    assert plain(f"Ann{name}").startswith("Ann")


@pytest.mark.parametrize("text", ["❤\ufe0f", "1\ufe0f\u20e3", "Ólöf", "e\u0302\u0301", "ที่", "שָׁלוֹם", "हिन्दी"])
def test_letters_and_emoji_keep_their_marks(text: str) -> None:
    assert printable(text) == text
    assert printable("Z" + "\u0301" * 50 + "algo\u0301") == "Z" + "\u0301" * MOST_MARKS + "algo\u0301"
