"""Reads the races of files: archives, JSON saved from the site, results of other programs, and tables."""

from __future__ import annotations

import csv
import re
import reprlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from racebot.errors import PayloadError
from racebot.files.cells import PlayerNames
from racebot.files.documents import read_document, read_exported
from racebot.files.entrants import Find
from racebot.files.layout import Grid, recognized
from racebot.files.nested import Record
from racebot.files.options import ATTEMPTS, DEFAULT, ReadOptions, few
from racebot.files.ranking import DOUBTS, SURE
from racebot.files.rows import File, Rows, visible
from racebot.files.table import FIRST_DAY, TableReader
from racebot.races.result import Entrant, RaceResult
from racebot.text.format import counted, timer

MOST_FILES = 1_000


@dataclass(frozen=True, slots=True)
class RaceFiles:
    """The races of files in order, notes on how they were read, and how many have no result, by reason.

    `factors` are what players raced with (a character, a faction, a car), by race name and player.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]
    notes: tuple[str, ...]
    left_out: Mapping[str, int]


def read_races(*paths: Path | File, options: ReadOptions = DEFAULT, **given: Any) -> RaceFiles:
    """Read the races of files, and of all files in folders.

    Args:
        paths: files, folders, or `-` for standard input. The names of several begin those of their races.
        given: what differs from `options`, such as `category` and `goal`.

    Raise a PayloadError if a file cannot be read, which says where, and a MissingExtraError without the extra
    `files` of Excel.
    """
    options = replace(options, **given)
    files = [file for path in paths for file in (_files(path) if isinstance(path, Path) else [path])]
    opened = (each if isinstance(each, File) else File.open(each) for each in files)
    reading = _Reading(options, PlayerNames(exact=options.exact_names))
    for file, several in _sheets(opened, options, reading.notes, len(files) > 1):
        reading.add(file, several=several)
    reading.ask()
    results, left_out = reading.results, reading.left_out
    if not results and left_out:
        reason, times = left_out.most_common(1)[0]
        raise PayloadError(f"{reading.path}: no result to read: {times} {reason}")
    if options.unrecorded:
        results = [replace(each, recorded=True) for each in results]
    of_tables = sorted(reading.of_tables, key=lambda race: race.ended_at)
    ends = zip(("first", "last"), (of_tables[:1], of_tables[1:][-1:]), strict=True)
    shown = [f"{end} race: {_as_read(race)}" for end, races in ends for race in races]
    notes = (*reading.notes, *reading.people.notes(), *shown)
    return RaceFiles(tuple(results), reading.factors, notes, left_out)


@dataclass(slots=True)
class _Reading:
    """The races of the files that are read so far, those `of_tables`, and the first table with each doubt."""

    options: ReadOptions
    people: PlayerNames
    path: Path = Path()
    results: list[RaceResult] = field(default_factory=list)
    of_tables: list[RaceResult] = field(default_factory=list)
    factors: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    tables: dict[str, Grid] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    ended: defaultdict[datetime, Iterator[int]] = field(default_factory=lambda: defaultdict(count))

    def add(self, file: File, *, several: bool) -> None:
        """Read a file, whose name begins those of its races if there are `several`."""
        self.path, goal = file.path, self.options.goal
        found = _races_or_table(file, self.options, self.left_out)
        if isinstance(found, list):
            named = [each for each in found if goal in {None, each.goal}]
            self.results += named
            if len(named) < len(found):
                self.notes.append(f"{file.path.name}: {len(found) - len(named)} races of other goals")
            return
        self.columns = found.lines.columns
        prefix = file.path.stem if several and "recorded" not in self.columns else ""
        first = len(self.results)
        reader = TableReader(found, self.options, self.people, self.ended, prefix=prefix, first=first)
        self.results += (read := reader.read())
        self.of_tables += read
        self.factors |= reader.factors
        self.notes += [f"{file.path.name}: {note}" for note in reader.notes]
        doubts = reader.ranking.doubts
        if "race" not in self.columns and len(read) > 1:
            doubts["one entrant a race"] += sum(len(each.entrants) == 1 for each in read)
        self.doubts += doubts
        self.tables = dict.fromkeys(+doubts, found) | self.tables

    def ask(self) -> None:
        """Raise a PayloadError if results most likely mean another thing, unless options say how."""
        told, lowest_wins = self.options.columns.keys(), self.options.lowest_wins
        if 0 < self.doubts["races"] <= 2 * self.doubts["without a first"]:
            place, races = self.columns.get("place", "place"), counted(self.doubts["without a first"], "race")
            fix = f"if more is better, add --columns score={place}; if less is, add --lowest-wins to it"
            fix += "; if these are parts of one race, join files, or add --columns race="
            raise PayloadError(f"{self.path}, column {place}: {races} without a place 1: {fix}")
        for what, (ours, answer, form) in DOUBTS.items():
            column, own = self.columns.get(ours, ours), ours if ours in self.columns else "cells"
            often = self.doubts[what] > (0 if what in SURE else self.doubts["races"] / 2)
            if often and not told & {ours, answer} and not (lowest_wins and ours == "score"):
                table = self.tables[what]
                fix = form.format(column, by_race=table.header.by_race())
                raise PayloadError(f"{table.path}, column {column}: {what}: {fix}; if not, {own}={column}")


def _sheets(
    files: Iterable[File], options: ReadOptions, notes: list[str], several: bool
) -> Iterator[tuple[File, bool]]:
    """Yield the files, or their sheets with the same columns, and whether these are one of several."""
    for file in files:
        sheets = file.split() if options.sheet is None else [file]
        if sheets[1:]:
            names = [sheet.path.stem for sheet in sheets]
            notes.append(f"{file.path.name}: read the sheets {few(names)}: --sheet NAME reads one")
        yield from ((sheet, several or bool(sheets[1:])) for sheet in sheets)


def _as_read(race: RaceResult) -> str:
    """Return a race as it was read: `'Spa', 2026-05-03: Ann > Bo = Cy > … > Di; not finished: Ed`."""
    finishers = sorted((each for each in race.entrants if each.finished), key=_rank)
    order = _few([_few(map(_short, each), " = ") for _, each in groupby(finishers, key=_rank)], " > ")
    out = _few((_short(each) for each in race.entrants if not each.finished), ", ")
    others = f"; not finished: {out}" if out else ""
    day = "" if race.ended_at.date() == FIRST_DAY.date() else f", {race.ended_at:%Y-%m-%d}"
    return f"{reprlib.repr(race.name)}{day}: {order or 'nobody finished'}{others}"


def _rank(entrant: Entrant) -> tuple[int, int]:
    return entrant.place or 0, entrant.finish_time or 0


def _few(given: Iterable[str], sign: str) -> str:
    texts = [*given]
    return sign.join(texts if len(texts) < 6 else [*texts[:4], "…", texts[-1]])


def _short(entrant: Entrant) -> str:
    name = entrant.name if len(entrant.name) < 25 else f"{entrant.name[:23]}…"
    return name if entrant.seconds is None else f"{name} {timer(entrant.seconds)}"


def read_attempts(
    path: Path, find: Find, options: ReadOptions = DEFAULT
) -> tuple[tuple[Entrant, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return an event's results, the proof and comment of each, and notes. Errors are those of `read_races`.

    `find` returns the player with an id or a name, or raises BadCellError.
    """
    options = replace(options, by_time=True, known=ATTEMPTS)
    table = _races_or_table(File.open(path), options, Counter())
    if isinstance(table, list):
        raise PayloadError(f"{path}: races of the site: add a race by its address, or a table of results")
    reader = TableReader(table, options, PlayerNames(exact=True), defaultdict(count), find=find)
    results = reader.read()
    if len(results) > 1:
        raise PayloadError(f"{path}: {len(results)} races: choose that of the event by --where COLUMN=RACE")
    return results[0].entrants, tuple(reader.remarks), tuple(reader.notes)


def _files(path: Path) -> list[Path]:
    """Return a file, or those of a folder in the order of the numbers in their names."""
    if not path.is_dir():
        return [path]
    found = [file for file in path.iterdir() if file.is_file() and file.name[0] != "."]
    found.sort(key=lambda file: re.sub(r"\d+", lambda number: number[0].zfill(20), file.name))
    if not 0 < len(found) <= MOST_FILES:
        raise PayloadError(f"{path}: a folder with {len(found)} files: name one with 1 to {MOST_FILES:,}")
    return found


def _races_or_table(file: File, options: ReadOptions, left_out: Counter[str]) -> list[RaceResult] | Grid:
    """Return the races of an archive or of the site's JSON, or else a table of entrants."""
    found: list[RaceResult] | tuple[list[str], list[Record]] | None = None
    if file.kind not in {"sheet", "json", "text"}:
        fix = "open it in a spreadsheet and save CSV, or write CSV or JSON with race, player and place"
        fix += ", or for games with white, black and result"
        raise PayloadError(f"{file.path}: {file.kind} is not read: {fix}")
    try:
        if file.kind == "text":
            found = read_exported(file.lines(), left_out)
        elif file.kind == "json":
            parts = any("part" in name.split("+") for name in (*options.where, *options.columns.values()))
            found = read_document(visible(file.text().read()), left_out, parts=parts)
    except (ValueError, csv.Error, PayloadError) as error:
        raise PayloadError(f"{file.path}: {error}") from None
    if found is None:
        return _first_recognized(file, file.tables(options.sheet), options)
    if isinstance(found, list):
        return found
    notes, records = found
    header = list(dict.fromkeys(key for record in records for key in record))
    values = ([record.get(key) for key in header] for record in records)
    rows = chain([header], ([str("" if each is None else each).strip() for each in row] for row in values))
    return _first_recognized(file, iter([(notes, iter(enumerate(rows, start=1)))]), options)


def _first_recognized(file: File, sheets: Iterator[Rows], options: ReadOptions) -> Grid:
    refused = []
    for rows in sheets:
        try:
            return recognized(file.path, rows, options)
        except PayloadError as error:
            refused.append(str(error))
    more = f"; --sheet NAME reads another of {len(refused)} sheets" if refused[1:] else ""
    raise PayloadError("".join(refused[:1]) + more if refused else f"{file.path}: empty")
