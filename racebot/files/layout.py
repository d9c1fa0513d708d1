"""Recognizes what the rows of a table are, and turns them into one line for each entrant of each race.

A table may have a row for each entrant, a row for each race with a column for each player, a row for each
player with a column for each race, a row for each race of two players, or a row for each race with its
players in columns 1st, 2nd, 3rd.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells, expand
from racebot.files.expand import Expanded, Line
from racebot.files.header import COLUMNS, FLAGS, RESULTS, Header, few, plain
from racebot.files.options import Layout, ReadOptions
from racebot.files.rows import MOST_CELLS, MOST_LINES, Row, Rows
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

_LAST_HEADER = 15
"""Most rows in which the names of columns are looked for."""
_SAMPLE = 500
"""Number of rows by which a layout is recognized."""
_RACE_NAME = re.compile(r"(?:r|rd|race|round|heat|stage|game|match|week|event|q|qualifier|gp|leg)? ?\d+")
_TOTALS = frozenset(
    [
        "total",
        "sum",
        "average",
        "avg",
        "mean",
        "best",
        "worst",
        "wins",
        "podiums",
        "starts",
        "races",
        "grid",
        "laps",
        "lap",
        "gap",
        "no",
        "number",
        "bib",
        "car",
        "age",
        "diff",
        "behind",
        "kart",
        "points",
        "pts",
        "score",
        "place",
        "rank",
        "pos",
        "position",
        "start",
        "qualifying",
        "fastest",
        "category",
        "class",
    ]
)
"""First words of columns that are no race and no player in a wide table."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose layout is known.

    Attributes:
        lines: a line for each entrant of each race.
        columns: the file's own names of the columns that are used, by ours.
        notes: how it was read.
        unused: rows that do not count, by the reason; complete after the last line.
    """

    lines: Iterator[Line]
    columns: Mapping[str, str]
    notes: list[str]
    unused: Counter[str]


def recognized(
    path: Path, rows: Rows, options: ReadOptions, known: Mapping[str, tuple[str, ...]] = COLUMNS
) -> Table:
    """Return a table with a line for each entrant.

    Raises:
        PayloadError: the columns are not those of any layout; the message names all that is missing.
    """
    notes, lines = rows
    start = list(islice(lines, _SAMPLE))
    filled = [at for at, (_, row) in enumerate(start) if any(cell.strip() for cell in row)]
    given = {ours: theirs for ours, theirs in options.columns.items() if ours != "cells"}
    best = 1, Header([], known, given)
    for above, at in enumerate(filled[:_LAST_HEADER]):
        number, row = start[at]
        header = Header(row, known, given)
        below = [row for _, row in start[at + 1 :]]
        found = None if header.missing else _layout(path, header, below, options)
        if found is not None:
            notes = (
                [*notes, f"{counted(above, 'line')} above the names of columns not used"] if above else notes
            )
            _refuse_repeated(path, number, header)
            unused: Counter[str] = Counter()
            body = _wanted(path, header, chain(start[at + 1 :], lines), options, unused)
            return Table(found.lines(body), found.columns, notes + _notes(header, found), unused)
        if above == 0 or len(header.at) > len(best[1].at):
            best = number, header
    raise _refusal(path, *best, known)


def _layout(path: Path, header: Header, below: Sequence[list[str]], options: ReadOptions) -> Expanded | None:
    """Return how to expand rows below these names of columns, or None if they are none."""
    has_player, has_race = "player" in header.at, bool({"race", "ended_at"} & header.at.keys())
    if options.layout in {Layout.PLAYERS, Layout.RACES}:
        return _wide(path, header, options.layout, below, options)
    if options.layout is None:
        claimed = header.used()
        others = [at for at in _columns(header, below, options) if at not in claimed]
        if has_player and header.results() and not has_race and len(others) > 1:
            if all(_RACE_NAME.fullmatch(header.plain[at]) for at in others):
                return _wide(path, header, Layout.PLAYERS, below, options)
            names = few([header.names[at] for at in others], 3)
            raise PayloadError(
                f"{path}: one race, or a race in each of the columns {names}? Add --layout long for one "
                "race, or --layout players"
            )
        if pair := header.pair():
            return expand.two_players(header, pair, path.stem)
        if not has_player and (columns := header.in_order()):
            return expand.in_order(header, columns, path.stem)
        if has_player and not header.results() and len(others) > 1:
            return _wide(path, header, Layout.PLAYERS, below, options)
        if has_race and not has_player and len(_columns(header, below, options)) > 1:
            return _wide(path, header, Layout.RACES, below, options)
    return expand.one_entrant(header) if has_player and header.results() else None


def _columns(header: Header, below: Sequence[list[str]], options: ReadOptions) -> list[int]:
    """Return the columns that hold places, times, scores or words only, and that are no totals."""
    words = cells.WORDS.keys() | options.words.keys() | expand.ABSENT
    found = []
    # In a wide table, a column `place` or `points` is the standing after all races.
    keys = {
        at
        for ours, positions in header.at.items()
        if ours not in {*RESULTS, *FLAGS, "status"}
        for at in positions
    }
    for at, name in enumerate(header.plain):
        if name and name.split()[0] not in _TOTALS and at not in keys:
            # The first row below the names may have the dates of races.
            texts = {row[at].strip().lower() for row in below if at < len(row)}
            texts -= {text for row in below[:1] for text in row if expand.is_date(text)}
            if any(texts) and all(text in words or expand.is_result(text) for text in texts):
                found.append(at)
    return found


def _wide(
    path: Path, header: Header, layout: Layout, below: Sequence[list[str]], options: ReadOptions
) -> Expanded | None:
    dates: dict[int, str] = {}
    key = header.at.get("player" if layout is Layout.PLAYERS else "race", (0,))
    if layout is Layout.PLAYERS:
        dates = {at: name for at, name in enumerate(header.names) if expand.is_date(name)}
        if below and not any(below[0][at].strip() for at in key if at < len(below[0])):
            second = {at: text.strip() for at, text in enumerate(below[0]) if expand.is_date(text.strip())}
            dates, below = (second, below[1:]) if second else (dates, below)
    columns = [at for at in _columns(header, below, options) if at not in key]
    if not columns:
        return None
    kind = options.columns.get("cells") or _kind(path, columns, layout, below, options)
    if kind not in RESULTS:
        raise PayloadError(f"--columns cells={kind}: write cells=place, cells=time or cells=score")
    return expand.wide(header, layout, kind, columns, dates if set(columns) <= dates.keys() else {})


def _kind(
    path: Path, columns: Sequence[int], layout: Layout, below: Sequence[list[str]], options: ReadOptions
) -> str:
    """Return what the cells of a wide table hold, or ask."""
    words = cells.WORDS.keys() | options.words.keys() | expand.ABSENT
    lines = [[row[at].strip().lower() if at < len(row) else "" for at in columns] for row in below]
    races = lines if layout is Layout.RACES else list(zip(*lines, strict=True))
    found = [numbers for race in races if (numbers := [text for text in race if text not in words])]
    if any(":" in text for race in found for text in race):
        return "time"
    if 2 * sum(map(expand.are_places, found)) > len(found):
        return "place"
    raise PayloadError(
        f"{path}: the numbers are no places of races, whose best is 1: add --columns cells=score if more is "
        "better, with --lowest-wins if less is, or --columns cells=time for seconds"
    )


def _wanted(
    path: Path, header: Header, rows: Iterator[Row], options: ReadOptions, unused: Counter[str]
) -> Iterator[Row]:
    """Yield the rows that `--where` chooses, without empty ones.

    Raises:
        PayloadError: there are too many, or no such column.
    """
    where = [(header.find(name), name, frozenset(texts)) for name, texts in options.where.items()]
    for at, name, _ in where:
        if at is None:
            raise PayloadError(f"{path}: --where: no column {name!r}: there are {few(header.names, 20)}")
    count = 0
    for number, row in rows:
        if not any(cell and not cell.isspace() for cell in row):
            continue
        count += 1
        if count > MOST_LINES or count * len(row) > MOST_CELLS:
            most = f"{MOST_LINES:,} lines" if count > MOST_LINES else f"{MOST_CELLS:,} cells"
            raise PayloadError(f"{path}: more than {most}: split it into several files")
        if all(
            at is not None and at < len(row) and row[at].strip().lower() in texts for at, _, texts in where
        ):
            yield number, row
        else:
            unused["left out by --where"] += 1


def _refuse_repeated(path: Path, number: int, header: Header) -> None:
    for at in header.used():
        again = [other for other, name in enumerate(header.plain) if name == header.plain[at] and other > at]
        if again:
            where = f"{path}, line {number}, column {again[0] + 1}"
            raise PayloadError(f"{where}: {header.names[again[0]]!r} is repeated: remove it")


def _notes(header: Header, found: Expanded) -> list[str]:
    titles = {ours: title for ours, title in found.columns.items() if ours in header.at}
    renamed = [f"{ours}={title}" for ours, title in titles.items() if plain(title) != plain(ours)]
    used = found.used | {at for ours in titles for at in header.at[ours]}
    unused = [name for at, name in enumerate(header.names) if name and at not in used]
    return [
        *filter(None, [found.note]),
        *([f"columns: {', '.join(renamed)}"] if renamed else []),
        *([f"columns not used: {few(unused)}"] if unused else []),
    ]


def _refusal(path: Path, number: int, header: Header, known: Mapping[str, tuple[str, ...]]) -> PayloadError:
    """Return an error that names all that is missing."""
    wanted = dict(header.missing)
    if "player" not in header.at:
        wanted.setdefault("player", "player")
    if not header.results() and not set(RESULTS) & wanted.keys():
        wanted["place"] = " or ".join(known[name][0] for name in RESULTS if name in known)
    names = [name for name in header.names if name]
    free = [name for at, name in enumerate(header.names) if name and at not in header.used()]
    lacks = [f"no column {each}{did_you_mean(each.split(' or ')[0], free)}" for each in wanted.values()]
    fix = f"add it, or name yours with --columns {','.join(f'{ours}=NAME' for ours in wanted)}"
    wide = "; a column for each race or player needs --layout players or races" if "race" in known else ""
    has = few(names, 20) or "nothing"
    return PayloadError(
        f"{path}: {' and '.join(lacks) or 'no results'}; line {number} has {has}: {fix}{wide}"
    )
