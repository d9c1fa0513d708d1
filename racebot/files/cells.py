"""Reads the cells of a table of races: times, gaps, places, scores, dates, and words for no result."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from datetime import UTC, datetime

from racebot.races.result import EntrantStatus
from racebot.text.parse import YEARS, parse_duration

_CLOCK = re.compile(
    r"(?:(\d{1,4}) days?,? )?(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d{1,20})?)", re.ASCII
)
_UNITS = re.compile(
    r"(?:(\d{1,4}) ?d\w*)? ?(?:(\d{1,4}) ?h\w*)? ?(?:(\d{1,6}) ?m\w*)? ?(?:(\d{1,9}(?:\.\d{1,20})?) ?s\w*)?",
    re.IGNORECASE | re.ASCII,
)
_GAP = re.compile(r"\+\s*(\d[\d:.,]*)\s*s?(?:ec)?", re.IGNORECASE)
_LAPS = re.compile(r"[+-]?\s*(\d{1,4})\s*l(?:aps?)?\.?(?: down)?", re.IGNORECASE)
_PLACE = re.compile(r"[=tp]?\s*([0-9]{1,6})(?:\.0*)?(?:st|nd|rd|th)?=?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:[.,]\d{1,15})?")
_DATE = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})(?!\d)(.*)")
_DAY_OF_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ -]([a-z]{3})[a-z]*\.?,?[ -](\d{4}|\d\d)\b(.*)", re.I)
_MONTH_AND_DAY = re.compile(r"([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}|\d\d)\b(.*)", re.I)
_TWELVE_HOURS = re.compile(r"(\d{1,2})(:\d\d(?::\d\d)?) ?([ap])\.?m\.?", re.IGNORECASE)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_UNIX = re.compile(r"(\d{9,10})(\d{3})?(\.\d+)?")
_DNF = """dnf|did not finish|ret|retired|retirement|nc|not classified|forfeit|forfeited|ff|quit|otl|hd|pu|lap|
    dnf1|dnf2|raf|abandoned|withdrew|no finish|unfinished|disconnected|eliminated|-|–|—"""
_DQ = "dq|dsq|disq|disqualified|excluded|exc|ocs|bfd|ufd|dne|dsq1|dsq2"
_DNS = "dns|did not start|dnc|dnq|did not qualify|dns1|dns2|no show|absent|withdrawn|wd"
_DONE = "finished|finisher|finish|fin|done|ok|running|classified|complete|completed|lapped"
WORDS: dict[str, EntrantStatus | None] = {
    word.strip(): status
    for words, status in (
        (_DNF, EntrantStatus.DNF), (_DQ, EntrantStatus.DQ), (_DNS, None), (_DONE, EntrantStatus.DONE)
    )
    for word in words.split("|")
}  # fmt: skip
"""What a cell says in place of a time or a place, in lower case. None for a player who is no entrant."""
LETTERS: dict[str, EntrantStatus | None] = {
    "r": EntrantStatus.DNF, "n": EntrantStatus.DNF, "d": EntrantStatus.DQ, "e": EntrantStatus.DQ,
    "w": None, "f": None,
}  # fmt: skip
"""What Ergast's column `positionText` says: http://ergast.com/mrd/methods/results/."""
MEANINGS = {
    EntrantStatus.DNF: "not finished",
    EntrantStatus.DQ: "disqualified",
    EntrantStatus.DONE: "finished",
    None: "not an entrant",
}
NOTHING = frozenset({"\\n", "null", "na", "n/a", "nan", "none", "nat", "#n/a"})
"""What databases and programs write into an empty cell, in lower case."""


class BadCellError(Exception):
    """A cell that cannot be read. The arguments are its column, and what is wrong with the fix."""


def microseconds(text: str) -> int:
    """Read `h:mm:ss`, `mm:ss` or seconds, with or without decimals, `1h 2m 3s`, or an ISO 8601 duration."""
    plain = text if "day" in text else text.replace(",", ".")
    if text and (match := _CLOCK.fullmatch(plain) or _UNITS.fullmatch(plain)):
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        # Minutes and seconds end at 59 below a larger unit: 99:99:99 is a program's sign for no time.
        if not ((match[2] and minutes >= 60) or (match[3] and seconds >= 60)):
            return round(math.fsum([days * 86_400, hours * 3600, minutes * 60, seconds]) * 1_000_000)
    try:
        return parse_duration(text if "D" in text.upper() else text.upper().replace("PT", "P0DT"))
    except ValueError:
        means = f"or say what it means, as in --words dnf={text[:20]}"
        problem = f"{reprlib.repr(text)} is not a time: write 1:02:03.4, seconds or DNF, {means}"
        raise BadCellError("time", problem) from None


def gap(text: str) -> tuple[int, int] | None:
    """Read `+0:12`, `+5.478` or `+1 lap` as laps and microseconds behind the first; None for no gap."""
    if laps := _LAPS.fullmatch(text):
        return int(laps[1]), 0
    match = _GAP.fullmatch(text)
    return (0, microseconds(match[1])) if match else None


def place(text: str) -> int:
    """Read `1`, `1.`, `1.0`, `1st`, `=3`, `3=`, `P3` or `T3`."""
    match = _PLACE.fullmatch(text)
    if match is None or not int(match[1]):
        means = f"say what it means, as in --words dns={text[:20]} or dnf={text[:20]}"
        problem = f"{reprlib.repr(text)} is not a place: write 1, 2, 3 and so on, DNF or DNS, or {means}"
        raise BadCellError("place", problem)
    return int(match[1])


def number(text: str) -> float:
    """Read a score, with a decimal point or comma."""
    if _NUMBER.fullmatch(text) is None:
        means = f"or say what it means, as in --words dnf={text[:20]}"
        raise BadCellError("score", f"{reprlib.repr(text)} is not a number: write 12.5 or DNF, {means}")
    return float(text.replace(",", "."))


def month_comes_first(dates: Iterable[str]) -> bool | None:
    """Return whether dates such as 9/8/2019 begin with the month; None if they do not show it."""
    found = [
        match for date in dates if (match := _DATE.fullmatch(date)) and match[2] != "." and len(match[1]) < 3
    ]
    first, second = (max((int(match[k]) for match in found), default=0) for k in (1, 3))
    return None if (first > 12) == (second > 12) else second > 12


def moment(text: str, month_first: bool | None) -> datetime:
    """Read a date, an ISO 8601 time, or Unix seconds or milliseconds; without an offset it is in UTC.

    Years of two digits are 1969 to 2068.
    """
    text = _TWELVE_HOURS.sub(_of_24_hours, text)
    iso = text
    parts = None
    if match := _DATE.fullmatch(text):
        day, separator, month, year, rest = match.groups()
        if len(day) == 4:
            day, year = year, day
        elif separator != ".":
            if month_first is None:
                problem = f"{reprlib.repr(text)} may begin with the day or the month: write 2019-08-09"
                raise BadCellError("ended_at", f"{problem}, or add --day-first")
            if month_first:
                day, month = month, day
        parts = year, month, day, rest
    elif match := _DAY_OF_MONTH.fullmatch(text):
        parts = match[3], match[2], match[1], match[4]
    elif match := _MONTH_AND_DAY.fullmatch(text):
        parts = match[3], match[1], match[2], match[4]
    try:
        if parts is not None:
            year, month, day, rest = parts
            if not month.isdigit():
                month = str(1 + _MONTHS.index(month.lower()))
            if len(year) == 2:
                year = ("19" if int(year) > 68 else "20") + year
            iso = f"{year}-{month:0>2}-{day:0>2}{rest}"
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


def _of_24_hours(match: re.Match[str]) -> str:
    """Rewrite `8:15:33 PM` as `20:15:33`."""
    hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    return f"{hour:02}{match[2]}"
