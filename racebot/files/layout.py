"""Recognizes what the rows of a table are, and turns each into lines, one for each entrant of each race."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, product
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells, evidence
from racebot.files.cells import ABSENT, KNOWN, SIGNS
from racebot.files.games import Grid, Line, Lines, in_order, in_pairs, two_players
from racebot.files.guess import ask_about_repeated_players, refusal
from racebot.files.options import (
    RESULTS,
    TOTAL,
    Header,
    Layout,
    ReadOptions,
    few,
    may_be_name,
    padded,
    plain,
    two_lines,
)
from racebot.files.rows import MOST_COLUMNS, Row, Rows
from racebot.text.format import counted

_LAST_HEADER, _SAMPLE = 15, 500
"""Most rows in which the names of columns are looked for, and rows by which a layout is recognized."""
Rest = Sequence[list[str]]
Entrants = Callable[[Iterable[Row]], Iterator[Row]]
_PAIRED = re.compile(r"\d{1,3}[wbs][10½=+-]", re.IGNORECASE)  # on lists of Swiss tournaments
_TELL = {"race", "player", *RESULTS}
"""Columns by which the line with the names of columns is told."""


def recognized(path: Path, rows: Rows, options: ReadOptions) -> Grid:
    """Return a table whose rows can be turned into lines, or raise a PayloadError that names all it lacks."""
    notes, lines = rows
    start = list(islice(lines, _SAMPLE))
    for at, (number, row) in enumerate(start):
        if any(row[MOST_COLUMNS:]):
            raise PayloadError(f"{path}, line {number}: more than {MOST_COLUMNS:,} columns: remove some")
        start[at] = number, row[:MOST_COLUMNS]
    filled = [at for at, (_, row) in enumerate(start) if any(row)]
    best = 1, Header([], options), list[list[str]]()
    # A small table of facts may stand above the entrants.
    heads = ((at, Header(start[at][1], options)) for at in filled[:_LAST_HEADER])
    first = next((at for at, header in heads if "player" in header.at and header.results()), None)
    tops = sorted(enumerate(filled[:_LAST_HEADER]), key=lambda top: top[1] != first)
    for (above, at), known in product(tops, (True, False)):
        number, row = start[at]
        for names in filter(None, (two_lines(row, *(row for _, row in start[at + 1 : at + 2])), row)):
            skipped = at + 1 + (names is not row)
            before, below = ([row for _, row in rows] for rows in (start[:at], start[skipped:]))
            header, sample, titled = _head(path, names, before, below, options, alike=not known)
            found = None if header.missing else _Recognizer(path, header, sample, options).lines()
            if found is not None:
                notes += [f"{counted(above, 'line')} above the names of columns not used"] if above else []
                notes += ["names of columns in two lines"] if names is not row else []
                notes += _notes(f"{path}, line {number}", header, found, sample)
                notes += ["races named by the lines above them"] if titled else []
                body: Iterator[Row] = chain(start[skipped + found.skip :], lines)
                body = titled(body) if titled else body
                body = body if found.note else _filled_down(body, header, notes)
                own = [*names, *header.names[len(names) :]]
                if lacking := few([name for name in options.where if header.find(name) is None]):
                    raise PayloadError(f"{path}: --where: no column {lacking}: there are {few(own, 20)}")
                where = {header.find(name) or 0: texts for name, texts in options.where.items()}
                return Grid(path, body, own, where, found, notes, titled is not None, header, sample)
        if above == 0 or len(header.at.keys() & _TELL) > len(best[1].at.keys() & _TELL):
            best = number, header, sample
    raise refusal(path, *best, options)


def _is_heading(row: Sequence[str]) -> bool:
    """Return whether a row is a heading of Markdown."""
    return "".join(row).startswith("#")


def _head(
    path: Path, names: list[str], above: Rest, below: Rest, options: ReadOptions, *, alike: bool
) -> tuple[Header, list[list[str]], Entrants | None]:
    """Return names of columns, the chosen rows below, and how to name rows by titles above their races."""
    rows = [padded(row, len(names)) for row in below]
    header = Header(names, options, rows, alike)
    chosen = [(header.find(name), texts) for name, texts in options.where.items()]
    rows = [row for row in rows if all(at is None or row[at].lower() in of for at, of in chosen)]
    title_of = partial(evidence.title_of, below=rows, player=header.at.get("player", (0,))[0])
    first = next(filter(None, map(title_of, sorted(above, key=_is_heading)[::-1])), "")

    def entrants(rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows with the title above them, and without repeated names."""
        title, heading, width = first, False, len(names)
        for number, given in rows:
            row = padded(given, width)
            if own := title_of(row):  # a sentence below a heading is no title
                if not heading or _is_heading(row):
                    title, heading = own, _is_heading(row)
            elif row != names and any(row):
                heading = False
                yield number, [*row[:width], title, *row[width:]]

    with_titles = [row for _, row in entrants(enumerate(rows))]
    results = {*_Recognizer(path, header, rows, options).results()} - header.used
    repeated = names in rows
    if (len(results) < 2 or repeated) and evidence.are_titles(path, header, with_titles, repeated):
        return Header([*names, "race"], options, with_titles, alike), with_titles, entrants
    return header, rows, None


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


@dataclass(frozen=True, slots=True)
class _Recognizer:
    path: Path
    header: Header
    below: Sequence[list[str]]
    options: ReadOptions

    def lines(self) -> Lines | None:
        """Return how to turn the rows into lines, or None if the line has no names of columns."""
        header, layout = self.header, self.options.layout
        has_player, has_race = "player" in header.at, bool({"race", "ended_at"} & header.at.keys())
        columns = self.results()
        if layout is None and self._have_opponents():
            fix = "write a line for each game, with player1, player2 and result; --layout long for one race"
            raise PayloadError(f"{self.path}: players in lines and columns: {fix}")
        if layout in {Layout.PLAYERS, Layout.RACES}:
            return self._wide(layout is Layout.PLAYERS, columns)
        if layout is None and not self.options.columns.keys() & set(RESULTS):
            others = [at for at in columns if at not in header.used]
            players = [name for row in self.below if (name := header.texts(row).get("player"))]
            once = len({*players}) == len(players)
            alone = has_player and not has_race and once
            if alone and len(others) > 1 and (header.results() or header.has_parts(others, self.below)):
                if all(map(header.names_race, others)):
                    return self._wide(True, columns)
                fix = "Add --layout long for one race, and --columns place=NAME or time=NAME if none is"
                fix += " named so, or --layout players"
                names = few([header.names[at] for at in others], 3)
                raise PayloadError(f"{self.path}: one race, or a race in each of the columns {names}? {fix}")
            if pair := header.pair():
                return two_players(header, pair, self.path.stem, self.below)
            if not has_player and (found := in_pairs(header, self.path.stem, self.below)):
                return found
            counts = header.titles("player").get("player", "").lower() in {"", "players", "participants"}
            ordered = header.in_order() if counts else []
            if any(row[at] and not row[at].isdecimal() for row in self.below for at in ordered):
                if "lap" in header.plain:
                    fix = "keep the last line, or rename Lap"
                    raise PayloadError(f"{self.path}: places after each lap: {fix}")
                return in_order(header, ordered, self.path.stem, self.below)
            rest = [at for at, name in enumerate(header.names) if name and at not in header.used]
            by_place = header.results() == ["place"] and not has_player and rest
            if by_place and all(map(header.names_race, rest)):
                return self._wide(True, rest, of="players")
            alike = not has_race or all(map(header.names_race, others))
            if has_player and not header.results() and len(others) > 1 and alike and once:
                return self._wide(True, columns)
            named = [tuple(header.texts(row, "race", "ended_at").items()) for row in self.below if any(row)]
            differ = len(set(named)) == len(named)  # as where a row is a race
            texts = {at: {row[at].lower() for row in self.below} - ABSENT for at in rest}
            won = [at for at in rest if texts[at] and texts[at] <= cells.WON.keys()]
            won = [at for at in won if may_be_name(header.names[at])]
            if won[1:] and not has_player and differ and cells.say_who_won(chain(*(texts[at] for at in won))):
                return self._wide(False, won, of="wins")
            if has_race and not has_player and len(columns) > 1 and differ:
                return self._wide(False, columns)
        if has_player and header.results():
            self._ask()
            return Lines(lambda _, row: [header.texts(row)], header.titles())
        return None

    def _have_opponents(self) -> bool:
        """Return whether lines and columns are the same players, or cells are opponents with the result."""
        header = self.header
        people = {row[header.at.get("player", (0,))[0]] for row in self.below} & {*header.names} - {""}
        numbers = [at for at, name in enumerate(header.plain) if name.isdecimal()]
        own = (row[at] for row, at in zip(self.below, numbers, strict=False))
        crossed = len(self.below) == len(numbers) > 2 and not any(map(cells.is_result, own))
        crossed &= any(cells.is_result(row[at]) for row in self.below for at in numbers)
        named = len(people) > 2 and not any(map(cells.is_result, people))
        return named or crossed or len([*filter(_PAIRED.fullmatch, chain(*self.below))]) > 2

    def _ask(self) -> None:
        """Refuse lines of entrants that may be read in two ways, unless options say how."""
        path, header, below, told = self.path, self.header, self.below, self.options.columns
        if self.options.twice is None and "list" not in header.at and "proof" not in self.options.known:
            ask_about_repeated_players(path, header, below)
        if header.results() == ["time"]:
            evidence.ask_about_times(path, header, below, "time" in told)
        if "place" not in header.at and "race" not in told:
            evidence.ask_about_groups(path, header, below)
        if "place" not in told:
            evidence.ask_about_places(path, header, below)
        if "status" not in told:
            evidence.ask_about_words(path, header, below)

    def results(self) -> list[int]:
        """Return the columns that hold places, times, scores or words only, and that are no totals."""
        words, found = cells.NO_RESULT | self.options.words.keys(), list[int]()
        # In a wide table, a column `place` or `points` is the standing after all races.
        standing = {*RESULTS, *cells.OUTCOMES, "status"}
        keys = {at for ours, each in self.header.at.items() if ours not in standing for at in each}
        named = (*RESULTS, "status", *(["race"] if "race" in self.header.at else []))
        totals = {name for ours in named for name in KNOWN["columns"][ours]}
        # The first row below the names may have the dates of races.
        dates = {text for row in self.below[:1] for text in row if cells.is_date(text)}
        for at, name in enumerate(self.header.plain):
            if name and at not in keys and name not in totals and not TOTAL.fullmatch(name):
                texts = {cells.told(row[at]).lower() for row in self.below} - dates
                results = sum(map(cells.is_result, texts - words))
                # One unknown word among the results of a race is an error, and no reason to leave it out.
                if any(texts) and (texts <= words or 2 * results >= len(texts - words) > 0):
                    found.append(at)
        return found

    def _wide(self, by_player: bool, columns: Sequence[int], *, of: str = "") -> Lines | None:
        """Read rows that are a race, a player, or a place, and columns of others, `of` results or players."""
        header, below, of_players, won = self.header, self.below, of == "players", of == "wins"
        if by_player:
            header.at.pop("race", None)
        ours, theirs = ("player", "race") if by_player else ("race", "player")
        ours = "place" if of_players else ours
        key = header.at.get(ours) or (() if by_player else header.at.get("ended_at")) or (0,)
        if by_player and not of_players and ours not in header.at:
            header.at[ours] = key = (*header.named(below), 0)[:1]
        if not (columns := [at for at in columns if at not in key]):
            return None
        told = self.options.columns.get("cells")
        if told not in {None, *RESULTS}:
            raise PayloadError(f"--columns cells={told}: write cells=place, cells=time or cells=score")
        given = columns
        if by_player:
            told, columns = self._of_each(columns, "player" if of_players else told)
        names = [row[key[0]] for row in below] if by_player else [header.names[at] for at in columns]
        people = list(filter(None, names))
        races = (header.names_race(at) and not header.names[at].isdecimal() for at in columns)
        if people and all(map(cells.is_date, people) if by_player else races):
            fix = "races" if by_player else "players, and --columns player=NAME if it is not the first"
            raise PayloadError(f"{self.path}: players named {few(people, 3)}: add --layout {fix}")
        titles = {"race": "race", ours: "+".join(header.names[at] for at in key) or ours}
        dates = {at: text for at, text in enumerate(header.names) if cells.is_date(text)}
        if by_player:
            if below and not any(below[0][at] for at in key):
                second = {at: text for at, text in enumerate(below[0]) if cells.is_date(text)}
                dates, below = second or dates, below[1:] if second or dates else below
        else:
            titles |= header.titles("ended_at")
        unused = self.options.columns.get("unused")  # with an empty name if all others fit
        parts = (unused or "").split("+")
        out = SIGNS["summaries"].union(map(plain, parts)) - {""}
        rows = [row for row in below if out.isdisjoint({plain(row[key[0]]), plain(row[0])})]
        kind = "place" if won else told or self._kind(by_player, columns, rows)
        for at in (at for at in range(columns[0], len(header.names)) if not header.names[at]):
            if any(cells.is_result(row[at]) for row in below if row[at]):
                raise PayloadError(f"{self.path}: column {at + 1} has results and no name: add its name")
        if not (of_players or won):
            named = [at for at in columns if by_player and (header.names_race(at) or columns is not given)]
            texts = {at: [row[at] for row in rows] for at in columns}
            doubts, sums = evidence.strays(kind, texts, named, by_player=by_player)
            doubts = doubts if unused is None else []
            unsure = [header.names[at] for at in doubts] or [rows[n][key[0]] for n in sums]
            if unsure and (unused is None or "" not in parts):
                what, left = theirs if doubts else ours, [*filter(None, parts)]
                leave, all_fit = ("+".join(each) for each in (left + unsure, [*left, ""]))
                fix = f"add --columns {cells.quoted(f'unused={leave}')}"
                fix += f", or add --columns {cells.quoted(f'unused={all_fit}')} if each is a {what}"
                raise PayloadError(f"{self.path}: {few(unsure)} may be no {what}: {fix}")
        titles |= {"ended_at": "date"} if by_player and {*columns} <= dates.keys() else {}
        if len(columns) < 2 and not (of_players or self.options.layout or "cells" in self.options.columns):
            return None  # the time of a lap, say, and no race

        def lines(number: int, row: list[str]) -> Iterator[Line]:
            name = " ".join(row[at] for at in key).strip()
            is_sum = not out.isdisjoint({plain(name), plain(row[0])})
            for at in columns if (name or not by_player) and not is_sum else ():
                several = of_players and name.lower() in cells.WORDS  # of those who did not finish
                for text in re.split(r"\s*[,;/]\s*", row[at]) if several else [row[at]]:
                    if cells.told(text).lower() in ABSENT:
                        continue
                    own = cells.WON.get(text.lower(), text) if won else text
                    line = {kind: own, ours: name or f"line {number}", theirs: header.names[at]}
                    if "ended_at" in titles:
                        line |= {"ended_at": dates[at]} if by_player else header.texts(row, "ended_at")
                    yield line

        note = f"a column for each {theirs}, with {kind}s: {few([header.names[at] for at in columns])}"
        races_of = [header.names[at] for at in columns] if by_player else []
        return Lines(lines, titles, (*columns, *key), note, len(self.below) - len(below), races_of)

    def _of_each(self, columns: list[int], told: str | None) -> tuple[str | None, list[int]]:
        """Choose the places of columns such as `Spa Pos` and `Spa Pts`, or times, and name them by race."""
        parts = {at: self.header.plain[at].rpartition(" ") for at in columns}
        for kind in [told] if told else (*RESULTS, "race"):
            known = {*KNOWN["columns"][kind], {"place": "finish", "race": "r"}.get(kind, "")}
            races = {at: race for at, (race, _, what) in parts.items() if race and what in known}
            of_all = [*dict.fromkeys(race for race, _, _ in parts.values())]
            if races and [*races.values()] == of_all and (kind != "race" or len(races) < len(columns)):
                for at in races:
                    self.header.names[at] = re.sub(r"[\W_]*[^\W_]+\W*$", "", self.header.names[at])
                return kind if kind in RESULTS else None, [*races]
        return told, columns

    def _kind(self, by_player: bool, columns: Sequence[int], below: Sequence[list[str]]) -> str:
        """Return what the cells of a wide table hold, or ask."""
        words = cells.NO_RESULT | self.options.words.keys()
        rows = [[cells.told(row[at]).lower() for at in columns] for row in below]
        races = zip(*rows, strict=True) if by_player else rows
        known = ([text for text in race if text not in words and cells.is_result(text)] for race in races)
        numbers = list(filter(None, known))
        placed = sum(map(evidence.are_places, numbers))
        if any(":" in text.partition("(")[0] for race in numbers for text in race):
            if placed:
                fix = "keep those of one kind, or add --columns place=NAME or time=NAME for one race"
                raise PayloadError(f"{self.path}: some columns have times and some places: {fix}")
            return "time"
        if 2 * placed > len(numbers):
            sums = [sum(map(int, row)) for row in rows if all(map(str.isdecimal, row))]
            if by_player and len({*sums}) > 2 and sums == sorted(sums, reverse=True):
                fix = "add --columns cells=score if these are points, or cells=place"
                raise PayloadError(f"{self.path}: lines from the highest sum to the lowest: {fix} if places")
            return "place"
        names = few([self.header.names[at] for at in columns], 3)
        fix = "cells=score if more is better, with --lowest-wins if less is, cells=time for seconds"
        one = f"or place={self.header.titles('place').get('place', 'NAME')} for one race"
        asked = f"results in {names}, but most are not ranked 1, 2, 3: add --columns cells=place"
        raise PayloadError(f"{self.path}: {asked}, {fix}, {one}")


def _notes(where: str, header: Header, found: Lines, below: Sequence[list[str]]) -> Iterator[str]:
    titles = {ours: title for ours, title in found.columns.items() if ours in header.at}
    renamed = [f"{ours}={title}" for ours, title in titles.items() if plain(title) != plain(ours)]
    used = {*found.used, *(at for ours in titles for at in header.at[ours])}
    for at, name in enumerate(header.names):
        if header.names.index(name) in used - {at}:
            fix = "rename one, or put tables side by side below each other, with a title above each"
            raise PayloadError(f"{where}, column {at + 1}: {name!r} is repeated: {fix}")
    unused = [name for at, name in enumerate(header.names) if name and at not in used]
    if found.note:
        yield found.note
    if renamed:
        yield f"columns: {', '.join(renamed)}"
    if unused:
        yield f"columns not used: {few(unused)}"
