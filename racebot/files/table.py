"""Turns the lines of tables, one for each entrant, into races.

Lines of one race need not be adjacent. Every choice is noted, and every line that is not used is counted.
"""

from __future__ import annotations

import reprlib
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import BadCellError
from racebot.files.expand import TRUE, is_result
from racebot.files.header import FLAGS
from racebot.files.layout import Table
from racebot.files.options import ReadOptions, Twice
from racebot.files.ranking import DONE, Ranking, Result
from racebot.races.result import HIDDEN_NAME, MOST_ENTRANTS, NO_NAME, Entrant, EntrantStatus, RaceResult
from racebot.text.csv_rows import without_apostrophe
from racebot.text.format import counted
from racebot.text.parse import fold_name

LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
NOBODY = frozenset({"anonymous", "anonym", "anonyme", "unknown", "n.n.", "?"}) | cells.NOTHING
"""Names of runners without a name, in lower case. They keep their places."""
FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""The end of the first race of a file without dates. Each further race ends a minute later."""
Find = Callable[[str], Entrant]
DNF = EntrantStatus.DNF


@dataclass(slots=True)
class _Race:
    """A race whose lines are being read, with the number and the date of its first line."""

    number: int
    date: str
    results: list[Result] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    """Where in `results` each player is."""


@dataclass(frozen=True, slots=True)
class TableRaces:
    """The races of a table in the order of their first lines, and notes on how it was read.

    `factors` has what players raced with, by race name and player. `remarks` has the proof and the comment of
    each entrant of an event. `without_first` is the number of races with places, but no place 1.
    """

    results: tuple[RaceResult, ...]
    factors: Mapping[tuple[str, str], str]
    notes: tuple[str, ...]
    remarks: tuple[tuple[str, str], ...]
    with_places: int = 0
    without_first: int = 0


class People:
    """The people of one study. Names that differ in case, spaces or accents only are one person."""

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self._first: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._merged: list[str] = []

    def person(self, name: str) -> str:
        """Return the name by which a person is known: the first spelling."""
        known = self._known.get(name)
        if known is None:
            known = name if self._exact else self._first.setdefault(_folded(name), name)
            known = self._known[name] = sys.intern(known)
            if known != name:
                self._merged.append(f"{name!r} and {known!r}")
        return known

    def note(self) -> str:
        """Say which names are one person since the last note; empty if there are none."""
        if not self._merged:
            return ""
        more = f" and {len(self._merged) - 5} more" if len(self._merged) > 5 else ""
        these = ", ".join(self._merged[:5])
        self._merged.clear()
        return f"one person each: {these}{more}; --exact-names keeps them apart"


def _folded(name: str) -> str:
    # Names of other scripts may share their transcription.
    latin = all(ord(c) < 0x250 or unicodedata.combining(c) for c in name)
    return "".join((fold_name(name) if latin else unicodedata.normalize("NFKC", name).casefold()).split())


class TableReader:
    """Reads the races of one table.

    Args:
        people: the people of all files that are read together.
        category: slug under which to file the races; empty for none.
        prefix: what the names of races begin with, which tells files apart.
        first: number of races in the files before.
        find: for the attempts of an event, returns the player with an id or a name, or raises BadCellError.
    """

    def __init__(
        self,
        path: Path,
        table: Table,
        options: ReadOptions,
        people: People,
        *,
        category: str = "",
        goal: str = "",
        prefix: str = "",
        first: int = 0,
        find: Find | None = None,
    ) -> None:
        self._path, self._table, self._options, self._people = path, table, options, people
        self._category, self._goal, self._prefix, self._first, self._find = (
            category,
            goal,
            prefix,
            first,
            find,
        )
        self._races: dict[str, _Race] = {}
        self._factors: dict[tuple[str, str], str] = {}
        self._remarks: list[tuple[str, str]] = []
        self._accounts: dict[str | None, Entrant] = {}
        self._other_dates: dict[str, dict[str, int]] = defaultdict(dict)
        self._problems: list[tuple[int, str]] = []
        self._notes = list(table.notes)
        self._said: Counter[tuple[str, str]] = Counter()
        """Words in place of results, with their meanings."""
        self._unsure: list[tuple[Result, str]] = []
        """Results with a status that is not known."""
        self._says_done = False
        """Whether the column of statuses has a word for finishing."""
        # A file of racebot lacks the ids of hidden players and deleted accounts.
        self._ours = {"player", "name"} <= table.columns.keys() and table.columns.get("time") == "finish_time"
        self._words = cells.WORDS | dict(options.words)
        letters = table.columns.get("status", "").lower() == "positiontext"
        self._statuses = self._words | (cells.LETTERS if letters else {})
        self._ranking = Ranking(options)

    def read(self) -> TableRaces:
        """Read all lines.

        Raises:
            PayloadError: a line cannot be read; the message names the file, the line, the column and the fix.
        """
        for number, line in self._table.lines:
            try:
                if isinstance(line, BadCellError):
                    raise line
                self._add(number, line)
            except BadCellError as error:
                self._refuse(number, error)
        self._settle_unsure()
        self._raise_first()
        self._settle_places()
        self._take_out_clubs()
        results = tuple(self._results())
        self._raise_first()
        if not results:
            raise PayloadError(f"{self._path}: no races: add a line for each entrant below the column names")
        self._note_rest()
        notes, remarks = tuple(filter(None, self._notes)), tuple(self._remarks)
        places = (
            (0, 0) if self._ours else (self._ranking.races_with_places, self._ranking.races_without_first)
        )
        return TableRaces(results, self._factors, notes, remarks, *places)

    def _refuse(self, number: int, error: BadCellError) -> None:
        column, fix = error.args
        column = self._table.columns.get(column, column)
        self._problems.append((number, f"{self._path}, line {number}, column {column}: {fix}"))

    def _raise_first(self) -> None:
        if self._problems:
            more = len(self._problems) - 1
            have = "line has a problem" if more == 1 else "lines have problems"
            raise PayloadError(min(self._problems)[1] + (f" ({more} more {have})" if more else ""))

    def _add(self, number: int, line: Mapping[str, str]) -> None:
        """Add the entrant of a line to a race, unless the player did not start."""
        result = self._result(number, line)
        if result is None:
            return
        date = line.get("ended_at", "")
        name = " ".join(filter(None, (self._prefix, self._race_of(line, date))))
        name = f"{self._category}/{name}" if self._category else name
        race = self._races.get(name)
        if race is None:
            race = self._races[name] = _Race(number, date)
        if date != race.date:
            self._other_dates[name].setdefault(date, number)
        if self._find is None and result.player is not None:
            at = race.positions.setdefault(result.player, len(race.results))
            if at < len(race.results):
                self._choose(race.results, at, result)
                return
        if len(race.results) >= MOST_ENTRANTS:
            raise BadCellError("race", f"more than {MOST_ENTRANTS} entrants: split the race")
        race.results.append(result)
        if factor := line.get("factor"):
            self._factors[name, result.name] = sys.intern(factor)

    def _race_of(self, line: Mapping[str, str], date: str) -> str:
        """Return a race's name: its own, or its date, or the file's."""
        if line.get("race") == "":
            raise BadCellError("race", "empty: fill it in")
        return line.get("race") or date or ("" if self._prefix else self._path.stem)

    def _choose(self, results: list[Result], at: int, result: Result) -> None:
        """Choose between two results of one player in one race."""
        before, unused = results[at], self._table.unused
        if before.facts() == result.facts():
            unused["given twice"] += 1
        elif self._options.twice is None:
            named = "race" in self._table.columns
            where = "this race" if named else "this file, which has no column race,"
            columns = self._table.columns
            both = "+".join(columns[ours] for ours in ("race", "ended_at") if ours in columns)
            column = f"race={both if 'ended_at' in columns else 'Season+Round'}" if named else "race=NAME"
            raise BadCellError(
                "player",
                f"{reprlib.repr(result.name)} is already in {where} in line {before.number}: remove one, "
                f"or add --twice first, --twice best, or --columns {column}",
            )
        else:
            unused[f"left out by --twice {self._options.twice}"] += 1
            if self._options.twice is Twice.BEST and result.better_than(before):
                results[at] = result

    def _result(self, number: int, line: Mapping[str, str]) -> Result | None:
        """Read the result of a line, or return None for a player who did not start."""
        for column, text in line.items():
            if len(text) > LONGEST_TEXT and column not in {"proof", "comment"}:
                raise BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
        player, name = self._player(line)
        place, time, score = (_cell(line, column) for column in ("place", "time", "score"))
        status, word = self._status(line, place, time, score)
        if word:
            self._said[word, cells.MEANINGS[status]] += 1
        if status is None:
            return None
        result = Result(number, player, name, status, team=sys.intern(line.get("team", "")) or None)
        if status is DONE:
            result.place = cells.place(place) if place else None
            result.behind = cells.gap(time) if time else None
            result.time = cells.microseconds(time) if time and not result.behind else None
            result.score = cells.number(score) if score else None
            if word is None:
                self._unsure.append((result, line["status"]))
        elif status is DNF and place.isdecimal() and time.lower() in self._words:
            result.place = int(place) or None
        if self._find is not None:
            self._read_attempt(result, line, self._find)
        return result

    def _player(self, line: Mapping[str, str]) -> tuple[str | None, str]:
        """Return a player's id, None for nobody, and name."""
        player = line["player"]
        if self._find is not None:
            if not player:
                raise BadCellError("player", "empty: fill it in")
            return player, player
        if self._ours:
            player, name = (without_apostrophe(line[column]) for column in ("player", "name"))
            return (sys.intern(player), sys.intern(name or player)) if player else (None, name or HIDDEN_NAME)
        if not player or ("name" not in line and player.lower() in NOBODY):
            self._table.unused["without a name, ranked but not rated"] += 1
            return None, NO_NAME
        if "name" in line:
            return sys.intern(player), sys.intern(line["name"] or player)
        known = self._people.person(player)
        return known, known

    def _status(
        self, line: Mapping[str, str], place: str, time: str, score: str
    ) -> tuple[EntrantStatus | None, str | None]:
        """Return how the entrant ended, and the word that says so; None for a finisher of unknown status.

        A column of statuses or flags decides, then a word in place of the place, score or time.
        """
        for flag in FLAGS:
            text = line.get(flag, "").lower()
            if text in TRUE or text == flag:
                return cells.WORDS[flag], flag
        unsure, text = False, _cell(line, "status")
        lower = text.lower()
        if lower and (lower in self._statuses or not is_result(lower)):
            if self._statuses.get(lower, DONE) is not DONE:
                return self._statuses[lower], text
            unsure = lower not in self._statuses
            self._says_done |= not unsure
        for text in (place, score, time):
            if text.lower() in self._words:
                return self._words[text.lower()], text
        if place or time or score:
            return DONE, None if unsure else ""
        if {"place", "score"} & line.keys():
            return DNF, ""
        raise BadCellError("time", "empty: write a time such as 1:02:03.4, or DNF")

    def _read_attempt(self, result: Result, line: Mapping[str, str], find: Find) -> None:
        """Find the player of an attempt, and read its remarks."""
        if result.time == 0:
            raise BadCellError("time", "zero: write the time, or DNF")
        proof, comment = line.get("proof", ""), line.get("comment", "")
        if proof and not proof.lower().startswith(("https://", "http://")):
            raise BadCellError("proof", f"{reprlib.repr(proof)} is no web address: begin it with https://")
        found = find(result.name)
        self._accounts[found.user_id] = found
        result.player, result.name = found.user_id, found.name
        self._remarks.append((proof, comment))

    def _settle_unsure(self) -> None:
        """Read unknown words of a column of statuses as not finished, if others in it say finished."""
        words = Counter(word for _, word in self._unsure)
        if self._says_done:
            for result, word in self._unsure:
                result.status, result.place = DNF, None
                self._said[word, cells.MEANINGS[DNF]] += 1
        elif words:
            shown = ", ".join(map(reprlib.repr, list(words)[:5]))
            means = f"--words dnf={'|'.join(list(words)[:2])}"
            problem = f"{shown} not understood: say what it means, as in {means}, or add --columns status="
            self._refuse(self._unsure[0][0].number, BadCellError("status", problem))

    def _settle_places(self) -> None:
        """Decide between a place and a word for no finish in the column of times.

        In some games, places decide races that nobody finished. A file with such a race means its places.
        """
        races = [race.results for race in self._races.values()]
        both = [each for results in races for each in results if each.status is not DONE and each.place]
        counts = not self._options.by_time and any(
            any(each.place for each in results) and all(each.status is not DONE for each in results)
            for results in races
        )
        for each in both:
            each.status, each.place = (DONE, each.place) if counts else (each.status, None)
        if both:
            which = (
                "the place counts, since places rank a race that nobody finished"
                if counts
                else "not finished"
            )
            lines = f"{counted(len(both), 'line')}, the first is line {both[0].number}"
            self._notes.append(f"a place and a word for no finish: {which} ({lines})")

    def _take_out_clubs(self) -> None:
        """Take out teams that are clubs or employers: teammates have results of their own."""
        if (
            "team" not in self._table.columns
            or "team" in self._options.columns
            or self._ours
            or self._options.teams
        ):
            return
        equal: Counter[bool] = Counter()
        for race in self._races.values():
            teams: dict[str, set[tuple[object, ...]]] = defaultdict(set)
            sizes = Counter(each.team for each in race.results if each.team and each.status is DONE)
            for each in race.results:
                if each.team and each.status is DONE:
                    teams[each.team].add((each.place, each.time, each.behind, each.score))
            equal.update(len(facts) == 1 for team, facts in teams.items() if sizes[team] > 1)
        if equal[False] > equal[True]:
            for race in self._races.values():
                for each in race.results:
                    each.team = None
            title = self._table.columns["team"]
            self._notes.append(
                f"column {title!r}: teammates have different results, so each is rated alone; "
                f"--columns team={title} makes team races"
            )

    def _results(self) -> Iterator[RaceResult]:
        """Yield the races. Only the dates of all of them show whether the month comes first."""
        dates = chain((race.date for race in self._races.values()), *self._other_dates.values())
        month_first = cells.month_comes_first(dates)
        if month_first is None and self._options.day_first:
            month_first = False
        dated = "ended_at" in self._table.columns
        for index, name in enumerate(list(self._races), start=self._first):
            race = self._races.pop(name)
            number, ended_at = race.number, FIRST_DAY + timedelta(minutes=index)
            entrants: tuple[Entrant, ...] = ()
            try:
                if dated:
                    ended_at = cells.moment(race.date, month_first)
                for date, number in self._other_dates.get(name, {}).items():  # noqa: B007 - of the error below
                    if cells.moment(date, month_first) != ended_at:
                        problem = (
                            "this race has another time above: use one for the whole race, or name races by"
                        )
                        raise BadCellError(
                            "ended_at", f"{problem} their dates, too: --columns race=race+date"
                        )
                number = race.number
                entrants = tuple(self._entrants(race.results))
            except BadCellError as error:
                self._refuse(number, error)
            yield RaceResult(name, self._category, self._goal, ended_at, entrants, recorded=True)

    def _entrants(self, results: list[Result]) -> Iterator[Entrant]:
        timed = self._ranking.rank([each for each in results if each.status is DONE])
        for each in results:
            finished = each.status is DONE
            time, place = (each.time if timed else None, each.place) if finished else (None, None)
            if known := self._accounts.get(each.player):
                yield replace(known, status=each.status, finish_time=time, place=place, team=each.team)
            else:
                yield Entrant(each.player, each.name, each.status, time, place, each.team)

    def _note_rest(self) -> None:
        notes, ranking = self._notes, self._ranking
        if "ended_at" not in self._table.columns and self._find is None:
            notes.append("no dates: the races count in the order of the file")
        if self._said:
            shown = [f"{n} × {word!r} as {means}" for (word, means), n in self._said.most_common(12)]
            more = f" and {len(self._said) - 12} more words" if len(self._said) > 12 else ""
            notes.append(f"read {', '.join(shown)}{more}")
        notes += [f"{counted(count, 'line')} {what}" for what, count in self._table.unused.items()]
        if ranking.contradictions:
            first = ranking.contradictions[0]
            lines = f"{counted(len(ranking.contradictions), 'line')}, the first is line {first}"
            notes.append(f"places count where times contradict them: {lines}")
        for sign, count in ranking.signs.items():
            notes.append(
                f"{count} × {sign}, far behind the rest: if that means no finish, add --words dnf={sign}"
            )
        notes.append(self._people.note())


def _cell(line: Mapping[str, str], column: str) -> str:
    text = line.get(column, "")
    return "" if text.lower() in cells.NOTHING else text
