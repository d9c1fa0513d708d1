from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from racebot.sandbox import text
from racebot.text.format import exact_time


@pytest.mark.parametrize(
    ("length", "written"),
    [
        (timedelta(hours=1, seconds=3, microseconds=47_053), "P0DT01H00M03.047053S"),
        (timedelta(0), "P0DT00H00M00S"),
        (timedelta(days=1, hours=2, minutes=3), "P1DT02H03M00S"),
    ],
)
def test_durations_have_the_sites_format(length: timedelta, written: str) -> None:
    assert text.duration(length) == written
    assert text.parse_length(written) == length


def test_durations_with_fewer_digits_are_read() -> None:
    assert text.parse_length("P0DT00H00M15.5S") == timedelta(seconds=15.5)
    with pytest.raises(ValueError, match="is not a duration"):
        text.parse_length("15 seconds")


def test_moments_are_written_in_utc() -> None:
    moment = datetime(2026, 3, 1, 13, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=1)))
    assert text.stamp(moment) == "2026-03-01T12:00:00.123Z"
    assert exact_time(moment) == "2026-03-01T12:00:00.123999+00:00"
    assert exact_time(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01T00:00:00.000000+00:00"
    assert text.stamp(None) is None


def test_timers_cut_or_round_fractions() -> None:
    length = timedelta(hours=1, seconds=3, milliseconds=890)
    assert text.timer(length) == "1:00:03"
    assert text.timer(length, tenths=True) == "1:00:03.9"


def test_ordinals_end_in_st_nd_rd_or_th() -> None:
    assert [text.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, None)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th", None,
    ]  # fmt: skip


def test_markup_and_unsafe_characters_are_removed() -> None:
    assert (
        text.without_markup("A has ##good##finished##, ##bot##B## too ## x") == "A has finished, B too ## x"
    )
    assert text.slugify("The J. R. Reds!") == "the-j-r-reds"
    assert text.slugify("雪") == ""
