"""Wide tables: rows that are players or races, and columns of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from itertools import chain

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN, SIGNS
from racebot.files.evidence import are_places, strays
from racebot.files.games import Line, Lines
from racebot.files.header import Header
from racebot.files.options import RESULTS, by_columns, few, plain

At = Sequence[int]
"""Positions of columns."""


def races_of_players(header: Header) -> Lines | None:
    """Read rows that are a player, and columns that are races: `Driver, Spa, Imola`."""
    others = [at for at in header.result_columns if at not in header.used]
    players = [name for row in header.below if (name := header.texts(row).get("player"))]
    if "player" not in header.at or len({*players}) < len(players) or len(others) < 2:
        return None
    named, has_race = all(map(header.names_race, others)), {"race", "ended_at"} & header.at.keys()
    if has_race and (header.results() or not named):
        return None
    timed = any(":" in row[at].partition("(")[0] for row in header.below for at in others)
    if not named and (header.results() or timed):
        fix = "Add --layout long for one race, and --columns place=NAME or time=NAME if none is named so,"
        parts = few([header.names[at] for at in others], 3)
        raise PayloadError(f"one race, or a race in each of the columns {parts}? {fix} or --layout players")
    return wide(header, "player")


def players_of_races(header: Header) -> Lines | None:
    """Read rows that are a race, and columns that are players, with results: `Date, Ann, Bo`."""
    keys = {"race", "ended_at"} & header.at.keys()
    named = [tuple(header.texts(row, *keys).items()) for row in header.below if any(row)]
    if not keys or "player" in header.at or len({*named}) < len(named) or len(header.result_columns) < 2:
        return None
    return wide(header, "race")


def wide(header: Header, rows_are: str) -> Lines | None:
    """Read rows that are a `player` or a `race`, and columns of the other with results, or ask."""
    by_player, options = rows_are == "player", header.options
    if by_player:
        header.at.pop("race", None)
        key = header.at.setdefault("player", (*header.named(), 0)[:1])
    else:
        key = header.at.get("race") or header.at.get("ended_at") or (0,)
    columns = [at for at in header.result_columns if at not in key]
    if not columns:
        return None
    kind = options.columns.get("cells")
    if kind not in {None, *RESULTS}:
        raise PayloadError(f"--columns cells={kind}: write cells=place, cells=time or cells=score")
    _ask_about_dates(header, key, columns, by_player=by_player)
    unused = SIGNS["summaries"].union(map(plain, options.columns.get("unused", "").split("+"))) - {""}
    first = [*chain(*header.below[:1])]  # perhaps without a player, but the dates of races
    dated = by_player and any(map(cells.is_date, (*header.names, *first)))
    skip = int(dated and bool(first) and not any(first[at] for at in key))
    rows = [row for row in header.below[skip:] if unused.isdisjoint({plain(row[key[0]]), plain(row[0])})]
    kind = kind or _kind(header, columns, rows, by_player=by_player)
    for at in (at for at in range(columns[0], len(header.names)) if not header.names[at]):
        if any(map(cells.is_result, filter(None, header.column(at)))):
            raise PayloadError(f"column {at + 1} has results and no name: add its name")
    ends = tuple(f" {word}" for word in (*KNOWN["columns"][kind], *KNOWN["columns"]["race"], "finish", "r"))
    of_race = (header.names_race(at) or header.plain[at].endswith(ends) for at in columns)
    named = [n for n, own in enumerate(of_race) if own and by_player]
    doubts, sums = strays(kind, [[row[at] for row in rows] for at in columns], named, by_player=by_player)
    unsure = [header.names[columns[n]] for n in doubts]
    _ask_about_strays(header, unsure, [rows[n][key[0]] for n in sums], rows_are)
    return _lines(header, rows_are, kind, key, columns, unused, skip)


def _lines(
    header: Header, ours: str, kind: str, key: At, columns: At, unused: AbstractSet[str], skip: int
) -> Lines:
    """Return how to read the cells of columns, of which each has a line with the name of its row."""
    theirs = "player" if ours == "race" else "race"
    rows = (header.names, *header.below[:skip])
    dates = {at: text for row in rows for at, text in enumerate(row) if cells.is_date(text)}
    titles = {"race": "race", ours: "+".join(header.names[at] for at in key) or ours}
    dated = theirs == "race" and {*columns} <= dates.keys()
    titles |= {"ended_at": "date"} if dated else header.titles("ended_at") if ours == "race" else {}

    def lines(number: int, row: list[str]) -> Iterator[Line]:
        name = " ".join(row[at] for at in key).strip()
        if not unused.isdisjoint({plain(name), plain(row[0])}) or not (name or ours == "race"):
            return
        date = header.texts(row, "ended_at") if ours == "race" else {}
        for at in columns:
            if cells.told(row[at]).lower() not in ABSENT:
                line = {kind: row[at], ours: name or f"line {number}", theirs: header.names[at]} | date
                yield line | {"ended_at": dates[at]} if dated else line

    note = f"a column for each {theirs}, with {kind}s: {few([header.names[at] for at in columns])}"
    races = [header.names[at] for at in columns] if theirs == "race" else []
    return Lines(lines, titles, (*columns, *key), note, skip, races)


def _kind(header: Header, columns: At, below: Sequence[list[str]], *, by_player: bool) -> str:
    """Return what the cells of a wide table hold, or ask."""
    words = cells.NO_RESULT | header.options.words.keys()
    rows = [[cells.told(row[at]).lower() for at in columns] for row in below]
    races = zip(*rows, strict=True) if by_player else rows
    known = ([text for text in race if text not in words and cells.is_result(text)] for race in races)
    numbers = list(filter(None, known))
    placed = sum(map(are_places, numbers))
    if any(":" in text.partition("(")[0] for race in numbers for text in race):
        if placed:
            fix = "add --columns cells=time or cells=place, or place=NAME or time=NAME for one race"
            raise PayloadError(f"some columns have times and some places: {fix}")
        return "time"
    if 2 * placed > len(numbers):
        sums = [sum(map(int, row)) for row in rows if all(map(str.isdecimal, row))]
        if by_player and len({*sums}) > 2 and sums == sorted(sums, reverse=True):
            fix = "add --columns cells=score if these are points, or cells=place if places"
            raise PayloadError(f"lines from the highest sum to the lowest: {fix}")
        return "place"
    names = few([header.names[at] for at in columns], 3)
    fix = "cells=score if more is better, with --lowest-wins if less is, cells=time for seconds"
    one = f"or place={header.titles('place').get('place', 'NAME')} for one race"
    asked = f"results in {names}, but most are not ranked 1, 2, 3: add --columns cells=place"
    raise PayloadError(f"{asked}, {fix}, {one}")


def _ask_about_dates(header: Header, key: At, columns: At, *, by_player: bool) -> None:
    """Refuse dates, or names of races, in place of players."""
    names = [row[key[0]] for row in header.below] if by_player else [header.names[at] for at in columns]
    people = list(filter(None, names))
    races = (header.names_race(at) and not header.names[at].isdecimal() for at in columns)
    if people and all(map(cells.is_date, people) if by_player else races):
        fix = "races" if by_player else "players, and --columns player=NAME if it is not the first"
        raise PayloadError(f"players named {few(people, 3)}: add --layout {fix}")


def _ask_about_strays(header: Header, doubts: Sequence[str], sums: Sequence[str], rows_are: str) -> None:
    """Refuse columns, or else rows, that do not fit the others, unless `unused` says that all others do."""
    unused = header.options.columns.get("unused")  # with an empty name if all others fit
    parts, doubts = (unused or "").split("+"), doubts if unused is None else []
    unsure = [*doubts] or [*sums]
    if unsure and (unused is None or "" not in parts):
        other = "race" if rows_are == "player" else "player"
        what, left = other if doubts else rows_are, [*filter(None, parts)]
        leave, all_fit = (by_columns(unused="+".join(each)) for each in (left + unsure, [*left, ""]))
        asked = f"{few(unsure)} may be no {what}: add {leave}"
        raise PayloadError(f"{asked}, or add {all_fit} if each is a {what}")
