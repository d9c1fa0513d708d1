"""Recognizes what the rows of a table are, and turns each into lines, one for each entrant of each race.

Each of the first rows may have the names of columns: `Header` tells what these mean. Then layouts are tried
in their order, each a function that returns how it reads the rows below, or None if these have another shape.
Without any, rows with a player and a result are lines of entrants, about which `evidence` may ask. The first
row for which one succeeds is taken. If there is none, `guess` says what the best row lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, islice, product
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells, evidence
from racebot.files.games import Lines, in_order, two_players
from racebot.files.guess import refusal
from racebot.files.header import Header
from racebot.files.options import RESULTS, Layout, ReadOptions, few, padded, plain, two_lines
from racebot.files.rows import MOST_COLUMNS, Row, Rows
from racebot.files.titles import Titles, filled_down
from racebot.files.wide import (
    players_of_places,
    players_of_races,
    races_of_players,
    wide,
)
from racebot.text.format import counted

_LAST_HEADER, _SAMPLE = 15, 500
"""Most rows in which the names of columns are looked for, and rows by which a layout is recognized."""
_PAIRED = re.compile(r"\d{1,3}[wbs][10½=+-]", re.IGNORECASE)  # on lists of Swiss tournaments
_TELL = {"race", "player", *RESULTS}
"""Columns by which the line with the names of columns is told."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with a known layout, the texts that a row needs (`where`), and the names of its columns.

    If it is `titled`, the last column of rows is the title above them.
    """

    path: Path
    rows: Iterator[Row]
    header: Header
    where: Mapping[int, AbstractSet[str]]
    lines: Lines
    notes: list[str]
    titled: bool


def recognized(path: Path, rows: Rows, options: ReadOptions) -> Grid:
    """Return a table whose rows can be turned into lines, or raise a PayloadError that names all it lacks."""
    notes, lines = rows
    start = [*islice(lines, _SAMPLE)]
    try:
        return _recognized(path, notes, start, lines, options)
    except PayloadError as error:
        raise PayloadError(f"{path}{', ' if str(error).startswith('line ') else ': '}{error}") from None


def _recognized(
    path: Path, notes: list[str], start: list[Row], lines: Iterator[Row], options: ReadOptions
) -> Grid:
    for at, (number, row) in enumerate(start):
        if any(row[MOST_COLUMNS:]):
            raise PayloadError(f"line {number}: more than {MOST_COLUMNS:,} columns: remove some")
        start[at] = number, row[:MOST_COLUMNS]
    best = 1, Header([], options)
    for (above, at), known in product(_tops(start, options), (True, False)):
        number, row = start[at]
        for names in filter(None, (two_lines(row, *(row for _, row in start[at + 1 : at + 2])), row)):
            body = start[at + 1 + (names is not row) :]
            header, titles = _header(names, [row for _, row in start[:at]], body, options, alike=not known)
            if not header.missing and (found := _lines(header)):
                notes += [f"{counted(above, 'line')} above the names of columns not used"] if above else []
                notes += ["names of columns in two lines"] if names is not row else []
                notes += _notes(number, header, found)
                notes += ["races named by the lines above them"] if titles else []
                left: Iterator[Row] = chain(body[found.skip :], lines)
                left = titles.below(left) if titles else left
                left = left if found.note else filled_down(left, header, notes)
                return Grid(path, left, header, _where(header), found, notes, titles is not None)
        if above == 0 or len(header.at.keys() & _TELL) > len(best[1].at.keys() & _TELL):
            best = number, header
    raise refusal(*best)


def _tops(start: Sequence[Row], options: ReadOptions) -> list[tuple[int, int]]:
    """Return which rows may have the names of columns, the first with a player and a result before others."""
    filled = [at for at, (_, row) in enumerate(start) if any(row)][:_LAST_HEADER]
    # A small table of facts may stand above the entrants.
    heads = ((at, Header(start[at][1], options)) for at in filled)
    first = next((at for at, header in heads if "player" in header.at and header.results()), None)
    return sorted(enumerate(filled), key=lambda top: top[1] != first)


def _header(
    names: list[str], above: list[list[str]], body: Sequence[Row], options: ReadOptions, *, alike: bool
) -> tuple[Header, Titles | None]:
    """Return the header of the rows below that --where chooses, and the titles if these name the races."""
    rows = [padded(row, len(names)) for _, row in body]
    header = Header(names, options, rows, alike)
    chosen = [(header.find(name), texts) for name, texts in options.where.items()]
    header.below = [row for row in rows if all(at is None or row[at].lower() in of for at, of in chosen)]
    titles = Titles(header, names, above)
    with_titles = [row for _, row in titles.below(enumerate(header.below))]
    if titles.name_races(header, with_titles):
        return Header([*names, "race"], options, with_titles, alike), titles
    return header, None


def _where(header: Header) -> dict[int, AbstractSet[str]]:
    """Return the texts that columns must have by --where."""
    where = {name: header.find(name) for name in header.options.where}
    if lacking := few([name for name, at in where.items() if at is None]):
        raise PayloadError(f"--where: no column {lacking}: there are {few(header.row, 20)}")
    return {at or 0: {*header.options.where[name]} for name, at in where.items()}


_LAYOUTS = (
    two_players,
    in_order,
    players_of_places,
    races_of_players,
    players_of_races,
)
"""How rows may be read if they are no lines of entrants, tried in this order."""


def _lines(header: Header) -> Lines | None:
    """Return how to turn the rows into lines, or None if the header has no names of columns."""
    layout = header.options.layout
    if layout is None:
        _ask_about_opponents(header)
    if layout in {Layout.PLAYERS, Layout.RACES}:
        return wide(header, "player" if layout is Layout.PLAYERS else "race")
    other = layout is None and not header.options.columns.keys() & {*RESULTS}
    for read in _LAYOUTS if other else ():
        if found := read(header):
            return found
    if "player" in header.at and header.results():
        evidence.ask(header)
        return Lines(lambda _, row: [header.texts(row)], header.titles())
    return None


def _ask_about_opponents(header: Header) -> None:
    """Refuse lines and columns that are the same players, and cells with opponents, such as `3w1`."""
    people = {*header.column(header.at.get("player", (0,))[0])} & {*header.names} - {""}
    numbers = [at for at, name in enumerate(header.plain) if name.isdecimal()]
    own = (row[at] for row, at in zip(header.below, numbers, strict=False))
    crossed = len(header.below) == len(numbers) > 2 and not any(map(cells.is_result, own))
    crossed &= any(cells.is_result(row[at]) for row in header.below for at in numbers)
    named = len(people) > 2 and not any(map(cells.is_result, people))
    if named or crossed or len([*filter(_PAIRED.fullmatch, chain(*header.below))]) > 2:
        fix = "write a line for each game, with player1, player2 and result; --layout long for one race"
        raise PayloadError(f"players in lines and columns: {fix}")


def _notes(line: int, header: Header, found: Lines) -> Iterator[str]:
    """Yield notes on the layout and the columns, or raise a PayloadError for a name that is repeated."""
    titles = {ours: title for ours, title in found.columns.items() if ours in header.at}
    renamed = [f"{ours}={title}" for ours, title in titles.items() if plain(title) != plain(ours)]
    used = {*found.used, *(at for ours in titles for at in header.at[ours])}
    for at, name in enumerate(header.names):
        if header.names.index(name) in used - {at}:
            fix = "rename one, or put tables side by side below each other, with a title above each"
            raise PayloadError(f"line {line}, column {at + 1}: {name!r} is repeated: {fix}")
    unused = [name for at, name in enumerate(header.names) if name and at not in used]
    if found.note:
        yield found.note
    if renamed:
        yield f"columns: {', '.join(renamed)}"
    if unused:
        yield f"columns not used: {few(unused)}"
