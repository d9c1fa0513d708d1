"""Reads races from a CSV file, one line per entrant, for games that are not on racetime.gg.

The first line names the columns: `race`, `player`, and `time` or `place`; `ended_at`, `team` and `factor` are
optional. Lines of one race need not be adjacent. docs/study.md shows an example, and lists the other names,
separators, encodings and forms of cells that are read.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS, Entrant, EntrantStatus, RaceResult
from racebot.text.parse import YEARS, did_you_mean, parse_duration

REQUIRED = ("race", "player")
OUTCOMES = ("time", "place")
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
LONGEST_LINE = 10_000
"""Most characters in a line. A file without line breaks would otherwise be read as a whole."""
_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d{1,9})?)")
_PLACE = re.compile(r"[=t]?\s*([0-9]{1,6})(?:\.0*)?(?:st|nd|rd|th)?=?", re.IGNORECASE)
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(.*)")
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(.*)")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)")
_UNIX = re.compile(r"\d{9,10}(?:\.\d+)?")
_WORDS: dict[str, EntrantStatus | None] = {
    **dict.fromkeys(("dnf", "ret", "retired", "nc", "forfeit", "-", "–"), EntrantStatus.DNF),
    **dict.fromkeys(("dq", "dsq", "disqualified"), EntrantStatus.DQ),
    **dict.fromkeys(("dns", "did not start"), None),
}
"""What a cell says in place of a time or a place, in lower case. None for a player who is no entrant."""
_MEANINGS = {EntrantStatus.DNF: "not finished", EntrantStatus.DQ: "disqualified", None: "not an entrant"}
COLUMNS = {
    "race": ("race", "game", "event", "match"),
    "ended_at": ("ended_at", "date", "day", "datetime"),
    "player": ("player", "name", "driver", "racer", "athlete"),
    "time": ("time", "finish_time"),
    "place": ("place", "position", "rank", "pos"),
    "team": ("team",),
    "factor": ("factor",),
}
"""Names of each column in lower case, the best first."""
_FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""The end of the first race of a file without dates. Each further race ends a minute later."""


@dataclass(frozen=True, slots=True)
class CsvRaces:
    """The races of a CSV file.

    Attributes:
        results: the races in the order of their first lines, all of them recorded.
        factors: each player's choice (a character, a faction, a car), by race name and player; only
            entries whose column `factor` is filled.
        notes: how the file was read where that was a choice, one line each.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]
    notes: tuple[str, ...]


class _BadCellError(Exception):
    """A cell that cannot be read: its column and the fix."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(problem)
        self.column = column


class _Line(NamedTuple):
    race: str
    ended_at: datetime | None
    entrant: Entrant
    factor: str


def read_csv(path: Path, *, category: str, goal: str, columns: Mapping[str, str] | None = None) -> CsvRaces:
    """Read the races of a CSV file.

    Args:
        path: text in UTF-8, UTF-16 or a Windows encoding, separated by commas, semicolons or tabs.
        category: slug to file the races under; empty if unknown.
        goal: the goal of all its races.
        columns: the file's own names of columns, by ours.

    Raises:
        PayloadError: a line cannot be read; the message names the file, the line, the column and the fix.
    """
    try:
        with path.open("rb") as file:
            marked = file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
        for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
            try:
                with path.open(encoding=encoding, newline="") as text:
                    found = _races(path, _lines(path, text), category, goal, columns or {})
            except UnicodeDecodeError:
                continue
            said = () if encoding == "utf-8-sig" else (f"read as {encoding}",)
            return replace(found, notes=(*said, *found.notes))
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror}") from None
    raise PayloadError(f"{path}: not UTF-8, UTF-16 or Windows text: save it as UTF-8")


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise PayloadError(f"{path}: a line has more than {LONGEST_LINE} characters: save it as CSV")
        yield line


def _races(path: Path, text: Iterator[str], category: str, goal: str, names: Mapping[str, str]) -> CsvRaces:
    header = next((line for line in text if line.strip()), "")
    separator = max(",;\t", key=header.count)
    reader = csv.reader(chain([header], text), strict=True, delimiter=separator)
    lines: dict[str, list[_Line]] = {}
    factors: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    said: Counter[tuple[str, str]] = Counter()
    positions: dict[str, int] = {}
    try:
        row = next(reader, [])
        positions, notes = _columns(path, [cell.strip() for cell in row], names)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise PayloadError(f"{path}, line {reader.line_num}: {error}: correct the quotation marks") from None
    dates = positions.get("ended_at", len(row))
    month_first = _month_first([cells[dates] for _, cells in rows if len(cells) > dates])
    for number, cells in rows:
        if not any(cells):
            continue
        try:
            if len(cells) > len(row):
                raise _BadCellError(
                    str(len(row) + 1), f"more cells than the {len(row)} columns: put quotes around separators"
                )
            values = {name: cells[at] if at < len(cells) else "" for name, at in positions.items()}
            line = _line(values, month_first, said)
            if line is None:
                continue
            name = f"{category}/{line.race}" if category else line.race
            others = lines.setdefault(name, [])
            _check_against(others, line)
        except _BadCellError as error:
            problems.append(f"{path}, line {number}, column {error.column}: {error}")
            continue
        others.append(line)
        if line.factor:
            factors[name, line.entrant.name] = line.factor
    if problems:
        more = len(problems) - 1
        lines_have = "line has a problem" if more == 1 else "lines have problems"
        raise PayloadError(problems[0] + (f" ({more} more {lines_have})" if more else ""))
    if not lines:
        raise PayloadError(f"{path}: no races: add a line for each entrant below the column names")
    if separator != ",":
        notes.append(f"separated by {'tabs' if separator == chr(9) else separator}")
    if dates == len(row):
        notes.append("no dates: the races count in the order of the file")
    if said:
        notes.append("read " + ", ".join(f"{n} × {w!r} as {m}" for (w, m), n in said.items()))
    results = (
        RaceResult(
            name=name,
            category=category,
            goal=goal,
            ended_at=entries[0].ended_at or _FIRST_DAY + timedelta(minutes=index),
            entrants=tuple(line.entrant for line in entries),
            recorded=True,
        )
        for index, (name, entries) in enumerate(lines.items())
    )
    return CsvRaces(tuple(results), factors, tuple(notes))


def _columns(path: Path, header: list[str], names: Mapping[str, str]) -> tuple[dict[str, int], list[str]]:
    """Return the position of each of our columns in the file, and notes about the others."""
    lower = [cell.lower() for cell in header]
    for index, cell in enumerate(lower):
        if cell in lower[:index]:
            raise PayloadError(
                f"{path}, line 1, column {index + 1}: {header[index]!r} is repeated: remove it"
            )
    positions: dict[str, int] = {}
    for ours, known in COLUMNS.items():
        wanted = (names[ours].strip().lower(),) if ours in names else known
        position = next((lower.index(name) for name in wanted if name in lower), None)
        if position is not None:
            positions[ours] = position
    missing = [name for name in (*REQUIRED, *names) if name not in positions]
    if not missing and not set(OUTCOMES) & positions.keys():
        missing = ["time (or place)"]
    if missing:
        hint = did_you_mean(names.get(missing[0], missing[0]), header)
        fix = f"add it, or name yours with --columns {missing[0]}=NAME"
        raise PayloadError(f"{path}, line 1: no column {missing[0]}{hint}: {fix}")
    notes = []
    renamed = [f"{ours}={header[at]}" for ours, at in positions.items() if lower[at] != ours]
    unused = [header[i] for i in range(len(header)) if i not in positions.values()]
    if renamed:
        notes.append(f"columns: {', '.join(renamed)}")
    if unused:
        notes.append(f"columns not used: {', '.join(map(reprlib.repr, unused))}")
    return positions, notes


def _line(cells: Mapping[str, str], month_first: bool | None, said: Counter[tuple[str, str]]) -> _Line | None:
    """Read an entrant, or return None for a player who did not start. Count words in `said`."""
    for column, text in cells.items():
        if column in REQUIRED and not text:
            raise _BadCellError(column, "empty: fill it in")
        if column not in OUTCOMES and len(text) > LONGEST_TEXT:
            raise _BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
    time, place = cells.get("time", ""), cells.get("place", "")
    word = next((cell for cell in (place, time) if cell.lower() in _WORDS), None)
    if word is None and not time and not place:
        if "place" not in cells:
            raise _BadCellError("time or place", "empty: write a time such as 1:02:03.4, a place, or DNF")
        word = ""
    status: EntrantStatus | None = EntrantStatus.DONE
    if word is not None:
        status = _WORDS.get(word.lower(), EntrantStatus.DNF)
        said[word, _MEANINGS[status]] += 1
    if status is None:
        return None
    finished = status is EntrantStatus.DONE
    player = cells["player"]
    entrant = Entrant(
        player,
        player,
        status,
        finish_time=_microseconds(time) if finished and time else None,
        place=_place(place) if finished and place else None,
        team=cells.get("team") or None,
    )
    ended_at = _moment(cells["ended_at"], month_first) if "ended_at" in cells else None
    return _Line(cells["race"], ended_at, entrant, cells.get("factor", ""))


def _microseconds(text: str) -> int:
    """Read `h:mm:ss`, `mm:ss` or seconds, with or without decimals, or an ISO 8601 duration."""
    match = _CLOCK.fullmatch(text.replace(",", "."))
    if match is None:
        try:
            return parse_duration(text if "D" in text.upper() else text.upper().replace("PT", "P0DT"))
        except ValueError:
            problem = f"{reprlib.repr(text)} is not a time: write 1:02:03.4, seconds, or DNF"
            raise _BadCellError("time", problem) from None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round(math.fsum([hours * 3600, minutes * 60, seconds]) * 1_000_000)


def _place(text: str) -> int:
    """Read `1`, `1.`, `1.0`, `1st`, `=3`, `3=` or `T3`."""
    match = _PLACE.fullmatch(text)
    if match is None or not int(match[1]):
        raise _BadCellError("place", f"{reprlib.repr(text)} is not a place: write 1, 2, 3 and so on, or DNF")
    return int(match[1])


def _month_first(dates: Iterable[str]) -> bool | None:
    """Return whether dates such as 9/8/2019 begin with the month; None if the file does not show it."""
    found = [match for date in dates if (match := _SLASHED.fullmatch(date))]
    first, second = (max((int(match[k]) for match in found), default=0) for k in (1, 2))
    return None if (first > 12) == (second > 12) else second > 12


def _moment(text: str, month_first: bool | None) -> datetime:
    """Read a date, an ISO 8601 time, or Unix seconds; without an offset it is in UTC."""
    iso = text
    if match := _SLASHED.fullmatch(text):
        if month_first is None:
            problem = f"{reprlib.repr(text)} may begin with the day or the month: write 2019-08-09"
            raise _BadCellError("ended_at", problem)
        first, second, year, rest = match.groups()
        month, day = (first, second) if month_first else (second, first)
        iso = f"{year}-{month:0>2}-{day:0>2}{rest}"
    elif match := _YEAR_FIRST.fullmatch(text):
        iso = f"{match[1]}-{match[2]:0>2}-{match[3]:0>2}{match[4]}"
    elif match := _DOTTED.fullmatch(text):
        iso = f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}{match[4]}"
    try:
        unix = _UNIX.fullmatch(text)
        moment = datetime.fromtimestamp(float(text), UTC) if unix else datetime.fromisoformat(iso)
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
            "ended_at", f"race {reprlib.repr(line.race)} has another time above: use one for the whole race"
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
