"""Turns the lines of tables, one for each entrant, into races. Every choice is noted, every line counted."""

from __future__ import annotations

import re
import reprlib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import DNF, DONE, DQ, NOBODY, NOTHING, SIGNS, BadCellError, Meaning, PlayerNames
from racebot.files.games import Line
from racebot.files.guess import fix_for_two
from racebot.files.layout import Grid
from racebot.files.options import FLAGS, RESULTS, ReadOptions, Twice, few, padded, plain
from racebot.files.ranking import Ranking, Result, blank_places, lines_of, teammates_differ
from racebot.files.rows import MOST_LINES, MOST_RESULTS
from racebot.races.result import MOST_ENTRANTS, NO_NAME, UNKNOWN, Entrant, RaceResult
from racebot.text.format import counted

LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
MOST_PROBLEMS = 10
"""Most kinds of problems that are named."""
FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""The end of the first race of a file without dates. Each further race ends a minute later."""
_BLANK = "of entrants without a result, who count as not finished"
_DITTO = SIGNS["ditto"] - SIGNS["same_time"]
Find = Callable[[str], Entrant]


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
        self._table, self._options, self._people, self._ends = table, options, people, ends
        self._prefix, self._first, self._find = prefix, first, find
        self.factors: dict[tuple[str, str], str] = {}
        self.notes = table.notes
        self.remarks: list[tuple[str, str]] = []
        self.ranking = Ranking(options)
        self._races: defaultdict[str, _Race] = defaultdict(_Race)
        for name in table.lines.races:
            self._races[self._name(name)] = _Race()
        self._unused: defaultdict[str, list[int]] = defaultdict(list)  # lines that do not count, by reason
        self._problems: defaultdict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
        self._said: Counter[tuple[str, Meaning]] = Counter()  # words in place of results
        self._unsure: list[tuple[Result, str]] = []  # results with a status that is not known
        self._seen: Counter[str] = Counter()  # the names of races that are a row each
        self._text = 0  # the hash of the row
        self._numbers: dict[str | None, int] = {}  # the first line of 980, of 1.250, and of others
        self._order = "the files" if prefix else "the file"
        self._says_done = False  # whether the column of statuses has a word for finishing
        self._status_numbers, self._title, self._time, self._fix = 0, "", "", ""
        self._words = cells.WORDS | dict(options.words)
        self._columns = table.lines.columns  # the file's own names, by ours
        self._flags = [flag for flag in (*FLAGS, "finished") if flag in self._columns]
        letters = self._columns.get("status", "").lower() == "positiontext"
        self._statuses = self._words | (cells.LETTERS if letters else {})

    def read(self) -> tuple[RaceResult, ...]:
        """Read all lines, and return the races in order, or raise a PayloadError that names bad lines."""
        table, results, repeated = self._table, 0, 0
        names = table.header.row
        width = len(names)
        for count, (number, texts) in enumerate(filter(lambda each: any(each[1]), table.rows), start=1):
            row = padded(texts, width)
            if repeated := repeated or (number if row == names else 0):
                if repeated < number:
                    fix = "remove it, or split the file if a race begins here"
                    raise PayloadError(f"{table.path}, line {repeated} repeats the names of columns: {fix}")
                continue
            if not all(row[at].lower() in wanted for at, wanted in table.where.items()):
                self._unused["left out by --where"].append(number)
                continue
            with self._refusing(number):
                if any(row[width:]):
                    problem = f"more cells than the {width} columns: put quotes around separators"
                    raise BadCellError(str(width + 1), problem)
                self._text = hash((*row,))
                lines: list[Line] = [*table.lines.of(number, row)]
                if table.lines.each_is_race:
                    lines = self._named(number, lines)
                alone = not self._find and row.count("") == width - 1 - table.titled
                if said := alone and not table.lines.note and cells.outcome_of_title(" ".join(row).strip()):
                    self._title, lines = said, []
                elif self._title and not any(map(lines[0].get, (*RESULTS, "status"))):
                    lines, alone = [{**lines[0], "status": self._title}], False
                else:
                    self._title = ""
                if plain(row[0]) in SIGNS["summaries"] or (alone and row[0] and not cells.is_result(row[0])):
                    lines = [line for line in lines if line.get("player")]  # "Not classified" is a title
                if not lines:
                    self._unused["without a result"].append(number)
                elif (word := lines[0].get("unplayed")) is not None:
                    self._unused[f"of games not played: {word!r}"].append(number)
                    lines = []
                elif alone and len(lines) == 1 and lines[0].get("player"):
                    fix = "add a place, DNF or DNS, or remove the line"
                    raise BadCellError("player", f"alone in its line: {fix}")
                results += len(lines)
                if count > MOST_LINES or results > MOST_RESULTS:
                    most = f"{MOST_LINES:,} lines" if count > MOST_LINES else f"{MOST_RESULTS:,} results"
                    raise PayloadError(f"{table.path}: more than {most}: split it into several files")
                for line in lines:
                    try:
                        self._add(number, line)
                    except BadCellError:  # there may be units, or a note over all columns as on web pages
                        if len({*line.values()}) > 1 and (line.get("player") or self._find is not None):
                            raise
                        self._unused["without a name, and not understood"].append(number)
        self._settle_unsure()
        self._ask_about_blanks()
        if self._numbers.keys() - {None} == {"980", "1.250"}:
            fix = "has a number like 1.250 among some like 980: write 1250, or 980.0"
            raise PayloadError(f"{table.path}, line {self._numbers['1.250']} {fix}")
        self._raise_problems()
        self._settle_places()
        self._take_out_clubs()
        read = tuple(self._results())
        self._raise_problems()
        if not read:
            raise PayloadError(f"{table.path}: no races: add a line for each entrant below the column names")
        self.notes += self._last_notes()
        return read

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

    def _add(self, number: int, line: Line) -> None:
        if line.get("player", "").lower().rstrip(":") in SIGNS["summaries"] and self._find is None:
            self._unused["of a total"].append(number)
            return
        result = self._result(number, line)
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
        name = next(
            filter(None, (line.get("race") for line in lines)), f"{self._table.path.stem}-{number:06}"
        )
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
            self._fix = self._fix or fix_for_two(self._table.header)
            raise BadCellError("player", f"{problem}: {self._fix}")

    def _result(self, number: int, line: Line) -> Result | None:
        """Read the result of a line, or return None for a player who did not start, or if it has none."""
        if ditto := _DITTO.intersection(line.values()):
            raise BadCellError("player", f"a sign for the text above, {min(ditto)}: write that text")
        for column, text in line.items() if max(map(len, line.values())) > LONGEST_TEXT else ():
            if len(text) > LONGEST_TEXT and column not in {"proof", "comment"}:
                raise BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
        if not (self._find or any(map(line.get, ("player", "name", *RESULTS)))):
            self._unused["without a result"].append(number)
            return None
        player, name = self._player(line)
        place, time, score = (self._cell(line, column) for column in RESULTS)
        leads = place.strip(".") == "1" and not time.strip("-–—")  # with a gap of nothing
        if time.lower() in SIGNS["same_time"]:
            time = "" if place else self._time
        self._time, time = time or self._time, "" if place and leads else time
        status, word = self._status(line, place, time, score)
        if word:
            self._said[word, status] += 1
        elif status is DNF:
            self._unused[_BLANK].append(number)
        if status is None:
            return None
        entrant = Entrant(player, name, status, team=sys.intern(line.get("team", "")) or None)
        result = Result(number, entrant, self._text)
        if status is DONE:
            time = "" if time.lower() in self._words else time  # such as --words done=late
            entrant.place = cells.place(place) if place else None
            result.behind = cells.gap(time) if time else None
            if time and not result.behind:
                try:
                    entrant.finish_time = cells.microseconds(time)
                except BadCellError:
                    if self._options.by_time or not place or time[0].isalpha():
                        raise
                    self._unused["with a time that is not understood beside its place"].append(number)
            if entrant.finish_time and (laps := line.get("laps", "")).isdecimal():
                result.behind = -int(laps), 0
            result.score = cells.number(score) if score else None
            self._numbers.setdefault(cells.kind_of_number(time or score), number)
            if word is None:
                self._unsure.append((result, line["status"]))
        elif status is DNF and place.isdecimal() and time.lower() in self._words:
            entrant.place = int(place) or None
        if self._find is not None:
            self._read_attempt(entrant, line, self._find)
        return result

    def _player(self, line: Line) -> tuple[str | None, str]:
        player, name = line["player"], line.get("name", "")
        if self._find is not None:
            if not player:
                raise BadCellError("player", "empty: fill it in")
            return player, player
        if not player or ("name" not in line and cells.is_nobody(player, NOBODY)):
            return None, NO_NAME
        known = sys.intern(player) if "name" in line else self._people.person(player)
        return known, sys.intern(name or known)

    def _status(self, line: Line, place: str, time: str, score: str) -> tuple[Meaning, str | None]:
        """Return how the entrant ended, and the word that says so, None for a finisher of unknown status."""
        for flag in filter(line.get, self._flags):
            text, means = line[flag].lower(), cells.WORDS[flag]
            if not SIGNS["false"].isdisjoint({text, text.partition(" ")[0]}):
                means = DNF if means is DONE else DONE
            elif SIGNS["true"].isdisjoint({text, text.partition(" ")[0]}) and text != flag:
                if text not in self._words:
                    fix = f"write yes or no, or add --columns {flag}= if it says something else"
                    raise BadCellError(flag, f"{reprlib.repr(text)} is neither yes nor no: {fix}")
                means = self._words[text]
            if means is not DONE:
                return means, "not finished" if flag == "finished" else flag
        unsure, text = False, self._cell(line, "status")
        lower = text.lower()
        if lower and (lower in self._statuses or not cells.is_result(lower)):
            word = lower if lower in self._statuses else cells.outcome_of_title(lower)
            if self._statuses.get(word, DONE) is not DONE:
                return self._statuses[word], text
            unsure = word not in self._statuses
            self._says_done |= not unsure
        self._status_numbers += lower.isdecimal() and lower not in self._statuses
        told = [] if lower.isdecimal() and lower in self._statuses else (place, score, time)
        words = [text for text in told if text.lower() in self._words]
        if words:
            if place and place not in words and set("".join(words)) <= {*"-–—"}:
                cells.place(place)  # a word that is not known, and no result beside it
            text = min(words, key=lambda each: (None, DQ, DNF, DONE).index(self._words[each.lower()]))
            return self._words[text.lower()], text
        if place or time or score:
            return DONE, None if unsure else ""
        if {"place", "score"} & line.keys():
            return DNF, line.get("place") or line.get("score") or text
        if given := line.get("time"):
            cells.microseconds(given)  # such as NA
        raise BadCellError("time", "empty: write a time such as 1:02:03.4, or DNF")

    def _read_attempt(self, entrant: Entrant, line: Line, find: Find) -> None:
        proof, comment = line.get("proof", ""), line.get("comment", "")
        if proof and not proof.lower().startswith(("https://", "http://")):
            raise BadCellError("proof", f"{reprlib.repr(proof)} is no web address: begin it with https://")
        self.remarks.append((proof, comment))
        try:
            found = find(entrant.name)
        except BadCellError:
            if entrant.finished:
                raise
            missing = f"{entrant.name!r}, no known player, did not finish"
            self.notes.append(f"{missing}: counts without a name, unless --guest gives one")
            entrant.user_id, entrant.name = None, UNKNOWN
            return
        entrant.user_id, entrant.name, entrant.discriminator = found.user_id, found.name, found.discriminator

    def _settle_unsure(self) -> None:
        """Read unknown words of a column of statuses as not finished, if others in it say finished."""
        words = list(dict.fromkeys(word for _, word in self._unsure))
        if words and not self._says_done:
            first = {word for result, word in self._unsure if result.entrant.place == 1}
            won, out = ("|".join(word for word in words if (word in first) == wins) for wins in (True, False))
            other = f"done={won}" + (f",dnf={out}" if out else "") if won else f"dnf={out}"
            ways = " or ".join(map(cells.quoted, dict.fromkeys([other, f"done={'|'.join(words)}"])))
            fix = f"say what it means, as in --words {ways}, or add --columns status="
            problem = f"{few(words, 5)} not understood: {fix}"
            with self._refusing(self._unsure[0][0].number):
                raise BadCellError("status", problem)
        for result, word in self._unsure:
            result.entrant.status, result.entrant.place, result.entrant.finish_time = DNF, None, None
            self._said[word, DNF] += 1

    def _ask_about_blanks(self) -> None:
        """Refuse an empty place where those of the lines above and below leave one out."""
        blank = {*self._unused.get(_BLANK, [])}
        for race in self._races.values() if blank else ():
            for number, place in blank_places([*race.results.values()], blank):
                with self._refusing(number):
                    problem = f"empty between {place} and {place + 2}: write {place} if they are equal"
                    raise BadCellError("place", f"{problem}, {place + 1}, DNF or DNS")

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
        if self._said:
            common = self._said.most_common(12)
            shown = ", ".join(f"{n} × {word!r} as {cells.MEANINGS[means]}" for (word, means), n in common)
            more = f" and {len(self._said) - 12} more words" if len(self._said) > 12 else ""
            yield f"read {shown}{more}"
        for what, numbers in self._unused.items():
            yield f"{counted(len(numbers), 'line')} {what} (the first is line {numbers[0]})"
        if self._status_numbers:
            yield f"{counted(self._status_numbers, 'number')} in the column of statuses not read"
        yield from self.ranking.notes()

    def _cell(self, line: Line, column: str) -> str:
        if not (text := line.get(column, "")):
            return ""
        number = text[0].isdecimal() and text[-1].isdecimal()  # for these, `told` takes long
        known = text if number or text.lower() in self._words else cells.told(text)
        return known if known.lower() in self._words or known.lower() not in NOTHING else ""
