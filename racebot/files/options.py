"""How to read a file that does not say so itself, and the names of a table's columns."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

from racebot.errors import SettingsError
from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN, NAMED_PLACES, OUTCOMES, Meaning

Names = dict[str, tuple[str, ...]]
"""Names of each of our columns in plain words, the best first."""
COLUMNS: Names = {ours: tuple(names) for ours, names in KNOWN["columns"].items()}
ATTEMPTS: Names = {ours: COLUMNS[ours] for ours in ("race", "player", "time", "place", "status")} | {
    "player": (*COLUMNS["player"], "id", "user id", "site id"),
    "proof": ("proof", "vod", "video", "link", "url"),
    "comment": ("comment", "comments", "note", "notes"),
}
"""The columns of an event's sheet."""
RESULTS = ("place", "time", "score")
FLAGS = ("dnf", "dq", "dns")
PAIRS = [tuple(pair) for pair in KNOWN["pairs"]]
OF_TWO = ("player1", "player2", "result")
"""Further columns, which can be named where a line has two players."""
OF_ONE = re.compile(r"\b(?:id|no|nr|num|number|bib|license|licence|startnummer)$")
"""Names of columns that tell people apart."""
TOTAL = re.compile(f"({'|'.join(KNOWN['totals'])})( .*)?|{'|'.join(KNOWN['facts'])}|.*{OF_ONE.pattern}")
"""Columns that are no race and no player in a wide table."""
_NUMBERED = "|".join(KNOWN["numbered"])
_DAY = r"(?:(?:\d+ )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?: \d+){0,2}|\d+ \d+(?: \d+)?)"
RACE_NAME = re.compile(
    rf"(?:{_NUMBERED})? ?\d+|(?:\d+|[a-z]) (?:{_NUMBERED})|(?:{_NUMBERED}) (?:[a-z]|\d+ {_DAY})"
)
_BESIDE = {ours: {*words} for ours, words in KNOWN["beside"].items()}
_UNITS, _SEASONS = {*KNOWN["units"]}, ("season", "year", "series", "regatta")
_PART = re.compile(f"(?:{'|'.join(KNOWN['splits'])})(?: (?:split|time|leg))?")
_WHOLE = {"total", "tot", "overall", "gesamt", "gesamtzeit", "sum", "summe", "gc", "finish"}
_OF_DAY = re.compile(r"0\.\d{4,}")  # a workbook's time in a cell without that format
_ASKED = {*KNOWN["asked"]}
_MOMENTS = tuple(f" {name}" for name in KNOWN["moments"])
_UNIX = re.compile(r"1\d{9}(?:\d{3})?")
_ORDINAL = re.compile(r"(?:place |pos |position )(\d{1,4})|(\d{1,4})(?:st|nd|rd|th)(?: place)?")


@lru_cache(maxsize=10_000)
def plain(name: str) -> str:
    """Return a column's name in plain words: `Finish_Time.` and `finishTime` are `finish time`."""
    apart = re.sub("(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", apart.casefold()))


def words_of(name: str) -> list[str]:
    """Return the plain words of a name."""
    return plain(name).split()


def few(names: Sequence[str], most: int = 8) -> str:
    """Name the first few of a list."""
    shown = ", ".join(map(reprlib.repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def padded(row: list[str], width: int) -> list[str]:
    """Return a row with empty cells for columns that it lacks."""
    return row + [""] * (width - len(row))


def two_lines(row: list[str], second: Sequence[str] = ()) -> list[str] | None:
    """Return the names of columns if merged cells leave gaps or copies, told apart by the second line."""
    upper, lower = padded(row, len(second)), padded([*second], len(row))
    gaps = any(low and (not name or upper.count(name) > 1) for name, low in zip(upper, lower, strict=True))
    first, *more = (at for at, name in enumerate(row) if name)  # without more, a title
    if not (gaps and more) or (lower[first] and any(map(cells.is_result, filter(None, lower)))):
        return None
    own = list(filter(None, lower))
    groups: Iterator[str] = accumulate(upper, lambda before, name: name or before)
    if len({*own}) < len(own):
        lower = [name and f"{group} {name}".strip() for group, name in zip(groups, lower, strict=True)]
    return [name or above for above, name in zip(upper, lower, strict=True)]


class Layout(StrEnum):
    """What a line of a table is: one entrant of one race, a whole race, or a player in all races."""

    LONG = "long"
    RACES = "races"
    PLAYERS = "players"


class Twice(StrEnum):
    """Which of a player's results in one race counts."""

    FIRST = "first"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading files. Those of commands have the same names, and their help.

    `columns` are the file's own names of columns, by ours, and `known` those that are recognized. `where` has
    the texts that a line needs to count. With `by_time`, times win over places; with `teams`, a column `team`
    makes teams in any case. The `goal` is that of all races, or of the site's JSON, the one to keep.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None
    words: Mapping[str, Meaning] = field(default_factory=dict)
    where: Mapping[str, Iterable[str]] = field(default_factory=dict)
    sheet: str | None = None
    twice: Twice | None = None
    exact_names: bool = False
    day_first: bool = False
    lowest_wins: bool = False
    unrecorded: bool = False
    by_time: bool = False
    teams: bool = False
    category: str = ""
    goal: str | None = None
    known: Names = field(default_factory=lambda: COLUMNS)


DEFAULT = ReadOptions()


def options_of(
    *,
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    layout: str | None = None,
    words: str | Sequence[str] | None = None,
    where: str | Sequence[str] | None = None,
    twice: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options that texts say, as the commands take them, or raise a SettingsError."""
    form = f"OURS=YOURS, where OURS is one of {', '.join(dict.fromkeys([*COLUMNS, *ATTEMPTS, *OF_TWO]))}"
    given = columns if isinstance(columns, Mapping) else dict(_pairs("--columns", columns, form))
    names = {plain(name): name for name in ("cells", "unused", *OF_TWO)}
    for ours, aliases in (*ATTEMPTS.items(), *COLUMNS.items()):
        names |= dict.fromkeys((*aliases, ours), ours)
    named = {names.get(plain(name), ""): theirs.strip() for name, theirs in given.items()}
    if "" in named:
        raise SettingsError(f"--columns {columns}: write {form}")
    chosen = _pairs("--where", where, "COLUMN=TEXT, such as session=RACE or class=GT3|GT4")
    try:
        others |= {"layout": (layout and Layout(layout)) or None, "twice": (twice and Twice(twice)) or None}
        texts = {column: tuple(each.lower().split("|")) for column, each in chosen}
        return ReadOptions(columns=named, words=_words(words), where=texts, **others)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _pairs(option: str, given: str | Sequence[str] | None, form: str) -> list[tuple[str, str]]:
    """Parse `a=b,c=d`, or several such."""
    text = given if isinstance(given, str) else ",".join(given or ())
    parts = [part.partition("=") for part in re.split(r",(?=[^,=]*=)", text) if part.strip()]
    if not all(name.strip() and sign for name, sign, _ in parts):
        raise SettingsError(f"{option} {text}: write {form}")
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _words(text: str | Sequence[str] | None) -> dict[str, Meaning]:
    """Parse `dnf=crash|engine,dns=0`, or `0=dns`."""
    found: dict[str, Meaning] = {}
    form = f"dnf=crash|engine,dns=0, with {', '.join(OUTCOMES)} on the left"
    for left, right in _pairs("--words", text, form):
        outcome, words = (left, right) if left.lower() in OUTCOMES else (right, left)
        if outcome.lower() not in OUTCOMES:
            raise SettingsError(f"--words {text}: write {form}")
        found |= dict.fromkeys((word.strip().lower() for word in words.split("|")), OUTCOMES[outcome.lower()])
    return found


def may_be_name(text: str) -> bool:
    """Return whether a text may name a player: no word, result or date."""
    return text.lower() not in {"", *cells.WORDS} and not (cells.is_result(text) or cells.is_date(text))


class Header:
    """The names of columns in one line: the file's own `names`, and these in `plain` words.

    `at` has the positions of each of our columns, and `missing` what was asked for and is not there. If names
    may be `alike`, other words may stand beside known ones, as in `Your final time (ms)`.
    """

    def __init__(
        self, row: Sequence[str], options: ReadOptions, below: Sequence[list[str]] = (), alike: bool = False
    ) -> None:
        given = {ours: theirs for ours, theirs in options.columns.items() if ours != "cells"}
        self.names = [" ".join(cell.split()) for cell in row]
        self.plain = [plain(cell) for cell in row]
        self._words = [{*words_of(cell)} for cell in row]
        self.at: dict[str, tuple[int, ...]] = {}
        self.missing: dict[str, str] = {}
        of_races = [at for at, name in enumerate(self.plain) if name in {*COLUMNS["race"], *_SEASONS}]
        self._empty = {at for at in of_races if below and not any(row[at] for row in below)}
        flags = [{row[at].lower() for row in below} for at in of_races]
        self._empty |= {at for at, texts in zip(of_races, flags, strict=True) if texts == {"0", "1"}}
        counts = [at for at, name in enumerate(self.plain) if name in {"players", "participants"} and below]
        self._empty |= {at for at in counts if all(row[at].isdecimal() for row in below if any(row))}
        for ours, theirs in given.items():
            parts = [theirs] if self.find(theirs) is not None else theirs.split("+")
            columns = {part: self._columns(part, merged=ours == "unused") for part in parts}
            lacking = [part for part, own in columns.items() if not own]
            if ours == "unused":  # which may also name lines
                lacking = [part for part in lacking if part and not any(part in row for row in below)]
            if theirs and lacking:
                self.missing[ours] = theirs
            elif found := tuple(chain(*columns.values())):
                self.at[ours] = found
        for ours, names in options.known.items():
            found = self._unclaimed(names)
            if ours == "ended_at" and not found and (at := self.find(*names)) in self.at.get("race", ()):
                found = (at,) if all(cells.is_date(row[at]) for row in below if row[at]) else ()
            if ours == "ended_at" and found and self.plain[found[0]] == "data":  # or data of another kind
                found = found if all(cells.is_date(row[found[0]]) for row in below if row[found[0]]) else ()
            if ours not in given and found:
                self.at[ours] = found
        for ours in _BESIDE if alike else ("time",) if "place" in self.at else ():
            if ours in options.known.keys() - given.keys() - self.at.keys():
                self._claim_alike(ours, below)
        free = {"place", "time", "score"}.isdisjoint({*self.at, *given}) and "time" in options.known
        if free and not self._unclaimed(KNOWN["clock"]):
            self.at["time"] = self._unclaimed(("seconds", "secs"))
        self.at = {ours: at for ours, at in self.at.items() if at}
        units = [unit for at in self.at.get("time", ()) for unit in self._words[at] & _UNITS]
        self._unit = "".join(units) if len(units) == 1 else ""
        if max(self.whole_times(below), default=0) >= 1_000_000:  # in seconds, eleven days
            self._unit = "ms"
        if any(_OF_DAY.fullmatch(row[at]) for at in self.at.get("time", ()) for row in below):
            self._unit = "d"
        if "list" in self.at and not {"race", "ended_at"} & {*self.at, *given}:
            self.at["race"] = self.at.pop("list")
        elif "race" in self.at and "race" not in given:
            self.at["race"] = self._unclaimed(_SEASONS) + self.at["race"] + self._unclaimed(("heat",))
        if below and "ended_at" in options.known.keys() - given.keys() - self.at.keys():
            self.at |= self._moments(below)
        if "player" not in given:
            own = self.at.get("player", ())
            first, last = (
                self._unclaimed(names) or tuple([at for at in own if self.plain[at] in names])
                for names in (KNOWN["names"]["first"], KNOWN["names"]["last"])
            )
            if first and last and {*own} <= {*first, *last}:
                self.at["player"] = first + last
        if {"place", "score"} & self.at.keys():
            self.at.pop("laps", None)
        filled = {ours: sum(bool(row[at[0]]) for row in below) for ours, at in self.at.items()}
        if 2 * filled.get("time", len(below)) < filled.get("score", 0) and "time" not in given:
            del self.at["time"]  # that of the winner only
        by_score = "score" in given or not {"place", "time"} & self.at.keys()
        for ours in {"place", "time"} if by_score and "score" in self.at else {"score"}:
            if ours not in given:
                self.at.pop(ours, None)
        if "name" in self.at.keys() - given.keys() and "player" in self.at:
            people, called = ({row[self.at[ours][0]] for row in below} for ours in ("player", "name"))
            if 2 * len(called) <= len(people):  # that of a series, say
                del self.at["name"]
        standing = [at for at in self.at.get("place", ()) if self.plain[at] in KNOWN["season_places"]]
        if standing and "place" not in given and self._rivals("place", *standing):
            del self.at["place"]
        free = {*RESULTS}.isdisjoint({*self.at, *given})
        who_won = self._unclaimed(KNOWN["won"]) if free else self.at.get("place", ())
        texts = {row[at].lower() for at in who_won for row in below} - ABSENT
        self._won = cells.say_who_won(texts) and (free or not any(map(str.isdecimal, texts)))
        if self._won:
            self.at["place"] = who_won
        self.used = {at for positions in self.at.values() for at in positions}

    def _columns(self, name: str, *, merged: bool) -> list[int]:
        """Return the position of a column, or of those below a `merged` cell with this name."""
        if (at := self.find(name)) is not None:
            return [at]
        return [n for n, own in enumerate(self.plain) if merged and own.startswith(f"{plain(name)} ")]

    def _moments(self, below: Sequence[Sequence[str]]) -> dict[str, tuple[int, ...]]:
        """Return the first column of moments such as `created at`, if each race has one."""
        races = [tuple(row[at] for at in self.at.get("race", ())) for row in below]
        for at in (at for at, name in enumerate(self.plain) if f" {name}".endswith(_MOMENTS)):
            texts = [row[at] for row in below]
            one_each = bool(self.pair()) or len({*zip(races, texts, strict=True)}) == len({*races})
            if one_each and all(cells.is_date(text) or _UNIX.fullmatch(text) for text in texts):
                return {"ended_at": (at,)}
        return {}

    def _unclaimed(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the position of the first of these names that stands for nothing else yet, or none."""
        used = self._empty.union(*self.at.values())
        found = (at for name in names for at, own in enumerate(self.plain) if own == name and at not in used)
        return tuple([at for at in [next(found, None)] if at is not None])

    def _claim_alike(self, ours: str, below: Sequence[Sequence[str]]) -> None:
        """Take the only name with other words beside a known one, or a finish with times or places."""
        known, used = {*COLUMNS[ours]}, self._empty.union(*self.at.values())
        found = []
        for at, words in enumerate(self._words):
            own = words - (_UNITS if ours == "time" else set())
            timed = any(":" in row[at].partition("(")[0] or _OF_DAY.fullmatch(row[at]) for row in below)
            finish = timed if ours == "time" else ours == "place" and "finish" in own and not timed
            if at not in used and own and own <= known | _BESIDE[ours] and (own & known or finish):
                found.append(at)
        if len(found) == 1 and (ours == "player" or not self._rivals(ours, found[0])):
            self.at[ours] = (found[0],)
        elif not found and ours == "player":
            self.at.pop("team", None)
            of_team = self._unclaimed(KNOWN["names"]["teams"])
            differ = {at: len({row[at] for row in below}) for at in self.named(below)}
            if of_team and of_team[0] == max(differ, key=differ.__getitem__, default=-1):
                self.at[ours] = of_team

    def named(self, below: Sequence[Sequence[str]]) -> list[int]:
        """Return the positions of columns whose cells are all filled and may be names of players."""
        free = (at for at, name in enumerate(self.plain) if name and not TOTAL.fullmatch(name))
        lines = [row for row in below if len(list(filter(None, row))) > 1]  # and no titles
        columns = {at: [row[at] for row in lines] for at in free}
        return [at for at, texts in columns.items() if texts and all(map(may_be_name, texts))]

    def _rivals(self, ours: str, at: int) -> bool:
        """Return whether other columns than those of totals have one of our names among others, too."""
        free = {*range(len(self.names))} - {at, *chain(*self.at.values())}
        of_us = (each for each in free if self._words[each] & {*COLUMNS[ours]})
        return not all(TOTAL.fullmatch(self.plain[each]) for each in of_us)

    def has_parts(self, columns: Sequence[int], below: Sequence[Sequence[str]]) -> bool:
        """Return whether columns may be parts of one race, as `Swim` and `Run` are, or have a total time."""
        named = [at for at in columns if _PART.fullmatch(self.plain[at])]
        named += [at for at, words in enumerate(self._words) if words & _WHOLE]
        return any(":" in row[at] for row in below for at in named)

    def find(self, *wanted: str) -> int | None:
        """Return the position of the first of these names that there is: as written, or in plain words."""
        for name in wanted:
            for names, text in ((self.names, name.strip()), (self.plain, plain(name))):
                if text and text in names:
                    return names.index(text)
        return None

    def whole_times(self, below: Sequence[Sequence[str]]) -> list[int]:
        """Return the times that are whole numbers, if their unit is not known."""
        of_time = () if self._unit or len(self.at.get("time", ())) != 1 else self.at["time"]
        return [int(row[at]) for at in of_time for row in below if row[at].isdecimal()]

    def names_race(self, at: int) -> bool:
        """Return whether a column is named like one race of several."""
        return RACE_NAME.fullmatch(self.plain[at]) is not None or cells.is_date(self.names[at])

    def results(self) -> list[str]:
        """Return which columns of results there are."""
        return [name for name in RESULTS if name in self.at]

    def titles(self, *columns: str) -> dict[str, str]:
        """Return the file's own names of our columns, by default of all, of those that there are."""
        wanted = columns or tuple(self.at)
        return {ours: "+".join(self.names[at] for at in self.at[ours]) for ours in wanted if ours in self.at}

    def texts(self, row: Sequence[str], *columns: str) -> dict[str, str]:
        """Return the cells of our columns, by default of all, of those that there are."""
        found = {
            ours: row[at[0]] if len(at) == 1 else " ".join(row[each] for each in at).strip()
            for ours, at in self.at.items()
            if not columns or ours in columns
        }
        if self._won and "place" in found:
            found["place"] = cells.WON.get(found["place"].lower(), found["place"])
        if self._unit and found.get("time", "")[-1:].isdecimal() and ":" not in found["time"]:
            found["time"] += f" {self._unit}"
        return found

    def pair(self) -> list[tuple[int, ...]]:
        """Return the positions of the two players of a line, or of their teams' members, if it has two."""
        if named := [self.at[each] for each in OF_TWO[:2] if each in self.at]:
            return named if named[1:] else []
        third = {"2": "3", "b": "c"}
        for names in PAIRS:
            found: list[tuple[int, ...]] = [(at,) for at in map(self.find, names) if at is not None]
            if found[1:] and names[1][:-1] + third.get(names[1][-1], "-") not in self.plain:
                return found
        scored = ({f"{name} {each}" for each in KNOWN["scores"]} for name in self.plain)
        own = [at for at, names in enumerate(scored) if not names.isdisjoint(self.plain)]
        return [(at,) for at in own] if len(own) == 2 else []

    def in_order(self) -> list[int]:
        """Return the positions of the columns 1st, 2nd, 3rd and so on, or none."""
        found = dict[int, int]()
        for at, name in enumerate(self.plain):
            bare = " ".join(word for word in name.split() if word not in _ASKED)
            match = _ORDINAL.fullmatch(name) or _ORDINAL.fullmatch(bare)
            number = int(match[1] or match[2]) if match else NAMED_PLACES.get(name) or NAMED_PLACES.get(bare)
            found |= {number: at} if number else {}
        wanted = list(range(1, len(found) + 1))
        return [found[n] for n in wanted] if len(found) > 1 and sorted(found) == wanted else []
