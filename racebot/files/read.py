"""Reads the races of files: archives, JSON saved from the site, results of other programs, and tables."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from racebot.errors import PayloadError, SettingsError
from racebot.files import programs
from racebot.files.archive import is_archive, read_archive
from racebot.files.header import COLUMNS, plain
from racebot.files.layout import Table, recognized
from racebot.files.options import DEFAULT, Layout, ReadOptions, Twice, pairs, where_of, words_of
from racebot.files.rows import LARGEST_FILE, Rows, kind_of, tables, text_of, too_large
from racebot.files.table import Find, People, TableReader
from racebot.races.result import Entrant, RaceResult
from racebot.racetime.payload import parse_race
from racebot.text.format import counted
from racebot.text.parse import read_json

MOST_VALUES = 2_000_000
"""Most commas in a JSON document."""
MOST_FILES = 1_000
STANDARD_INPUT = "-"
ATTEMPT_COLUMNS = {
    "player": (*COLUMNS["player"], "id", "user id", "site id"),
    "time": COLUMNS["time"],
    "place": COLUMNS["place"],
    "status": COLUMNS["status"],
    "proof": ("proof", "vod", "video", "link", "url"),
    "comment": ("comment", "comments", "note", "notes"),
}
IN_GAME_TIME = ("igt", "in game time", "ingame time")


@dataclass(frozen=True, slots=True)
class RaceFiles:
    """The races of one or several files.

    Attributes:
        results: the races, in the order of the files.
        factors: what players raced with (a character, a faction, a car), by race name and player.
        notes: how the files were read, one line each.
        left_out: races without a result, counted by the reason.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]
    notes: tuple[str, ...]
    left_out: Mapping[str, int]


def read_races(
    *paths: Path, category: str = "", goal: str | None = None, options: ReadOptions = DEFAULT
) -> RaceFiles:
    """Read the races of files, and of all files in folders.

    Args:
        paths: files, folders, or `-` for standard input. Of several tables, the names of races begin with the
            names of their files.
        category: slug for the races of an archive or table.
        goal: the goal of an archive's or table's races, by default the file's name without its ending; for
            the site's own JSON, the one goal to keep, by default all.

    Raises:
        PayloadError: a file cannot be read; the message says what is wrong and where.
        MissingExtraError: Excel and Parquet files need the extra `files`.
    """
    files = [file for path in paths for file in _files(path)]
    people = People(exact=options.exact_names)
    results: list[RaceResult] = []
    factors: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    left_out: Counter[str] = Counter()
    with_places = without_first = 0
    like_scores = column = ""
    for path in files:
        with _regular(path) as file:
            known = goal or file.stem
            found = _races_or_table(file, options, left_out, category, known)
            if isinstance(found, list):
                named = [each for each in found if goal in {None, each.goal}]
                results += named
                if len(named) < len(found):
                    notes.append(f"{path.name}: {len(found) - len(named)} races of other goals")
                continue
            reader = TableReader(
                file,
                found,
                options,
                people,
                category=category,
                goal=known,
                prefix=file.stem if len(files) > 1 else "",
                first=len(results),
            )
            read = reader.read()
            with_places += read.with_places
            without_first += read.without_first
            if 2 * without_first > with_places:
                column = found.columns.get("place", "place")
                like_scores = f"{path}, column {column}: {counted(without_first, 'race')} without a place 1"
            results += read.results
            factors |= read.factors
            notes += [f"{path.name}: {note}" for note in read.notes]
    if 2 * without_first > with_places:
        fix = f"if more is better, add --columns score={column}; if less is, add --lowest-wins to it"
        raise PayloadError(f"{like_scores}: {fix}")
    if not results and left_out:
        reason, count = left_out.most_common(1)[0]
        raise PayloadError(f"{files[0]}: no result to read: {count} {reason}")
    if options.unrecorded:
        results = [replace(each, recorded=True) for each in results]
    return RaceFiles(tuple(results), factors, tuple(notes), left_out)


def options_of(
    *,
    columns: str | Mapping[str, str] | None = None,
    layout: str | None = None,
    words: str | None = None,
    where: str | None = None,
    twice: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options that texts say, as the commands take them.

    Raises:
        SettingsError: a text has another form, or names a column that is not ours.
    """
    form = f"OURS=YOURS, where OURS is one of {', '.join(dict.fromkeys([*COLUMNS, *ATTEMPT_COLUMNS]))}"
    given = pairs("--columns", columns, form) if isinstance(columns, str) else columns or {}
    names = {name: ours for ours, aliases in (COLUMNS | ATTEMPT_COLUMNS).items() for name in (*aliases, ours)}
    ours = {name: "cells" if name == "cells" else names.get(plain(name)) for name in given}
    if None in ours.values():
        raise SettingsError(f"--columns {columns}: write {form}")
    try:
        return ReadOptions(
            columns={str(ours[name]): theirs.strip() for name, theirs in given.items()},
            layout=(layout and Layout(layout)) or None,
            words=words_of(words),
            where=where_of(where),
            twice=(twice and Twice(twice)) or None,
            **others,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None


def read_attempts(
    path: Path, find: Find, options: ReadOptions = DEFAULT, *, in_game: bool
) -> tuple[tuple[Entrant, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Read the results of an event, a line for each racer. Errors are those of `read_races`.

    `find` returns the player with an id or a name, or raises BadCellError. Return the results, the proof and
    the comment of each, and notes on how the file was read.
    """
    # A forfeit may stand in the column of real times alone.
    in_game_columns = {"time": IN_GAME_TIME, "status": (*ATTEMPT_COLUMNS["status"], *COLUMNS["time"])}
    known = ATTEMPT_COLUMNS | (in_game_columns if in_game else {})
    options = replace(options, by_time=True)
    with _regular(path) as file:
        table = _races_or_table(file, options, Counter(), "", "", known)
        if isinstance(table, list):
            raise PayloadError(f"{path}: races of the site: add a race by its address, or a table of results")
        read = TableReader(file, table, options, People(exact=True), find=find).read()
    if len(read.results) > 1:
        raise PayloadError(
            f"{path}: {len(read.results)} races: an event's file has one, with a line for each racer"
        )
    return read.results[0].entrants, read.remarks, read.notes


def _files(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of the numbers in their names."""
    if not path.is_dir():
        return [path]

    def key(file: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", file.name)]

    found = sorted((file for file in path.iterdir() if file.is_file() and file.name[0] != "."), key=key)
    if not 0 < len(found) <= MOST_FILES:
        raise PayloadError(f"{path}: a folder with {len(found)} files: name one with 1 to {MOST_FILES:,}")
    return found


@contextmanager
def _regular(path: Path) -> Iterator[Path]:
    """Give a path that can be read twice: of a pipe or standard input, a copy."""
    if str(path) != STANDARD_INPUT and (path.is_file() or not path.exists()):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / (path.name if str(path) != STANDARD_INPUT else "stdin")
        try:
            with ExitStack() as stack:
                source = sys.stdin.buffer
                if str(path) != STANDARD_INPUT:
                    source = stack.enter_context(path.open("rb"))
                copy.write_bytes(content := source.read(LARGEST_FILE + 1))
            if len(content) > LARGEST_FILE:
                raise too_large(copy, LARGEST_FILE)
            yield copy
        except OSError as error:
            raise PayloadError(f"{path}: {error.strerror}") from None
        except PayloadError as error:
            raise PayloadError(str(error).replace(f"{folder}/", "")) from None


def _races_or_table(
    path: Path,
    options: ReadOptions,
    left_out: Counter[str],
    category: str,
    goal: str,
    known: Mapping[str, tuple[str, ...]] = COLUMNS,
) -> list[RaceResult] | Table:
    """Return the races of an archive or of the site's JSON, or else a table of entrants."""
    kind = kind_of(path)
    if kind not in {"json", "xml"}:
        return _recognized(path, tables(path, kind, options.sheet), options, known)
    text = text_of(path)
    try:
        if kind == "xml":
            form, records = "rFactor 2", programs.rfactor(text)
        else:
            document = _document(text)
            if is_archive(document):
                return read_archive(document, category=category, goal=goal)
            races = list(_site_races(document))
            if races and all(map(_is_of_site, races)):
                return _results(races, left_out)
            form, records = programs.records_of(document)
    except PayloadError as error:
        raise PayloadError(f"{path}: {error}") from None
    header = list(dict.fromkeys(key for record in records for key in record))
    rows = [header, *([_text(record.get(key)) for key in header] for record in records)]
    notes = [f"results of {form}"] if form else []
    return _recognized(path, iter([(notes, iter(enumerate(rows, start=1)))]), options, known)


def _recognized(
    path: Path, sheets: Iterator[Rows], options: ReadOptions, known: Mapping[str, tuple[str, ...]]
) -> Table:
    """Return the first sheet that has the columns."""
    refused = PayloadError(f"{path}: empty")
    for number, rows in enumerate(sheets):
        try:
            return recognized(path, rows, options, known)
        except PayloadError as error:
            refused = refused if number else error
    raise refused


def _document(text: str) -> Any:
    """Read JSON, or lines of JSON as a list."""
    first, _, rest = text.strip().partition("\n")
    if rest:
        with suppress(PayloadError):
            read_json(first)
            return [read_json(line, MOST_VALUES) for line in text.splitlines() if line.strip()]
    return read_json(text, MOST_VALUES)


def _site_races(document: Any) -> Iterator[Any]:
    """Yield the races in JSON saved from the site: a list page, several pages, one race, or a list."""
    if isinstance(document, list):
        for item in document:
            yield from _site_races(item) if isinstance(item, dict) else [item]
    elif isinstance(document, dict):
        yield from document["races"] if isinstance(document.get("races"), list) else [document]
    else:
        raise PayloadError("neither an archive nor races saved from the site")


def _is_of_site(race: Any) -> bool:
    """Return whether a document has the shape of a race of the site."""
    return isinstance(race, dict) and isinstance(race.get("status"), dict) and "name" in race


def _results(races: list[Any], left_out: Counter[str]) -> list[RaceResult]:
    lacking = sum("entrants" not in race for race in races)
    if lacking:
        raise PayloadError(
            f"{counted(lacking, 'race')} of this page without entrants: save it with ?show_entrants=true"
        )
    found = []
    for race in map(parse_race, races):
        if race.result is not None:
            found.append(race.result)
        else:
            left_out["cancelled" if race.status == "cancelled" else "not finished yet"] += 1
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
