"""Recognizes what the rows of a table are, and turns each into lines, one for each entrant of each race.

Each of the first rows may have the names of columns: `Header` tells what these mean. Then layouts are tried
in their order, each a function that returns how it reads the rows below, or None if these have another shape.
Without any, rows with a player and a result are lines of entrants, about which `evidence` may ask. The first
row for which one succeeds is taken. If there is none, a refusal says what the best row lacks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, groupby, islice, product
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells, evidence
from racebot.files.games import Lines, in_order, two_players
from racebot.files.header import Header
from racebot.files.options import RESULTS, Layout, ReadOptions, by_columns, few, padded, plain, two_lines
from racebot.files.rows import MOST_COLUMNS, Row, Rows
from racebot.files.wide import players_of_races, races_of_players, wide
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

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
            if not (header.missing or header.is_data()) and (found := _lines(header)):
                notes += [f"{counted(above, 'line')} above the names of columns not used"] if above else []
                notes += ["names of columns in two lines"] if names is not row else []
                notes += _notes(number, header, found)
                notes += ["races named by the lines above them"] if titles else []
                left: Iterator[Row] = chain(body[found.skip :], lines)
                left = titles.below(left) if titles else left
                left = left if found.note else _filled_down(left, header, notes)
                return Grid(path, left, header, _where(header), found, notes, titles is not None)
        if above == 0 or len(header.at.keys() & _TELL) > len(best[1].at.keys() & _TELL):
            best = number, header
    raise _refusal(*best)


def _tops(start: Sequence[Row], options: ReadOptions) -> list[tuple[int, int]]:
    """Return which rows may have the names of columns, the first with a player and a result before others."""
    filled = [at for at, (_, row) in enumerate(start) if any(row)][:_LAST_HEADER]
    # A small table of facts may stand above the entrants.
    heads = ((at, Header(start[at][1], options)) for at in filled)
    first = next((at for at, header in heads if "player" in header.at and header.results()), 0)
    names = Counter(filter(None, start[first][1] if filled else ()))
    first -= max(names.values(), default=1) > 1  # below merged cells with those of races
    return sorted(enumerate(filled), key=lambda top: top[1] != first)


def _header(
    names: list[str], above: list[list[str]], body: Sequence[Row], options: ReadOptions, *, alike: bool
) -> tuple[Header, _Titles | None]:
    """Return the header of the rows below that --where chooses, and the titles if these name the races."""
    rows = [padded(row, len(names)) for _, row in body]
    header = Header(names, options, rows, alike)
    chosen = [(header.find(name), texts) for name, texts in options.where.items()]
    header.below = [row for row in rows if all(at is None or row[at].lower() in of for at, of in chosen)]
    titles = _Titles(header, names, above)
    with_titles = [row for _, row in titles.below(enumerate(header.below))]
    if titles.name_races(header, with_titles):
        return Header([*names, "race"], options, with_titles, alike), titles
    return header, None


def _is_heading(row: Sequence[str]) -> bool:
    """Return whether a row is a heading of Markdown."""
    return "".join(row).startswith("#")


class _Titles:
    """The lines between entrants with one cell, such as `Race 1` or `## Spa`, which may name the races below.

    `names` are those of columns, which may be repeated, and `above` the rows above them.
    """

    def __init__(self, header: Header, names: list[str], above: Iterable[list[str]]) -> None:
        self._names, self._player = names, header.at.get("player", (0,))[0]
        self._people = {row[self._player] for row in header.below if row.count("") < len(row) - 1}
        first = map(self._title, sorted(above, key=_is_heading)[::-1])
        self._first = next(filter(None, first), "")

    def _title(self, row: Sequence[str]) -> str:
        """Return the only cell of a row if it is no result, word or known player."""
        text = "".join(row)
        if row.count("") != len(row) - 1 or cells.is_result(text) or cells.outcome_of_title(text):
            return ""
        at_player = row.index(text) == self._player
        return "" if at_player and (self._player or text in self._people) else text.strip("#* ")

    def below(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows with the title above them behind the named columns, and without repeated names."""
        title, heading, width = self._first, False, len(self._names)
        for number, given in rows:
            row = padded(given, width)
            if own := self._title(row):  # a sentence below a heading is no title
                if not heading or _is_heading(row):
                    title, heading = own, _is_heading(row)
            elif row != self._names and any(row):
                heading = False
                yield number, [*row[:width], title, *row[width:]]

    def name_races(self, header: Header, rows: Sequence[list[str]]) -> bool:
        """Return whether titles, the last cells of `rows`, name races, or raise a PayloadError to ask."""
        repeated = self._names in header.below
        if "player" not in header.at or not header.results() or {"race", "ended_at"} & header.at.keys():
            return False
        if len({*header.result_columns} - header.used) > 1 and not repeated:
            return False
        blocks = defaultdict[str, list[dict[str, str]]](list)
        for row in rows:
            blocks[row[-1]].append(header.texts(row))
        if len(blocks) < 2 or "" in blocks:
            return False
        titles = Counter(title for title, _ in groupby(row[-1] for row in rows))
        for title in (title for title, times in titles.items() if times > 1):
            raise PayloadError(f"{title!r} stands above two races: rename one")
        firsts = {evidence.value("place", lines[0].get("place", "")) for lines in blocks.values()}
        people = Counter(name for lines in blocks.values() for name in {line["player"] for line in lines})
        if repeated or firsts == {1} or max(people.values()) > 1:
            return True
        fix = "If so, add a column race; if not, remove these lines"
        raise PayloadError(f"do {few([*blocks])} name the races below them? {fix}")


def _filled_down(rows: Iterator[Row], header: Header, notes: list[str]) -> Iterator[Row]:
    """Yield rows with the race and the date of merged cells, which only have them in their first row."""
    races, above, filled = header.at.get("race", ()), [""] * len(header.names), []
    keys = [at for at in races if at == races[0] or header.plain[at] != "heat"]
    keys += header.at.get("ended_at", ())
    for number, given in rows:
        row = padded(given, len(above))
        alone = row.count("") == len(row) - 1 and not any(row[at] for at in header.at.get("player", ()) if at)
        for n, at in enumerate(() if alone or not any(row) else keys):
            if not row[at] and above[at] and all(row[each] == above[each] for each in keys[:n]):
                row[at] = above[at]
                filled.append(number)
        above = row if keys and row[keys[0]] else above
        yield number, row
    if filled:
        lines = f"{counted(len({*filled}), 'line')} without a race or a date (the first is line {filled[0]})"
        notes.append(f"{lines}: those of the line above")


def _where(header: Header) -> dict[int, AbstractSet[str]]:
    """Return the texts that columns must have by --where."""
    where = {name: header.find(name) for name in header.options.where}
    if lacking := few([name for name, at in where.items() if at is None]):
        raise PayloadError(f"--where: no column {lacking}: there are {few(header.row, 20)}")
    return {at or 0: {*header.options.where[name]} for name, at in where.items()}


def _lines(header: Header) -> Lines | None:
    """Return how to turn the rows into lines, or None if the header has no names of columns."""
    layout = header.options.layout
    if layout is None:
        _ask_about_opponents(header)
    if layout in {Layout.PLAYERS, Layout.RACES}:
        return wide(header, "player" if layout is Layout.PLAYERS else "race")
    other = layout is None and not header.options.columns.keys() & {*RESULTS}
    for read in (two_players, in_order, races_of_players, players_of_races) if other else ():
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


def _refusal(number: int, header: Header) -> PayloadError:
    """Return an error that names all columns that a table lacks, and the forms that are wanted."""
    wanted, known = dict(header.missing), header.options.known
    results = [ours for ours in RESULTS if ours in known]
    if "player" not in header.at:
        wanted.setdefault("player", "player")
    if not header.results() and not {*RESULTS} & wanted.keys():
        wanted["place"] = " or ".join(known[ours][0] for ours in results)
    lacks = [
        f"no column {each}{did_you_mean(each.split(' or ')[0], header.free())}" for each in wanted.values()
    ]
    fix = f"name yours by {by_columns(**dict.fromkeys(wanted, 'NAME'))}" if wanted else ""
    if " or " in wanted.get("place", ""):
        others = [f"{ours}=" for ours in results[1:]]
        fix += f" (or {' or '.join(others)}, with --lowest-wins if less is better)"
    fix += f"{', or ' if fix else ''}write a line for each entrant, with race, player and place"
    if "race" in known and header.options.layout is None:
        fix += "; a column for each race or player needs --layout players or races, and a game of two"
        fix += " --columns player1=NAME,player2=NAME,result=NAME"
    if header.is_data():
        fix = "write the names of columns in a line above, such as date,player1,player2,result"
    names = [*filter(None, header.names)]
    if len(names) == 1 and " " in names[0]:
        fix = "separate columns by commas, semicolons or tabs, not spaces, below race,player,place"
    has = few(names, 20) or "nothing"
    return PayloadError(f"{' and '.join(lacks) or 'no results'}; line {number} has {has}: {fix}")
