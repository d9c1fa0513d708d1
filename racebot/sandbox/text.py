"""How the site writes times, places and names."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from racebot.text.parse import parse_duration

_SECOND = timedelta(seconds=1)
_MARKUP = re.compile(r"##\w+##(.*?)##")


def utc_now() -> datetime:
    """The time, with its zone; the clock that everything in the sandbox uses unless given another."""
    return datetime.now(UTC)


def stamp(moment: datetime | None) -> str | None:
    """A moment in a race: to the millisecond, with a Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def exact(moment: datetime) -> str:
    """A moment on a frame, a message or an HTTP header: to the microsecond, with an offset."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def duration(length: timedelta | None, *, fraction: bool = True) -> str | None:
    """An ISO 8601 duration such as `P0DT01H00M03.047053S`; settings of a race have no fraction."""
    if length is None:
        return None
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f".{length.microseconds:06d}" if fraction else ""
    return f"P{length.days}DT{hours:02d}H{minutes:02d}M{seconds:02d}{rest}S"


def parse_length(text: str) -> timedelta:
    """Read what `duration` writes.

    Raises:
        ValueError: not a duration.
    """
    return timedelta(microseconds=parse_duration(text))


def timer(length: timedelta, *, tenths: bool = False) -> str:
    """A finish time as chat says it: `1:00:03`, cut, or `1:00:03.7`, rounded."""
    if tenths:
        total = round(length / timedelta(milliseconds=100))
        seconds, tenth = divmod(total, 10)
        return f"{_clock(seconds)}.{tenth}"
    return _clock(length // _SECOND)


def _clock(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def ordinal(place: int | None) -> str | None:
    """1st, 2nd, 3rd, 4th … 11th."""
    if place is None:
        return None
    if place % 100 in (11, 12, 13):
        return f"{place}th"
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th') }"


def plain(text: str) -> str:
    """A system message without its `##style##…##` markup."""
    return _MARKUP.sub(r"\1", text)


def slugify(text: str) -> str:
    """The part of a name that may stand in an address; empty where nothing of it may."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
