"""Turns the lines of tables, one for each entrant, into races. Every choice is noted, every line counted."""

from __future__ import annotations

import re
import reprlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import DONE, SIGNS, BadCellError, PlayerNames
from racebot.files.entrants import BLANK, Find, LineReader
from racebot.files.games import TOGETHER, Line
from racebot.files.layout import Grid
from racebot.files.options import RESULTS, ReadOptions, Twice, few, padded, plain
from racebot.files.ranking import Ranking, Result, blank_places, lines_of, teammates_differ
from racebot.files.rows import MOST_LINES, MOST_RESULTS, Row
from racebot.races.result import MOST_ENTRANTS, RaceResult
from racebot.text.format import counted

MOST_PROBLEMS = 10
"""Most kinds of problems that are named."""
FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""The end of the first race of a file without dates. Each further race ends a minute later."""


@dataclass(slots=True)
class _Race:
    """A race that is being read: the first line of each date, and results by player, or by line without."""

    dates: dict[str, int] = field(default_factory=dict)
    results: dict[str | int, Result] = field(default_factory=dict)
    lists: set[str | None] = field(default_factory=set)
    recorded: bool = True

    def finishers(self) -> list[Result]:
        return [each for each in self.results.values() if each.entrant.finished]


class TableReader:
    """Reads the races of one table: also `factors`, what players raced with, by race name and player.

    Args:
        people, ends: the people of all files that are read together, and how many races ended at each moment.
        prefix, first: what the names of races begin with, and the number of races in the files before.
        find: for the attempts of an event, as in `read_attempts`; `remarks` are then proofs and comments.
    """

    def __init__(
        self,
        table: Grid,
        options: ReadOptions,
        people: PlayerNames,
        ends: defaultdict[datetime, Iterator[int]],
        *,
        prefix: str = "",
        first: int = 0,
        find: Find | None = None,
    ) -> None:
        self._table, self._options, self._ends = table, options, ends
        self._prefix, self._first, self._find = prefix, first, find
        self.factors: dict[tuple[str, str], str] = {}
        self.notes = table.notes
        self.ranking = Ranking(options)
        self._entrants = LineReader(table, options, people, find)
        self.remarks = self._entrants.remarks
        self._unused = self._entrants.unused
        self._races: defaultdict[str, _Race] = defaultdict(_Race)
        for name in table.lines.races:
            self._races[self._name(name)] = _Race()
        self._problems: defaultdict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
        self._seen: Counter[str] = Counter()  # the names of races that are a row each
        self._order = "the files" if prefix else "the file"
        self._read, self._title = 0, ""
        self._columns = table.lines.columns  # the file's own names, by ours

    def read(self) -> tuple[RaceResult, ...]:
        """Read all lines, and return the races in order, or raise a PayloadError that names bad lines."""
        for number, row in self._rows():
            with self._refusing(number):
                text = hash((*row,))
                for line in self._lines_of(number, row):
                    try:
                        self._add(number, line, text)
                    except BadCellError:  # there may be units, or a note over all columns as on web pages
                        if len({*line.values()}) > 1 and (line.get("player") or self._find is not None):
                            raise
                        self._unused["without a name, and not understood"].append(number)
        self._ask()
        self._raise_problems()
        self._settle_places()
        self._take_out_clubs()
        read = tuple(self._results())
        self._raise_problems()
        if not read:
            raise self._error("no races: add a line for each entrant below the column names")
        self.notes += self._last_notes()
        return read

    def _error(self, problem: str, line: int | None = None) -> PayloadError:
        where = "" if line is None else f", line {line}"
        return PayloadError(f"{self._table.path}{where}{' ' if where else ': '}{problem}")

    def _rows(self) -> Iterator[Row]:
        """Yield the filled rows that count, as wide as the names of columns."""
        names, repeated, where = self._table.header.row, 0, self._table.where.items()
        for count, (number, texts) in enumerate(filter(lambda row: any(row[1]), self._table.rows), start=1):
            row = padded(texts, len(names))
            if repeated:
                fix = "remove it, or split the file if a race begins here"
                raise self._error(f"repeats the names of columns: {fix}", repeated)
            if count > MOST_LINES:
                raise self._error(f"more than {MOST_LINES:,} lines: split it into several files")
            if row == names:
                repeated = number
            elif all(row[at].lower() in wanted for at, wanted in where):
                yield number, row
            else:
                self._unused["left out by --where"].append(number)

    def _lines_of(self, number: int, row: list[str]) -> list[Line]:
        """Return the lines of a row, without those of titles, totals and games that were not played."""
        width = len(self._table.header.row)
        if any(row[width:]):
            problem = f"more cells than the {width} columns: put quotes around separators"
            raise BadCellError(str(width + 1), problem)
        lines: list[Line] = [*self._table.lines.of(number, row)]
        if self._table.lines.each_is_race:
            lines = self._named(number, lines)
        alone = not self._find and row.count("") == width - 1 - self._table.titled
        lines = self._below_title(row, lines, alone=alone)
        if not lines:
            self._unused["without a result"].append(number)
        elif (word := lines[0].get("unplayed")) is not None:
            self._unused[f"of games not played: {word!r}"].append(number)
            return []
        self._read += len(lines)
        if self._read > MOST_RESULTS:
            raise self._error(f"more than {MOST_RESULTS:,} results: split it into several files")
        return lines

    def _below_title(self, row: list[str], lines: list[Line], *, alone: bool) -> list[Line]:
        """Return lines with the status that a title such as `Not classified` above them says."""
        said = alone and not self._table.lines.note and cells.outcome_of_title(" ".join(row).strip())
        if said:
            self._title = said
            return []
        if self._title and not any(map(lines[0].get, (*RESULTS, "status"))):
            return [{**lines[0], "status": self._title}]
        self._title = ""
        if plain(row[0]) in SIGNS["summaries"] or (alone and row[0] and not cells.is_result(row[0])):
            lines = [line for line in lines if line.get("player")]
        if alone and len(lines) == 1 and lines[0].get("player"):
            raise BadCellError("player", "alone in its line: add a place, DNF or DNS, or remove the line")
        return lines

    @contextmanager
    def _refusing(self, number: int) -> Iterator[None]:
        """Remember the problem of a cell with its line, and go on."""
        try:
            yield
        except BadCellError as error:
            column, fix = error.args
            own = self._columns.get(column)
            ways = {ours: f"{ours}={own}" if own else f"cells={ours}" for ours in ("time", "score")}
            fix = re.sub(r"(time|score)=NAME", lambda found: cells.quoted(ways[found[1]]), fix)
            text = re.split("['\"]", fix)[1] if fix[0] in "'\"" else ""
            kind = column, re.sub(r'[\d"]', "", fix.replace(repr(text), "").replace(f"={text}", ""))
            self._problems[kind].append((number, text, f"column {own or column}: {fix}"))

    def _raise_problems(self) -> None:
        """Raise one line for each kind of problem, with the count of other lines and what they have."""
        problems = []
        for (number, text, problem), *others in sorted(map(sorted, self._problems.values())):
            texts = list(dict.fromkeys(other for _, other, _ in others if other not in {"", text}))
            so = f"; so in {counted(len(others), 'more line')}" if others else ""
            so += f", with {few(texts, 3)}" if texts else ""
            problems.append(f"{self._table.path}, line {number}, {problem}{so}")
        if problems:
            raise PayloadError(*problems[:MOST_PROBLEMS])

    def _add(self, number: int, line: Line, text: int) -> None:
        """Add the result of a line to its race, or raise a BadCellError."""
        if line.get("player", "").lower().rstrip(":") in SIGNS["summaries"] and self._find is None:
            self._unused["of a total"].append(number)
            return
        result = self._entrants.read(number, line, text)
        if result is None:
            return
        if result.entrant.user_id is None and self._find is None:
            self._unused["without a name, ranked but not rated"].append(number)
        date = line.get("ended_at", "")
        if line.get("race") == "":
            raise BadCellError("race", "empty: fill it in")
        race = self._races[name := self._name(line.get("race") or date)]
        race.dates.setdefault(date, number)
        race.lists.add(line.get("list"))
        if len(race.lists) > 1 and "race" not in self._options.columns:
            mine = self._columns.get("race") or self._columns["ended_at"]
            each, one = (cells.quoted(f"race={mine}{more}") for more in ("+list", ""))
            fix = f"add --columns {each} if each is a race, or {one} if they are one"
            raise BadCellError("race", f"entrants of several lists: {fix}")
        race.recorded &= line.get("recorded", "").lower() != "false"
        key = number if self._find else result.entrant.user_id or number
        if key in race.results:
            self._choose(race.results, key, result)
        elif len(race.results) >= MOST_ENTRANTS:
            raise BadCellError("race", f"more than {MOST_ENTRANTS} entrants: split the race")
        else:
            race.results[key] = result
            if factor := line.get("factor"):
                self.factors[name, result.entrant.name] = sys.intern(factor)

    def _named(self, number: int, lines: list[Line]) -> list[Line]:
        """Name the race of a row, which is its own: those of one name are numbered."""
        named = filter(None, (line.get("race") for line in lines))
        name = next(named, f"{self._table.path.stem}-{number:06}")
        self._seen[name] += bool(lines)
        race = name if self._seen[name] == 1 else f"{name} ({self._seen[name]})"
        return [line if "unplayed" in line else {**line, "race": race} for line in lines]

    def _name(self, own: str) -> str:
        named = " ".join(filter(None, (self._prefix, own))) or self._table.path.stem
        return "/".join(filter(None, (self._options.category, named)))

    def _choose(self, results: dict[str | int, Result], key: str | int, result: Result) -> None:
        before, unused, twice = results[key], self._unused, self._options.twice
        if before.facts() == result.facts() and before.text == result.text:
            unused["given twice"].append(result.number)
        elif twice is not None:
            unused[f"left out by --twice {twice}"].append(result.number)
            results[key] = min(before, result, key=self.ranking.key) if twice is Twice.BEST else before
        else:
            where = "this race" if "race" in self._columns else "this file, which has no column race,"
            problem = f"{reprlib.repr(result.entrant.name)} is already in {where} in line {before.number}"
            two = cells.quoted(f"player={self._columns.get('player', 'player')}+NAME")
            race = self._table.header.by_race()
            fix = f"add {race} if these are several races, or {two} if two share a name"
            last = "if not, remove one, or add --twice first, or --twice best"
            raise BadCellError("player", f"{problem}: {fix}; {last}")

    def _ask(self) -> None:
        """Refuse unknown statuses, two players in one cell, blank places that are missing, mixed numbers."""
        if (asked := self._entrants.settle_statuses()) is not None:
            number, problem = asked
            with self._refusing(number):
                raise BadCellError("status", problem)
        if not (self._options.exact_names or self._find):
            self._ask_about_members()
        blank, numbers = {*self._unused.get(BLANK, [])}, self._entrants.numbers
        for race in self._races.values() if blank else ():
            for number, place in blank_places([*race.results.values()], blank):
                with self._refusing(number):
                    problem = f"empty between {place} and {place + 2}: write {place} if they are equal"
                    raise BadCellError("place", f"{problem}, {place + 1}, DNF or DNS")
        if numbers.keys() - {None} == {"980", "1.250"}:
            problem = "has a number like 1.250 among some like 980: write 1250, or 980.0"
            raise self._error(problem, numbers["1.250"])

    def _ask_about_members(self) -> None:
        """Refuse a player such as `Ann / Bo` if both have lines of their own."""
        names = {e.entrant.name: e.number for race in self._races.values() for e in race.results.values()}
        for name, number in names.items():
            members = re.split(rf"{TOGETHER.pattern}|\s*,\s*", name)
            if members[1:] and names.keys() >= {*members}:
                with self._refusing(number):
                    problem = "are players of other lines: write a line for each, or add --exact-names"
                    raise BadCellError("player", f"{name!r} {problem} if one is called so")

    def _settle_places(self) -> None:
        """Let places beside words for no finish count where they decide races that nobody finished."""
        both, counts = [], False
        for race in self._races.values():
            placed = [e for e in race.results.values() if e.entrant.place and not e.entrant.finished]
            counts |= bool(placed) and not (self._options.by_time or race.finishers())
            both += placed
        if not both:
            return
        for own in (each.entrant for each in both):
            own.status, own.place = (DONE, own.place) if counts else (own.status, None)
        why = "the place counts, since places rank a race that nobody finished"
        lines = lines_of([each.number for each in both])
        self.notes.append(f"a place and a word for no finish: {why if counts else 'not finished'} ({lines})")

    def _take_out_clubs(self) -> None:
        """Take out teams that are clubs or employers: teammates have results of their own."""
        title = self._columns.get("team")
        if title is None or "team" in self._options.columns or self._options.teams:
            return
        if teammates_differ(race.results.values() for race in self._races.values()):
            for each in (each for race in self._races.values() for each in race.results.values()):
                each.entrant.team = None
            alone = f"column {title!r}: teammates have different results, so each is rated alone"
            self.notes.append(f"{alone}; --columns team={title} makes team races")

    def _results(self) -> Iterator[RaceResult]:
        """Yield the races. Only the dates of all of them show whether the month comes first."""
        options, goal = self._options, self._options.goal or self._table.path.stem
        races = {name: race for name, race in self._races.items() if race.results}
        for name in [name for name in races if plain(name) in SIGNS["standings"] and len(races) > 1]:
            del races[name]
            self.notes.append(f"no race, but the standing after all: {name!r}")
        names = [*races]
        ordered = names if self._table.lines.races else cells.by_number(names)
        self._order = self._order if names == ordered else "their numbers"
        moments = self._moments(races, ordered)
        ends = [moments[name] for name in names]
        if [moments[name] for name in ordered] != sorted(ends):  # the numbers do not follow the dates
            ordered = names[::-1] if ends == sorted(ends, reverse=True) else names  # the newest first
        for name in ordered:
            moments[name] += timedelta(microseconds=next(self._ends[moments[name]]))
        for name in names if "ended_at" in self._columns or not self._order else ordered:
            with self._refusing(next(iter(races[name].dates.values()))):
                self.ranking.rank(races[name].finishers())
            entrants, recorded = (each.entrant for each in races[name].results.values()), races[name].recorded
            yield RaceResult(name, options.category, goal, moments[name], (*entrants,), recorded=recorded)

    def _moments(self, races: Mapping[str, _Race], ordered: list[str]) -> dict[str, datetime]:
        """Return when races ended, by name: their dates, or those in all their names, or a minute apart."""
        found: dict[str, datetime] = {}
        dated = {name: race.dates for name, race in races.items()} if "ended_at" in self._columns else {}
        if not dated and all(named := [cells.date_in(name) for name in ordered]):
            dated, self._order = {name: {date: 1} for name, date in zip(ordered, named, strict=True)}, ""
        month_first = cells.month_comes_first(date for dates in dated.values() for date in dates)
        month_first = False if month_first is None and self._options.day_first else month_first
        for name, date, number in ((name, *each) for name, dates in dated.items() for each in dates.items()):
            with self._refusing(number):
                moment = cells.moment(date, month_first)
                if found.setdefault(name, moment) != moment:
                    mine = "+".join(self._columns.get(each, each) for each in ("race", "ended_at"))
                    problem = f"this race has another time above: use one, or --columns race={mine}"
                    raise BadCellError("ended_at", problem)
        return {name: FIRST_DAY + timedelta(minutes=n) for n, name in enumerate(ordered, self._first)} | found

    def _last_notes(self) -> Iterable[str]:
        if "ended_at" not in self._columns and self._find is None:
            order = f"no dates: the races count in the order of {self._order}"
            yield order if self._order else "dates: those in the names of races"
        scores = (each.score for race in self._races.values() for each in race.results.values())
        if any(score is not None for score in scores):
            highest = "the highest score wins, or the lowest by --lowest-wins"
            yield "the lowest score wins" if self._options.lowest_wins else highest
        if self._entrants.said:
            common = self._entrants.said.most_common(12)
            shown = ", ".join(f"{n} × {word!r} as {cells.MEANINGS[means]}" for (word, means), n in common)
            more = f" and {len(self._entrants.said) - 12} more words" if len(self._entrants.said) > 12 else ""
            yield f"read {shown}{more}"
        for what, numbers in self._unused.items():
            yield f"{counted(len(numbers), 'line')} {what} (the first is line {numbers[0]})"
        if self._entrants.status_numbers:
            yield f"{counted(self._entrants.status_numbers, 'number')} in the column of statuses not read"
        yield from self.ranking.notes()
