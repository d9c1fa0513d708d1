"""Turns the rows of each layout into lines, one for each entrant of each race."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from racebot.files import cells
from racebot.files.cells import BadCellError
from racebot.files.header import Header, few
from racebot.files.options import Layout
from racebot.files.rows import Row

Line = tuple[int, Mapping[str, str] | BadCellError]
"""The number of a row and its cells by our names of columns, or why it cannot be read."""
DRAWN = frozenset({"draw", "drawn", "tie", "tied", "½-½", "1/2-1/2", "0.5-0.5", "=", "d"})
TRUE = frozenset({"true", "t", "yes", "y", "1", "x", "1.0"})
ABSENT = cells.NOTHING | {"", "-", "–", "—"}
"""Cells of a wide table that say that a player was not in a race."""
_RACE = ("race", "ended_at")
_SCORES = ("{} score", "score {}", "score{}", "{} goals", "{} points")


@dataclass(frozen=True, slots=True)
class Expanded:
    """How to turn rows into lines.

    Attributes:
        lines: turns rows into lines.
        columns: the file's own names of the columns that are used, by ours.
        used: positions of further columns that are used.
        note: what the layout is, empty where a row is an entrant.
    """

    lines: Callable[[Iterator[Row]], Iterator[Line]]
    columns: Mapping[str, str]
    used: frozenset[int] = frozenset()
    note: str = ""


def one_entrant(header: Header) -> Expanded:
    """Expand rows that are lines already."""
    width = len(header.names)
    single = {ours: at[0] for ours, at in header.at.items() if len(at) == 1}
    several = header.at.keys() - single.keys()

    def lines(rows: Iterator[Row]) -> Iterator[Line]:
        for number, row in rows:
            texts = [cell.strip() for cell in row] + [""] * (width - len(row))
            if any(texts[width:]):
                problem = f"more cells than the {width} columns: put quotes around separators"
                yield number, BadCellError(str(width + 1), problem)
                continue
            line = {ours: texts[at] for ours, at in single.items()}
            yield number, line | header.texts(row, several) if several else line

    return Expanded(lines, {ours: header.title(ours) for ours in header.at})


def two_players(header: Header, pair: tuple[int, int], stem: str) -> Expanded:
    """Expand rows that are a race of two: a winner and a loser, or two players with a result."""
    won = header.plain[pair[0]] == "winner"
    own = [header.names[position] for position in pair]

    def first(*names: str) -> int | None:
        return next((at for name in names if (at := header.find(name)) is not None), None)

    winner, draw = first("winner"), first("draw", "drawn", "tie")
    scores = [
        first(*(form.format(name) for name in (each, number) for form in _SCORES))
        for each, number in zip(own, "12", strict=True)
    ]
    result = first("result", "score", "outcome")
    seen: Counter[str] = Counter()

    def places(texts: Sequence[str]) -> tuple[str, str]:
        if won:
            return ("1", "1") if draw is not None and texts[draw].lower() in TRUE | DRAWN else ("1", "2")
        if winner is not None:
            return _of_winner(texts[winner], texts[pair[0]], texts[pair[1]])
        if scores[0] is not None and scores[1] is not None:
            return _of_score(f"{texts[scores[0]]}:{texts[scores[1]]}")
        if result is not None:
            return _of_score(texts[result])
        raise BadCellError("result", "no column result, winner or draw: add one")

    def lines(rows: Iterator[Row]) -> Iterator[Line]:
        for number, row in rows:
            texts = [cell.strip() for cell in row] + [""] * (len(header.names) - len(row))
            line = header.texts(row, _RACE)
            name = line.get("race") or f"{stem}-{number:06}"
            seen[name] += 1
            line["race"] = name if seen[name] == 1 else f"{name} ({seen[name]})"
            try:
                both = places(texts)
            except BadCellError as error:
                yield number, error
                continue
            for player, rank in zip(pair, both, strict=True):
                yield number, {**line, "player": texts[player], "place": rank}

    used = frozenset(at for at in (*pair, *scores, winner, draw, result) if at is not None)
    columns = {"race": "race"} | {ours: header.title(ours) for ours in _RACE if ours in header.at}
    return Expanded(lines, columns, used, f"each line is a race of two, {own[0]!r} and {own[1]!r}")


def in_order(header: Header, columns: Sequence[int], stem: str) -> Expanded:
    """Expand rows that are a race, with its players in the order of their places."""

    def lines(rows: Iterator[Row]) -> Iterator[Line]:
        for number, row in rows:
            line = {"race": f"{stem}-{number:06}"} | header.texts(row, _RACE)
            for place, at in enumerate(columns, start=1):
                if at < len(row) and row[at].strip().lower() not in ABSENT:
                    yield number, {**line, "player": row[at].strip(), "place": str(place)}

    first, last = header.names[columns[0]], header.names[columns[-1]]
    note = f"each line is a race, its players in order from {first!r} to {last!r}"
    titles = {ours: header.title(ours) for ours in _RACE if ours in header.at}
    return Expanded(lines, {"race": "race", **titles}, frozenset(columns), note)


def wide(
    header: Header, layout: Layout, kind: str, columns: Sequence[int], dates: Mapping[int, str]
) -> Expanded:
    """Expand rows that are a race with a column for each player, or a player with one for each race.

    `kind` is what the cells are: `place`, `time` or `score`. `dates` has the dates of a player's columns.
    """
    by_player = layout is Layout.PLAYERS
    ours = "player" if by_player else "race"
    key = header.at.get(ours) or (() if by_player else header.at.get("ended_at")) or (0,)
    when = None if by_player else header.at.get("ended_at")

    def lines(rows: Iterator[Row]) -> Iterator[Line]:
        for number, row in rows:
            name = " ".join(row[at].strip() for at in key if at < len(row)).strip()
            if by_player and not name:
                continue  # the line of dates
            for at in columns:
                text = row[at].strip() if at < len(row) else ""
                if text.lower() in ABSENT:
                    continue
                line = {kind: text, ours: name or f"line {number}"}
                line["race" if by_player else "player"] = header.names[at]
                if by_player and dates:
                    line["ended_at"] = dates[at]
                elif when:
                    line["ended_at"] = row[when[0]].strip()
                yield number, line

    each = "race" if by_player else "player"
    titles = {"race": "race", ours: "+".join(header.names[at] for at in key) or ours}
    titles |= {"ended_at": header.title("ended_at") if when else "date"} if when or dates else {}
    note = f"a column for each {each}, with {kind}s: {few([header.names[at] for at in columns])}"
    return Expanded(lines, titles, frozenset((*columns, *key)), note)


def is_result(text: str) -> bool:
    """Return whether a text is a place, a number, a time or a gap."""
    for read in (cells.place, cells.number, cells.microseconds, cells.gap):
        try:
            if read(text) is not None:
                return True
        except BadCellError:
            continue
    return False


def is_date(text: str) -> bool:
    """Return whether a text is a date, beginning with the day or the month."""
    for month_first in (True, False):
        try:
            cells.moment(text, month_first)
        except BadCellError:
            continue
        return re.search(r"\d[/.\- ]\w|\w \d", text) is not None
    return False


def are_places(texts: Sequence[str]) -> bool:
    """Return whether the numbers of a race can be places: the best is 1, and they have few gaps."""
    try:
        places = sorted(map(cells.place, texts))
    except BadCellError:
        return False
    return places[0] == 1 and places[-1] <= 1.5 * len(places) + 1


def _of_winner(winner: str, one: str, two: str) -> tuple[str, str]:
    text = winner.casefold()
    if text in DRAWN:
        return "1", "1"
    if text in {one.casefold(), "1", "player1", "player 1", "a", "white", "home"}:
        return "1", "2"
    if text in {two.casefold(), "2", "player2", "player 2", "b", "black", "away"}:
        return "2", "1"
    raise BadCellError("winner", f"{reprlib.repr(winner)} is neither of the players, nor draw")


def _of_score(text: str) -> tuple[str, str]:
    """Return the places for `1-0`, `½-½` or `3:2`, or for the first player's `win`, `draw` or `1`."""
    lower = text.lower().replace(" ", "")
    if lower in DRAWN | {"0.5", "½"}:
        return "1", "1"
    if lower in {"win", "won", "w", "1", "1.0"}:
        return "1", "2"
    if lower in {"loss", "lost", "lose", "l", "0", "0.0"}:
        return "2", "1"
    try:
        one, two = map(float, re.split(r"[-–:]", lower.replace("½", ".5")))
    except ValueError:
        problem = f"{reprlib.repr(text)} is no result of two players: write 1-0, 0-1 or ½-½"
        raise BadCellError("result", problem) from None
    return ("1", "1") if one == two else ("1", "2") if one > two else ("2", "1")
