"""Formats numbers and times for people, and values as JSON and CSV."""

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from typing import Any, get_type_hints

BESIDE = {"beside": True}  # what marks, in its JSON schema, a field of the type `Beside`


def signed(change: int) -> str:
    """Format a change of points with its sign: +12, −5, ±0."""
    return f"+{change}" if change > 0 else f"−{-change}" if change < 0 else "±0"


def integer(value: int) -> str:
    """Format a number with a minus sign, not a hyphen, if it is below zero, as in −5."""
    return str(value).replace("-", "−")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun: 1 race, 1,200 races. `many` is a plural that is not regular."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Count(int):
    """A number that chooses a word in a template: `{count:race|races}`."""

    def __format__(self, words: str) -> str:
        one, either, many = words.partition("|")
        return (one if self == 1 else many) if either else super().__format__(words)


def ordinal_ending(place: int) -> str:
    """Return the English ending of an ordinal, as in 1st, 2nd, 3rd, 11th and 22nd."""
    return "th" if place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")


def ordinal(place: int) -> str:
    return f"{place}{ordinal_ending(place)}"


def percentage(share: float, digits: int = 0) -> str:
    """Format a share as a percentage, without the sign. Only exact shares become 0 and 100."""
    shown = f"{100 * share:.{digits}f}"
    if 0.01 <= share <= 0.99:
        return shown
    step = 10.0**-digits
    if share > 0 and float(shown) == 0:
        return f"<{step:.{digits}f}"
    if share < 1 and float(shown) == 100:
        return f">{100 - step:.{digits}f}"
    return shown


def timer(length: float) -> str:
    """Format a finish time given in seconds, as in 1:02:03."""
    minutes, seconds = divmod(int(length), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def gap(seconds: float) -> str:
    """Format the gap between two finish times, as in +0:07 or +1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    return f"+{timer(seconds)}" if minutes >= 60 else f"+{minutes}:{rest:02d}"


def span(seconds: float) -> str:
    """Format a length of time in the largest unit of which it has two, as in 90 minutes."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(round(seconds / size), unit)
    return counted(round(seconds), "second")


def minute(moment: datetime) -> str:
    """Format a time to the minute, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def iso_duration(microseconds: int) -> str:
    """Format a finish time as an ISO 8601 duration, which `parse_duration` reads back exactly."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"P{hours // 24}DT{hours % 24:02d}H{minutes:02d}M{seconds:02d}.{fraction:06d}S"


def exact_time(moment: datetime) -> str:
    """Format a time in UTC as ISO 8601 with microseconds and offset. The texts sort by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def to_json(value: Any) -> str:
    """Format a value as indented JSON: dataclasses as objects, times as ISO 8601."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=_jsonable)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Sequence):
        return list(value)
    return value.isoformat() if isinstance(value, datetime) else as_record(value)


def as_record(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields by name. The fields of one of type `Beside` stand beside the others."""
    kind: type = type(value)
    found: dict[str, Any] = {}
    for name, is_beside in _layout(kind):
        if is_beside:
            found |= as_record(getattr(value, name))
        else:
            found[name] = getattr(value, name)
    return found


@cache
def _layout(kind: type) -> list[tuple[str, bool]]:
    hints = get_type_hints(kind, include_extras=True)
    marks = {each.name: getattr(hints[each.name], "__metadata__", ()) for each in fields(kind)}
    extras = {name: [getattr(mark, "json_schema_extra", None) for mark in of] for name, of in marks.items()}
    return [(name, BESIDE in own) for name, own in extras.items()]


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(field.name for field in fields(kind))


_NUMBERS = {int, float}
_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@])")


def cell(value: Any) -> Any:
    """Format a value for a CSV file.

    Text that a spreadsheet would run as a formula gets an apostrophe in front. Booleans become `true` and
    `false`, as in JSON.
    """
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else value


def without_apostrophe(text: str) -> str:
    """Return the text of which `cell` wrote this."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) else text


def rows_as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the text of a CSV file."""
    text = io.StringIO()
    shown = ([each if type(each) in _NUMBERS else cell(each) for each in row] for row in rows)
    csv.writer(text).writerows(chain([columns], shown))
    return text.getvalue()
