"""Reads races from a CSV file, one line per entrant, for games that are not on racetime.gg.

The first line names the columns: `race`, `ended_at`, `player`, and `time` or `place`; `team` and `factor` are
optional. Lines of one race need not be adjacent. docs/study.md shows an example.
"""

from __future__ import annotations

import csv
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS, Entrant, EntrantStatus, RaceResult
from racebot.text.format import counted
from racebot.text.parse import YEARS, did_you_mean

REQUIRED = ("race", "ended_at", "player")
OUTCOMES = ("time", "place")
OPTIONAL = ("team", "factor")
LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
LONGEST_LINE = 10_000
"""Most characters in a line. A file without line breaks would otherwise be read as a whole."""
_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d{1,9})?)")
_UNFINISHED = {"dnf": EntrantStatus.DNF, "dq": EntrantStatus.DQ, "dsq": EntrantStatus.DQ}


@dataclass(frozen=True, slots=True)
class CsvRaces:
    """The races of a CSV file.

    Attributes:
        results: the races in the order of their first lines, all of them recorded.
        factors: each player's choice (a character, a faction, a car), by race name and player; only
            entries whose column `factor` is filled.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]


class _BadCellError(Exception):
    """A cell that cannot be read: its column and the fix."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(problem)
        self.column = column


@dataclass(frozen=True, slots=True)
class _Line:
    race: str
    ended_at: datetime
    entrant: Entrant
    factor: str


def read_csv(path: Path, *, category: str, goal: str) -> CsvRaces:
    """Read the races of a CSV file.

    Args:
        path: a UTF-8 file, comma-separated.
        category: slug to file the races under; empty if unknown.
        goal: the goal of all its races.

    Raises:
        PayloadError: a line cannot be read; the message names the file, the line, the column and the fix.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _races(path, _lines(path, file), category, goal)
    except UnicodeDecodeError:
        raise PayloadError(f"{path}: not UTF-8 text: save it as UTF-8") from None
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror}") from None


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise PayloadError(f"{path}: a line has more than {LONGEST_LINE} characters: save it as CSV")
        yield line


def _races(path: Path, text: Iterable[str], category: str, goal: str) -> CsvRaces:
    reader = csv.reader(text, strict=True)
    columns: list[str] = []
    lines: dict[str, list[_Line]] = {}
    factors: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not columns:
                columns = _columns(path, reader.line_num, row)
                continue
            try:
                line = _line(columns, row)
                name = f"{category}/{line.race}" if category else line.race
                others = lines.setdefault(name, [])
                _check_against(others, line)
            except _BadCellError as error:
                problems.append(f"{path}, line {reader.line_num}, column {error.column}: {error}")
                continue
            others.append(line)
            if line.factor:
                factors[name, line.entrant.name] = line.factor
    except csv.Error as error:
        problems.append(f"{path}, line {reader.line_num}: {error}: correct the quotation marks")
    if problems:
        more = counted(len(problems) - 1, "more line has a problem", "more lines have problems")
        raise PayloadError(problems[0] + (f" ({more})" if problems[1:] else ""))
    if not lines:
        raise PayloadError(f"{path}: no races: add a line for each entrant below the column names")
    results = (
        RaceResult(
            name=name,
            category=category,
            goal=goal,
            ended_at=entries[0].ended_at,
            entrants=tuple(line.entrant for line in entries),
            recorded=True,
        )
        for name, entries in lines.items()
    )
    return CsvRaces(tuple(results), factors)


def _columns(path: Path, number: int, row: list[str]) -> list[str]:
    columns = [cell.strip().lower() for cell in row]
    known = (*REQUIRED, *OUTCOMES, *OPTIONAL)
    missing = [name for name in REQUIRED if name not in columns]
    for index, name in enumerate(columns):
        if name not in known or name in columns[:index]:
            raise PayloadError(
                f"{path}, line {number}, column {index + 1}: {reprlib.repr(name)} is no column name, or is "
                f"repeated{did_you_mean(name, known)}: the columns are {', '.join(known)}"
            )
    if not missing and not set(OUTCOMES) & set(columns):
        missing = ["time (or place)"]
    if missing:
        raise PayloadError(f"{path}, line {number}: no column {missing[0]}: add it to the first line")
    return columns


def _line(columns: list[str], row: list[str]) -> _Line:
    if len(row) > len(columns):
        raise _BadCellError(
            str(len(columns) + 1), f"more cells than the {len(columns)} columns: put quotes around commas"
        )
    cells = dict.fromkeys((*REQUIRED, *OUTCOMES, *OPTIONAL), "")
    cells.update(zip(columns, (cell.strip() for cell in row), strict=False))
    for column in (*REQUIRED, *OPTIONAL):
        if column in REQUIRED and not cells[column]:
            raise _BadCellError(column, "empty: fill it in")
        if len(cells[column]) > LONGEST_TEXT:
            raise _BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
    status, time, place = _outcome(cells)
    player = cells["player"]
    entrant = Entrant(player, player, status, finish_time=time, place=place, team=cells["team"] or None)
    return _Line(cells["race"], _moment(cells["ended_at"]), entrant, cells["factor"])


def _outcome(cells: Mapping[str, str]) -> tuple[EntrantStatus, int | None, int | None]:
    time, place = cells["time"], cells["place"]
    for cell in (time, place):
        if cell.lower() in _UNFINISHED:
            return _UNFINISHED[cell.lower()], None, None
    if not time and not place:
        raise _BadCellError("time or place", "empty: write a time such as 1:02:03.4, a place, or DNF")
    return EntrantStatus.DONE, _microseconds(time) if time else None, _place(place) if place else None


def _microseconds(text: str) -> int:
    """Read `h:mm:ss`, `mm:ss` or seconds, with or without decimals."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise _BadCellError("time", f"{reprlib.repr(text)} is not a time: write 1:02:03.4, seconds, or DNF")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round(math.fsum([hours * 3600, minutes * 60, seconds]) * 1_000_000)


def _place(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not int(text):
        raise _BadCellError("place", f"{reprlib.repr(text)} is not a place: write 1, 2, 3 and so on, or DNF")
    return int(text)


def _moment(text: str) -> datetime:
    """Read a date or an ISO 8601 time; without an offset it is in UTC."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
        if moment.year in YEARS:
            return moment
    except (ValueError, OverflowError):
        pass
    raise _BadCellError(
        "ended_at", f"{reprlib.repr(text)} is not a date: write 2026-03-01 or 2026-03-01T20:15:00Z"
    )


def _check_against(others: list[_Line], line: _Line) -> None:
    """Refuse a line that contradicts the earlier lines of its race."""
    if not others:
        return
    if line.ended_at != others[0].ended_at:
        raise _BadCellError(
            "ended_at",
            f"race {reprlib.repr(line.race)} has another time above: use one for the whole race",
        )
    if any(line.entrant.user_id == other.entrant.user_id for other in others):
        raise _BadCellError(
            "player", f"{reprlib.repr(line.entrant.name)} is already in this race: remove one of the lines"
        )
    if len(others) >= MOST_ENTRANTS:
        raise _BadCellError("race", f"more than {MOST_ENTRANTS} entrants: split the race")
    finishers = [each.entrant for each in (*others, line) if each.entrant.finished]
    if len({each.finish_time is None for each in finishers}) > 1:
        raise _BadCellError(
            "time", "some finishers of this race have a time and some do not: fill in all or none"
        )
