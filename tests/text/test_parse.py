import json
from datetime import UTC, datetime

import pytest

from racebot.errors import PayloadError
from racebot.text.parse import DEEPEST, parse_duration, parse_time, read_json


def test_plain_json_is_read_as_it_is() -> None:
    document = {"a": [1, -2.5, True, None, "雪"], "b": {"c": {}}, "n": 2**63 - 1}
    assert read_json(json.dumps(document)) == document
    assert read_json(json.dumps(document, ensure_ascii=False).encode("utf-8-sig")) == document


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'{"An\ud800n": ["id-\udfff"]}', {"An?n": ["id-?"]}),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        ('"\ud800"', "?"),
    ],
)
def test_halves_of_surrogate_pairs_become_question_marks(text: str, read: object) -> None:
    """JSON can hold a lone surrogate, which neither a database nor a socket accepts."""
    assert read_json(text) == read


def test_bytes_are_utf_8_and_nothing_else() -> None:
    """`json.loads` also guesses UTF-16 and accepts lone surrogates."""
    for raw in ('"a"'.encode("utf-16"), b'"\xed\xa0\x80"', b'"\xff"'):
        with pytest.raises(PayloadError, match=r"^not JSON: "):
            read_json(raw)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "-1e400", str(2**63), "-" + str(2**63)])
def test_numbers_that_are_not_finite_or_over_64_bits_are_refused(number: str) -> None:
    with pytest.raises(PayloadError, match=r"is not a number|a number beyond 64 bits"):
        read_json(f'[{{"place": {number}}}]')


def test_depth_is_bounded_before_anything_recurses() -> None:
    assert read_json("[" * DEEPEST + "]" * DEEPEST) is not None
    for depth in (DEEPEST + 1, 500, 5_000, 1_000_000):
        with pytest.raises(PayloadError, match="nested too deeply"):
            read_json("[" * depth + "]" * depth)
        with pytest.raises(PayloadError, match="nested too deeply"):
            read_json('{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize("text", ["", "{", "<html>", "1" * 5_000, '{"a": 1,}'])
def test_invalid_json_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(PayloadError, match=r"^not JSON: ") as refused:
        read_json(text)
    assert len(str(refused.value)) < 300


# Durations


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("P0DT01H00M03.047053S", 3_603_047_053),
        ("P2DT03H04M05.000006S", 2 * 86_400_000_000 + 11_045_000_006),
        ("P0DT00H00M01.5S", 1_500_000),
        ("P0DT00H00M00.1234567S", 123_456),
        ("PT15S", 15_000_000),
        ("PT90M", 5_400_000_000),
    ],
)
def test_durations_are_parsed(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


NO_DURATIONS = [
    None, 15, "", "P", "PT", "P0DT", "P1D2H", "1:00:03", "-PT1S", "PT-1S", "PT1.S", "PT1H ", "PT1H\n", "PT٣S",
    "PT" + "9" * 5000 + "S",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_invalid_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00.5+02:00", datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-03-01T12:00:00.334Z", datetime(2026, 3, 1, 12, 0, 0, 334_000, tzinfo=UTC)),
    ],
)
def test_times_are_converted_to_utc(text: str, moment: datetime) -> None:
    read_back = parse_time(text)
    assert read_back == moment
    assert read_back.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *(None, 5, "", "noon", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z", "0001-01-01T00:00:00+23:00"),
        *("0001-01-01T00:00:00+00:00", "3000-01-01T00:00:00+00:00", "9999-12-31T23:59:59-23:00"),
    ],
)
def test_an_invalid_time_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_time(text)
