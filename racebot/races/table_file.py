"""Reads races from a table, one line per entrant, for games that are not on racetime.gg.

docs/study.md shows an example, and lists the files, names of columns and forms of cells that are read. Lines
of one race need not be adjacent.
"""

from __future__ import annotations

import reprlib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TypeVar

from racebot.errors import PayloadError
from racebot.races import cells
from racebot.races.cells import BadCellError
from racebot.races.result import HIDDEN_NAME, MOST_ENTRANTS, Entrant, EntrantStatus, RaceResult
from racebot.races.table_rows import Row, readings
from racebot.text.parse import did_you_mean

REQUIRED = ("race", "player")
OUTCOMES = ("time", "place")
LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
MOST_LINES = 2_000_000
"""A million lines take about 250 MB."""
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
ATTEMPT_COLUMNS = {
    "player": (*COLUMNS["player"], "id", "user_id", "site id", "runner", "username"),
    "time": COLUMNS["time"],
    "status": ("status",),
    "proof": ("proof", "vod", "video", "link", "url"),
    "comment": ("comment", "comments", "note", "notes"),
}
IN_GAME_TIME = ("igt", "in_game_time", "in-game time", "ingame time")
ReaderT = TypeVar("ReaderT", bound="_Reader")
_FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""The end of the first race of a file without dates. Each further race ends a minute later."""


@dataclass(frozen=True, slots=True)
class TableRaces:
    """The races of a table in the order of their first lines, and notes on how it was read.

    `factors` has what players raced with (a character, a faction, a car), by race name and player.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Race:
    """A race whose lines are being read, with the number and the date of its first line."""

    number: int
    date: str
    timed: bool | None = None
    entrants: list[Entrant] = field(default_factory=list)


def read_table(
    path: Path, *, category: str, goal: str, columns: Mapping[str, str] | None = None
) -> TableRaces:
    """Read the races of a CSV, Excel or Parquet file and file them under a category, which may be empty.

    `columns` are the file's own names of columns, by ours.

    Raises:
        MissingExtraError: Excel and Parquet files need the extra `files`.
        PayloadError: a line cannot be read; the message names the file, the line, the column and the fix.
    """
    return _read(path, lambda notes: _Reader(path, COLUMNS, notes, category, goal), columns or {})[1]


def read_attempts(
    path: Path, find: Callable[[str], Entrant], columns: Mapping[str, str] | None = None, *, in_game: bool
) -> tuple[tuple[Entrant, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Read the results of an event, a line for each racer. Errors are those of `read_table`.

    `find` returns the player with an id or a name, or raises BadCellError. Return the results, the proof and
    the comment of each, and notes on how the file was read.
    """
    # A forfeit may stand in the column of real times alone.
    in_game_columns = {"time": IN_GAME_TIME, "status": (*ATTEMPT_COLUMNS["status"], *COLUMNS["time"])}
    known = ATTEMPT_COLUMNS | (in_game_columns if in_game else {})
    reader, read = _read(path, lambda notes: _Attempts(path, known, notes, _find=find), columns or {})
    return read.results[0].entrants, tuple(reader.remarks), read.notes


def _read(
    path: Path, reader: Callable[[list[str]], ReaderT], columns: Mapping[str, str]
) -> tuple[ReaderT, TableRaces]:
    try:
        for notes, rows in readings(path):
            try:
                made = reader(notes)
                return made, made.read(rows, columns)
            except UnicodeDecodeError:
                continue
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror or error}") from None
    raise PayloadError(f"{path}: not UTF-8, UTF-16 or Windows text: save it as UTF-8")


@dataclass
class _Reader:
    """Reads the rows of one table. Equal texts become one object, since a file may have millions."""

    _path: Path
    _known: Mapping[str, tuple[str, ...]]
    _notes: list[str]
    _category: str = ""
    _goal: str = ""
    _races: dict[str, _Race] = field(default_factory=dict)
    _factors: dict[tuple[str, str], str] = field(default_factory=dict)
    _words: Counter[tuple[str, str]] = field(default_factory=Counter)
    _other_dates: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _problem: tuple[int, str] | None = None
    _bad_lines: int = 0
    _once: bool = True
    """Whether a player has at most one line in a race."""
    _is_ours: bool = False
    """Whether it is a file of racebot, without the ids of hidden players and deleted accounts."""

    def read(self, rows: Iterator[Row], names: Mapping[str, str]) -> TableRaces:
        header = [cell.strip() for cell in next(rows, (1, []))[1]]
        positions, notes = _columns(self._path, header, names, self._known)
        self._is_ours = {"player", "name", "finish_time"}.issubset(header)
        for number, row in rows:
            texts = [text.strip() for text in row]
            if not any(texts):
                continue
            if number > MOST_LINES:
                raise PayloadError(f"{self._path}: more than {MOST_LINES:,} lines: split it in parts")
            try:
                if len(texts) > len(header):
                    problem = f"more cells than the {len(header)} columns: put quotes around separators"
                    raise BadCellError(str(len(header) + 1), problem)
                self._add(
                    number, {name: texts[at] if at < len(texts) else "" for name, at in positions.items()}
                )
            except BadCellError as error:
                self._refuse(number, error)
        results = self._results("ended_at" in positions)
        if self._problem is not None:
            more = self._bad_lines - 1
            lines_have = "line has a problem" if more == 1 else "lines have problems"
            raise PayloadError(self._problem[1] + (f" ({more} more {lines_have})" if more else ""))
        if not results:
            raise PayloadError(f"{self._path}: no races: add a line for each entrant below the column names")
        notes += self._notes
        if "ended_at" not in positions and "ended_at" in self._known:
            notes.append("no dates: the races count in the order of the file")
        if self._words:
            notes.append("read " + ", ".join(f"{n} × {w!r} as {m}" for (w, m), n in self._words.items()))
        return TableRaces(results, self._factors, tuple(notes))

    def _refuse(self, number: int, error: BadCellError) -> None:
        column, fix = error.args
        column = self._known.get(column, (column,))[0]
        problem = (number, f"{self._path}, line {number}, column {column}: {fix}")
        self._problem = min(self._problem or problem, problem)
        self._bad_lines += 1

    def _add(self, number: int, row: Mapping[str, str]) -> None:
        """Add the entrant of a line to a race, unless the player did not start."""
        entrant = self._entrant(row)
        if entrant is None:
            return
        name = f"{self._category}/{row['race']}" if self._category else row.get("race", "")
        date = row.get("ended_at", "")
        race = self._races.get(name) or self._races.setdefault(name, _Race(number, date))
        if date != race.date:
            self._other_dates[name].setdefault(date, number)
        if (
            self._once
            and entrant.user_id
            and any(entrant.user_id == other.user_id for other in race.entrants)
        ):
            problem = f"{reprlib.repr(entrant.name)} is already in this race: remove one of the lines"
            raise BadCellError("player", problem)
        if len(race.entrants) >= MOST_ENTRANTS:
            raise BadCellError("race", f"more than {MOST_ENTRANTS} entrants: split the race")
        if entrant.finished:
            timed = entrant.finish_time is not None
            if race.timed is (not timed):
                problem = "some finishers of this race have a time and some do not: fill in all or none"
                raise BadCellError("time", problem)
            race.timed = timed
        race.entrants.append(entrant)
        if factor := row.get("factor"):
            self._factors[name, entrant.name] = sys.intern(factor)

    def _entrant(self, row: Mapping[str, str]) -> Entrant | None:
        """Read an entrant, or return None for a player who did not start."""
        hidden = self._is_ours and not row["player"]
        for column, text in row.items():
            if column in REQUIRED and not text and not hidden:
                raise BadCellError(column, "empty: fill it in")
            if column not in OUTCOMES and len(text) > LONGEST_TEXT:
                raise BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
        player, name = (None, HIDDEN_NAME) if hidden else (sys.intern(row["player"]),) * 2
        team = sys.intern(row.get("team", "")) or None
        time, place = row.get("time", ""), row.get("place", "")
        outcomes = (place, time, row.get("status", ""))
        word = next((text for text in outcomes if text.lower() in cells.WORDS), None)
        if word is None and (time or place):
            finish_time = cells.microseconds(time) if time else None
            rank = cells.place(place) if place else None
            return Entrant(player, name, EntrantStatus.DONE, finish_time, rank, team)
        if word is None and "place" not in row:
            column, or_place = ("time or place", "a place, ") if "place" in self._known else ("time", "")
            raise BadCellError(column, f"empty: write a time such as 1:02:03.4, {or_place}or DNF")
        status = cells.WORDS.get((word or "").lower(), EntrantStatus.DNF)
        self._words[word or "", cells.MEANINGS[status]] += 1
        return None if status is None else Entrant(player, name, status, team=team)

    def _results(self, dated: bool) -> tuple[RaceResult, ...]:
        """Return the races. Only the dates of all of them show whether the month comes first."""
        dates = chain((race.date for race in self._races.values()), *self._other_dates.values())
        month_first = cells.month_comes_first(dates)
        results = []
        for index, name in enumerate(list(self._races)):
            race = self._races.pop(name)
            number, ended_at = race.number, _FIRST_DAY + timedelta(minutes=index)
            try:
                if dated:
                    ended_at = cells.moment(race.date, month_first)
                for date, number in self._other_dates.get(name, {}).items():  # noqa: B007 - of the error below
                    if cells.moment(date, month_first) != ended_at:
                        problem = "this race has another time above: use one for the whole race"
                        raise BadCellError("ended_at", problem)
            except BadCellError as error:
                self._refuse(number, error)
            entrants = tuple(race.entrants)
            results.append(RaceResult(name, self._category, self._goal, ended_at, entrants, recorded=True))
        return tuple(results)


@dataclass
class _Attempts(_Reader):
    """Reads the attempts of an event."""

    _find: Callable[[str], Entrant] = field(kw_only=True)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    _once: bool = False

    def _entrant(self, row: Mapping[str, str]) -> Entrant | None:
        read = super()._entrant(row)
        if read is None:
            return None
        if read.finish_time == 0:
            raise BadCellError("time", "zero: write the time, or DNF")
        proof, comment, found = row.get("proof", ""), row.get("comment", ""), self._find(row["player"])
        if proof and not proof.lower().startswith(("https://", "http://")):
            raise BadCellError("proof", f"{reprlib.repr(proof)} is no web address: begin it with https://")
        self.remarks.append((proof, comment))
        return replace(found, status=read.status, finish_time=read.finish_time)


def _columns(
    path: Path, header: list[str], names: Mapping[str, str], columns: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, int], list[str]]:
    """Return the position of each of our columns in the file, and notes about the others."""
    lower = [cell.lower() for cell in header]
    for index, cell in enumerate(lower):
        if cell and cell in lower[:index]:
            raise PayloadError(
                f"{path}, line 1, column {index + 1}: {header[index]!r} is repeated: remove it"
            )
    positions: dict[str, int] = {}
    for ours, known in columns.items():
        wanted = (names[ours].strip().lower(),) if ours in names else known
        position = next((lower.index(name) for name in wanted if name in lower), None)
        if position is not None:
            positions[ours] = position
    unused = [name for at, name in enumerate(header) if name and at not in positions.values()]
    missing = [name for name in (*REQUIRED, *names) if name in columns and name not in positions]
    if not missing and not set(OUTCOMES) & positions.keys():
        missing = ["place" if "place" in columns else "time"]
    if missing:
        hint = did_you_mean(names.get(missing[0], missing[0]), unused)
        found = ", ".join(map(reprlib.repr, filter(None, header))) or "nothing"
        fix = f"the first line has {found}: add it, or name yours with --columns {missing[0]}=NAME"
        column = names.get(missing[0], columns.get(missing[0], missing)[0])
        raise PayloadError(f"{path}: no column {column}{hint}; {fix}")
    renamed = [f"{ours}={header[at]}" for ours, at in positions.items() if lower[at] != ours]
    notes = [f"columns: {', '.join(renamed)}"] if renamed else []
    if unused:
        notes.append(f"columns not used: {', '.join(map(reprlib.repr, unused))}")
    return positions, notes
