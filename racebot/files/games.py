"""Turns rows with several players into lines: games of two, and races with their players in order."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN, SIGNS, UNPLAYED, BadCellError
from racebot.files.options import Header, plain
from racebot.files.rows import Row

_SCORES = [form.replace("score", word) for word in KNOWN["scores"] for form in KNOWN["scores_of"]]
_FIRST, _SECOND, _EQUAL = ("1", "2"), ("2", "1"), ("1", "1")
_DRAWN = dict.fromkeys(SIGNS["drawn"], _EQUAL)
_RESULTS = _DRAWN | dict.fromkeys(SIGNS["first_won"], _FIRST) | dict.fromkeys(SIGNS["second_won"], _SECOND)
_WINNERS = dict.fromkeys(SIGNS["first_player"], _FIRST) | dict.fromkeys(SIGNS["second_player"], _SECOND)
Line = Mapping[str, str]
"""The cells of an entrant's line by our names of columns."""


@dataclass(frozen=True, slots=True)
class Lines:
    """How to turn a row, given its number and its cells, into lines.

    `columns` are the file's own names of those used, by ours, and `used` the positions of further ones. The
    `note` says what the layout is, empty where a row is an entrant. `skip` rows belong to the names above.
    `races` are in the order of their columns.
    """

    of: Callable[[int, list[str]], Iterable[Line]]
    columns: Mapping[str, str]
    used: Iterable[int] = ()
    note: str = ""
    skip: int = 0
    races: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """A table whose layout is known.

    `where` has the texts that a row needs, by the column's position. If it is `titled`, the last column of
    rows is the title above them.
    """

    path: Path
    rows: Iterator[Row]
    header: list[str]
    where: Mapping[int, Iterable[str]]
    lines: Lines
    notes: list[str]
    titled: bool


def two_players(header: Header, pair: tuple[int, int], stem: str) -> Lines:
    """Read rows that are a race of two: a winner and a loser, or two players with a result."""
    names = [header.names[at] for at in pair]
    twins = [at for at, name in enumerate(header.plain) if name in KNOWN["scores"]]
    for number, at in enumerate(twins if len(twins) == 2 else (), start=1):
        header.plain[at] = f"score {number}"
    winner, draw = header.find("winner", "winner name", "gewinner"), header.find("draw", "drawn", "tie")
    forfeit = header.find("forfeit", "walkover", "wo", "w o", "forfait")
    result = header.at.get("result", (header.find(*KNOWN["of_two"]),))
    sides = [plain(name).removesuffix(" name").removesuffix("team").strip() for name in names]
    scores = [
        header.find(*(form.format(name) for name in each for form in _SCORES))
        for each in zip(names, sides, (side.split()[-1] for side in sides), "12", strict=True)
    ]
    results = _RESULTS | ({"h": _FIRST, "a": _SECOND} if sides == ["home", "away"] else {})
    by_score = None not in scores and "result" not in header.at
    told = [at for at in (scores if by_score else result) if at is not None]
    seen, draws = Counter[str](), SIGNS["true"] | SIGNS["drawn"]

    def places(row: Sequence[str]) -> tuple[str, str] | None:
        """Return the places of the two, or None if they did not play."""
        walkover = any(row[at].lower().replace(" ", "") in SIGNS["walkover"] for at in told)
        walkover |= forfeit is not None and row[forfeit].lower() in SIGNS["true"] | SIGNS["walkover"]
        if walkover or any(cells.is_nobody(row[at]) for at in pair):
            return None
        if winner == pair[0]:
            return _EQUAL if draw is not None and row[draw].lower() in draws else _FIRST
        if winner is not None and not cells.is_nobody(row[winner]):
            one, two = (row[at].casefold() for at in pair)
            won = _DRAWN | _WINNERS | {names[0].casefold(): _FIRST, names[1].casefold(): _SECOND}
            won |= {two: _SECOND, one: _FIRST}
            if row[winner].casefold() not in won:
                name = reprlib.repr(row[winner])
                raise BadCellError("winner", f"{name} is neither of the players, nor draw")
            return won[row[winner].casefold()]
        if told and not any(row[at].lower() in UNPLAYED for at in told):
            return _of_score(":".join(row[at] for at in told), results)
        if not told and winner is None:
            raise BadCellError("result", "no column result or winner: add one, or --columns result=ONE+TWO")
        return None

    def lines(number: int, row: list[str]) -> Iterator[Line]:
        if (found := places(row)) is None:
            return
        line = _named(header, row, f"{stem}-{number:06}", seen)
        for at, place in zip(pair, found, strict=True):
            yield line | {"player": row[at], "place": place}

    used = [at for at in (*pair, *scores, *result, winner, draw, forfeit) if at is not None]
    columns = {"race": "race"} | header.titles("race", "ended_at")
    return Lines(lines, columns, used, f"each line is a race of two, {names[0]!r} and {names[1]!r}")


def _named(header: Header, row: Sequence[str], name: str, seen: Counter[str]) -> dict[str, str]:
    """Return the race and date of a row that is a race of its own: those of one name are numbered."""
    line = header.texts(row, "race", "ended_at")
    race = line.get("race") or name
    seen[race] += 1
    return line | {"race": race if seen[race] == 1 else f"{race} ({seen[race]})"}


def _of_score(text: str, known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return the places for `1-0`, `½-½` or `3:2`, or for a known word such as `win` of the first player."""
    lower = text.lower().replace(" ", "")
    if lower in known:
        return known[lower]
    try:
        one, two = map(float, re.split(r"[-‐-―−:]", lower.replace("½", ".5")))
    except ValueError:
        problem = f"{reprlib.repr(text)} is no result of two players: write 1-0, 0-1 or ½-½"
        raise BadCellError("result", problem) from None
    return _EQUAL if one == two else _FIRST if one > two else _SECOND


def in_order(header: Header, columns: Sequence[int], stem: str, below: Sequence[list[str]]) -> Lines:
    """Read rows that are a race, with its players in the order of their places; a column `DNF` names others.

    `Ann / Cy` are two who share a place if one of them has another to herself, and otherwise a team's name.
    """
    alone, seen = {row[at] for row in below for at in columns}, Counter[str]()
    out = [(at, word) for at, word in enumerate(header.plain) if word in cells.OUTCOMES]

    def lines(number: int, row: list[str]) -> Iterator[Line]:
        line, shared = _named(header, row, f"{stem}-{number:06}", seen), 0
        for place, at in enumerate(columns, start=1):
            names = re.split(r"\s*/\s*|\s[&+=]\s", row[at])
            names = names if len(names) > 1 and not alone.isdisjoint(names) else [row[at]]
            for each in names:
                if not cells.is_nobody(each):
                    player, word = cells.with_word(each)
                    yield line | {"player": player, "place": word or str(place + shared)}
            shared += len(names) - 1
        for each, word in ((each, word) for at, word in out for each in re.split(r"\s*[,;/]\s*", row[at])):
            if each.lower() not in ABSENT and not cells.is_result(each):
                yield line | {"player": each, "place": word}

    first, last = header.names[columns[0]], header.names[columns[-1]]
    titles = {"race": "race"} | header.titles("race", "ended_at")
    note = f"each line is a race, its players in order from {first!r} to {last!r}"
    return Lines(lines, titles, (*columns, *(at for at, _ in out)), note)
