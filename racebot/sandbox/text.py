"""The site's formats for times, places and names."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from racebot.text.format import ordinal_ending
from racebot.text.parse import parse_duration

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
    whole = length.seconds
    fraction = f".{length.microseconds:06d}" if length.microseconds else ""
    return f"P{length.days}DT{whole // 3600:02d}H{whole // 60 % 60:02d}M{whole % 60:02d}{fraction}S"


def parse_length(text: str) -> timedelta:
    """Parse a duration in the format of `duration`, or raise a ValueError."""
    return timedelta(microseconds=parse_duration(text))


def timer(length: timedelta) -> str:
    """Format a finish time for chat, truncated: `1:00:03`."""
    seconds = length // timedelta(seconds=1)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def ordinal(place: int | None) -> str | None:
    """Format a place as an ordinal: 1st, 2nd, 3rd, 4th … 11th."""
    return None if place is None else f"{place}{ordinal_ending(place)}"


def without_markup(text: str) -> str:
    """Strip the `##style##…##` markup from a system message."""
    return _MARKUP.sub(r"\1", text)


def slugify(text: str) -> str:
    """Return a slug of a name: its URL-safe characters, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
