"""What stands above rows: the titles of their races, and races and dates in merged cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.evidence import value
from racebot.files.header import Header
from racebot.files.options import few, padded
from racebot.files.rows import Row
from racebot.text.format import counted


def _is_heading(row: Sequence[str]) -> bool:
    """Return whether a row is a heading of Markdown."""
    return "".join(row).startswith("#")


class Titles:
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
        firsts = {value("place", lines[0].get("place", "")) for lines in blocks.values()}
        people = Counter(name for lines in blocks.values() for name in {line["player"] for line in lines})
        if repeated or firsts == {1} or max(people.values()) > 1:
            return True
        fix = "If so, add a column race; if not, remove these lines"
        raise PayloadError(f"do {few([*blocks])} name the races below them? {fix}")


def filled_down(rows: Iterator[Row], header: Header, notes: list[str]) -> Iterator[Row]:
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
