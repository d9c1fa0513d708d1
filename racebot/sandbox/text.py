"""The site's formats for times, places and names."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from racebot.text.format import ordinal_ending
from racebot.text.parse import parse_duration

_SECOND = timedelta(seconds=1)
_MARKUP = re.compile(r"##\w+##(.*?)##")


def stamp(moment: datetime | None) -> str | None:
    """Format a time in a race, with milliseconds and a Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(length: timedelta | None) -> str | None:
    """Format an ISO 8601 duration, such as `P0DT01H00M03.047053S`. Whole seconds have no fraction."""
    if length is None:
        return None
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{length.microseconds:06d}" if length.microseconds else ""
    return f"P{length.days}DT{hours:02d}H{minutes:02d}M{seconds:02d}{fraction}S"


def parse_length(text: str) -> timedelta:
    """Parse a duration in the format of `duration`.

    Raises:
        ValueError: the text is not a duration.
    """
    return timedelta(microseconds=parse_duration(text))


def timer(length: timedelta, *, tenths: bool = False) -> str:
    """Format a finish time for chat: `1:00:03` (truncated), or `1:00:03.7` (rounded) with `tenths`."""
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
    """Format a place as an ordinal: 1st, 2nd, 3rd, 4th … 11th."""
    return None if place is None else f"{place}{ordinal_ending(place)}"


def without_markup(text: str) -> str:
    """Strip the `##style##…##` markup from a system message."""
    return _MARKUP.sub(r"\1", text)


def slugify(text: str) -> str:
    """Return a slug of a name: its URL-safe characters, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
