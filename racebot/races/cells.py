"""Reads the cells of a table of races: times, places, dates, and words for no result."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from datetime import UTC, datetime

from racebot.races.result import EntrantStatus
from racebot.text.parse import YEARS, parse_duration

_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d{1,20})?)")
_PLACE = re.compile(r"[=t]?\s*([0-9]{1,6})(?:\.0*)?(?:st|nd|rd|th)?=?", re.IGNORECASE)
_DATE = re.compile(r"(\d{1,4})([/.])(\d{1,2})\2(\d{1,4})(.*)")
_UNIX = re.compile(r"(\d{9,10})(\d{3})?(\.\d+)?")
WORDS: dict[str, EntrantStatus | None] = {
    **dict.fromkeys(
        ("dnf", "did not finish", "ret", "retired", "nc", "forfeit", "-", "–"), EntrantStatus.DNF
    ),
    **dict.fromkeys(("dq", "dsq", "disqualified"), EntrantStatus.DQ),
    **dict.fromkeys(("dns", "did not start"), None),
}
"""What a cell says in place of a time or a place, in lower case. None for a player who is no entrant."""
MEANINGS = {EntrantStatus.DNF: "not finished", EntrantStatus.DQ: "disqualified", None: "not an entrant"}


class BadCellError(Exception):
    """A cell that cannot be read. The arguments are its column, and what is wrong with the fix."""


def microseconds(text: str) -> int:
    """Read `h:mm:ss`, `mm:ss` or seconds, with or without decimals, or an ISO 8601 duration."""
    match = _CLOCK.fullmatch(text.replace(",", "."))
    if match is None:
        try:
            return parse_duration(text if "D" in text.upper() else text.upper().replace("PT", "P0DT"))
        except ValueError:
            problem = f"{reprlib.repr(text)} is not a time: write 1:02:03.4, seconds, or DNF"
            raise BadCellError("time", problem) from None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round(math.fsum([hours * 3600, minutes * 60, seconds]) * 1_000_000)


def place(text: str) -> int:
    """Read `1`, `1.`, `1.0`, `1st`, `=3`, `3=` or `T3`."""
    match = _PLACE.fullmatch(text)
    if match is None or not int(match[1]):
        raise BadCellError("place", f"{reprlib.repr(text)} is not a place: write 1, 2, 3 and so on, or DNF")
    return int(match[1])


def month_comes_first(dates: Iterable[str]) -> bool | None:
    """Return whether dates such as 9/8/2019 begin with the month; None if they do not show it."""
    found = [
        match for date in dates if (match := _DATE.fullmatch(date)) and match[2] == "/" and len(match[1]) < 3
    ]
    first, second = (max((int(match[k]) for match in found), default=0) for k in (1, 3))
    return None if (first > 12) == (second > 12) else second > 12


def moment(text: str, month_first: bool | None) -> datetime:
    """Read a date, an ISO 8601 time, or Unix seconds or milliseconds; without an offset it is in UTC."""
    iso = text
    if match := _DATE.fullmatch(text):
        day, separator, month, year, rest = match.groups()
        if len(day) == 4:
            day, year = year, day
        elif separator == "/":
            if month_first is None:
                problem = f"{reprlib.repr(text)} may begin with the day or the month: write 2019-08-09"
                raise BadCellError("ended_at", problem)
            if month_first:
                day, month = month, day
        iso = f"{year}-{month:0>2}-{day:0>2}{rest}"
    try:
        if unix := _UNIX.fullmatch(text):
            found = datetime.fromtimestamp(float(text) / (1000 if unix[2] else 1), UTC)
        else:
            found = datetime.fromisoformat(iso)
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        if found.year in YEARS:
            return found
    except (ValueError, OverflowError):
        pass
    raise BadCellError(
        "ended_at", f"{reprlib.repr(text)} is not a date: write 2026-03-01 or 2026-03-01T20:15:00Z"
    )
