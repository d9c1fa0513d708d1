import pytest

from racebot.errors import LONGEST_LINE, MissingExtraError, PayloadError, RacebotError, SettingsError, reason


def every_kind(kind: type[RacebotError] = RacebotError) -> list[type[RacebotError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in every_kind(below))]


@pytest.mark.parametrize("kind", every_kind())
@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "a\nb", "\u202egnp.exe", "half \ud800", "\u2028"])
def test_nothing_in_an_error_moves_a_terminal(kind: type[RacebotError], text: str) -> None:
    message = f"race {text}: unreadable"
    text = str(MissingExtraError("web", message) if kind is MissingExtraError else kind(message))
    assert text.isprintable()
    assert text.startswith("race ")
    assert ": unreadable" in text


def test_other_texts_stay_as_they_are() -> None:
    assert str(PayloadError("race orb/r: 雪の介 – «é»")) == "race orb/r: 雪の介 – «é»"


def test_a_long_text_keeps_its_place_and_its_mend() -> None:
    text = str(PayloadError(f"orb/r: {'x' * 10**6}: correct it"))
    assert text.startswith("orb/r: xxx")
    assert text.endswith("xxx: correct it")
    assert len(text) <= LONGEST_LINE


def test_problems_of_settings_are_a_line_each() -> None:
    error = SettingsError("a\nb", "c")
    assert error.problems == (r"a\nb", "c")
    assert str(error) == "a\\nb\nc"


def test_reason_of_a_failure_is_the_words_of_the_system_without_their_number() -> None:
    assert reason(FileNotFoundError(2, "No such file or directory", "x")) == "No such file or directory"
    assert reason(OSError("no number")) == "no number"
    assert reason(ValueError("bad")) == "bad"
    assert reason(RuntimeError("[Errno -2] Name or service not known")) == "Name or service not known"
    assert reason(TimeoutError()) == "TimeoutError()"
