"""The names of a table's columns, and which of our columns each stands for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN, NAMED_PLACES
from racebot.files.options import (
    COLUMNS,
    DEFAULT,
    OF_TWO,
    PAIRS,
    RACE_NAME,
    RESULTS,
    TOTAL,
    ReadOptions,
    by_columns,
    few,
    padded,
    plain,
)

_BESIDE = {ours: {*words} for ours, words in KNOWN["beside"].items()}
_UNITS, _SEASONS = {*KNOWN["units"]}, ("season", "year", "series", "regatta")
_OF_DAY = re.compile(r"0\.\d{4,}")  # a workbook's time in a cell without that format
_ASKED = {*KNOWN["asked"]}
_MOMENTS = tuple(f" {name}" for name in KNOWN["moments"])
_ORDINAL = re.compile(r"(?:place |pos |position )(\d{1,4})|(\d{1,4})(?:st|nd|rd|th)(?: place)?")


def may_be_name(text: str) -> bool:
    """Return whether a text may name a player: no word, result or date."""
    return text.lower() not in {"", *cells.WORDS} and not (cells.is_result(text) or cells.is_date(text))


class Header:
    """The names of columns in one `row`: the file's own `names`, and these in `plain` words.

    `at` has the positions of each of our columns, and `missing` what was asked for and is not there. First
    columns that `options` name are claimed, then known names, and if these may be `alike`, those with other
    words beside, as in `Your final time (ms)`. Columns that mean another thing beside others are let go.

    `below` are the first rows, as wide as the names.
    """

    def __init__(
        self,
        row: Sequence[str],
        options: ReadOptions = DEFAULT,
        below: Sequence[list[str]] = (),
        alike: bool = False,
    ) -> None:
        self.row = [*row]
        self.names = [" ".join(cell.split()) for cell in row]
        self.plain = [plain(cell) for cell in row]
        self.options = options
        self.below = [padded(each, len(row)) for each in below]
        self.at: dict[str, tuple[int, ...]] = {}
        self.missing: dict[str, str] = {}
        self._words = [{*plain(cell).split()} for cell in row]
        self._given = options.columns.keys() - {"cells"}
        self._empty = {at for at in range(len(row)) if self.below and self._is_empty(at)}
        for ours in options.columns.keys() & self._given:
            self._claim_given(ours, options.columns[ours])
        for ours, names in options.known.items():
            if ours not in self._given and (found := self._known(ours, names)):
                self.at[ours] = found
        for ours in _BESIDE if alike else ("time",) if "place" in self.at else ():
            if self._is_free(ours):
                self._claim_alike(ours)
        self._settle_time()
        self._settle_race()
        self._settle_player()
        self._won = self._settle_result()
        self.used = {at for positions in self.at.values() for at in positions}

    def column(self, at: int) -> list[str]:
        """Return the first cells of a column."""
        return [row[at] for row in self.below]

    def _is_empty(self, at: int) -> bool:
        """Return whether a column named like races or players has none: no text, flags, or a count."""
        texts = {*self.column(at)}
        if self.plain[at] in {"players", "participants", "teilnehmer"}:
            return all(map(str.isdecimal, texts - {""}))
        return self.plain[at] in {*COLUMNS["race"], *_SEASONS} and texts in ({""}, {"0", "1"})

    def _is_free(self, ours: str) -> bool:
        """Return whether one of our columns may be claimed."""
        return ours in self.options.known.keys() - self._given - self.at.keys()

    def _claim_given(self, ours: str, theirs: str) -> None:
        """Claim the columns that an option names, also as `Season+Round`, or note that they are missing."""
        parts = [theirs] if self.find(theirs) is not None else theirs.split("+")
        columns = {part: [at for at in [self.find(part)] if at is not None] for part in parts}
        lacking = [part for part, own in columns.items() if not own]
        if ours == "unused":  # which may also name lines, and the columns below a merged cell
            for part in lacking:
                begin = f"{plain(part)} "
                columns[part] = [at for at, own in enumerate(self.plain) if own.startswith(begin)]
            lacking = [part for part in lacking if not columns[part]]
            lacking = [part for part in lacking if part and not any(part in row for row in self.below)]
        if theirs and lacking:
            self.missing[ours] = theirs
        elif found := tuple(chain(*columns.values())):
            self.at[ours] = found

    def _known(self, ours: str, names: Sequence[str]) -> tuple[int, ...]:
        """Return the column with a known name, for dates perhaps one that is named as the race, too."""
        if (found := self._unclaimed(names)) or ours != "ended_at":
            return found
        shared = [at for at in [self.find(*names)] if at is not None and at in self.at.get("race", ())]
        return tuple(at for at in shared if all(map(cells.is_date, filter(None, self.column(at)))))

    def _unclaimed(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the position of the first of these names that stands for nothing else yet, or none."""
        used = self._empty.union(*self.at.values())
        found = (at for name in names for at, own in enumerate(self.plain) if own == name and at not in used)
        return tuple([at for at in [next(found, None)] if at is not None])

    def _claim_alike(self, ours: str) -> None:
        """Claim the only name with other words beside a known one, or a finish with times or places."""
        known, used = {*COLUMNS[ours]}, self._empty.union(*self.at.values())
        found = []
        for at, words in enumerate(self._words):
            own = words - (_UNITS if ours == "time" else set())
            timed = any(":" in text.partition("(")[0] or _OF_DAY.fullmatch(text) for text in self.column(at))
            finish = timed if ours == "time" else ours == "place" and "finish" in own and not timed
            if at not in used and own and own <= known | _BESIDE[ours] and (own & known or finish):
                found.append(at)
        if len(found) == 1 and (ours == "player" or not self._rivals(ours, found[0])):
            self.at[ours] = (found[0],)
        elif not found and ours == "player":
            self.at.pop("team", None)
            of_team = self._unclaimed(KNOWN["names"]["teams"])
            differ = {at: len({*self.column(at)}) for at in self.named()}
            if of_team and of_team[0] == max(differ, key=differ.__getitem__, default=-1):
                self.at[ours] = of_team

    def _rivals(self, ours: str, at: int) -> bool:
        """Return whether other columns than those of totals have one of our names among others, too."""
        free = {*range(len(self.names))} - {at, *chain(*self.at.values())}
        of_us = (each for each in free if self._words[each] & {*COLUMNS[ours]})
        return not all(TOTAL.fullmatch(self.plain[each]) for each in of_us)

    def _settle_time(self) -> None:
        """Take a lone column of seconds for the time, and learn the unit of times by name or by size."""
        lone = {*RESULTS}.isdisjoint({*self.at, *self._given}) and not self._unclaimed(KNOWN["clock"])
        if lone and self._is_free("time"):
            seconds = self._unclaimed(("seconds", "secs"))
            self.at |= {"time": seconds} if seconds else {}
        units = [unit for at in self.at.get("time", ()) for unit in self._words[at] & _UNITS]
        self._unit = "".join(units) if len(units) == 1 else ""
        if max(self.whole_times(), default=0) >= 1_000_000:  # in seconds, eleven days
            self._unit = "ms"
        if any(_OF_DAY.fullmatch(text) for at in self.at.get("time", ()) for text in self.column(at)):
            self._unit = "d"

    def _settle_race(self) -> None:
        """Name races by their season and heat, too, or by the list of JSON, and claim moments as dates."""
        if "list" in self.at and not {"race", "ended_at"} & {*self.at, *self._given}:
            self.at["race"] = self.at.pop("list")
        elif "race" in self.at and "race" not in self._given:
            self.at["race"] = self._unclaimed(_SEASONS) + self.at["race"] + self._unclaimed(("heat",))
        races = [tuple(row[at] for at in self.at.get("race", ())) for row in self.below]
        moments = [at for at, name in enumerate(self.plain) if f" {name}".endswith(_MOMENTS)]
        for at in moments if races and self._is_free("ended_at") else ():
            texts = self.column(at)
            one_each = self.pair() or len({*zip(races, texts, strict=True)}) == len({*races})
            if one_each and all(cells.is_date(text) or cells.UNIX.fullmatch(text) for text in texts):
                self.at.setdefault("ended_at", (at,))

    def _settle_player(self) -> None:
        """Join first and last names, and let go a `name` that is not the player's, as that of a series."""
        own = self.at.get("player", ())
        parts = [
            self._unclaimed(names) or tuple(at for at in own if self.plain[at] in names)
            for names in (KNOWN["names"]["first"], KNOWN["names"]["last"])
        ]
        if "player" not in self._given and all(parts) and {*own} <= {*chain(*parts)}:
            self.at["player"] = tuple(chain(*parts))
        if "name" in self.at.keys() - self._given and "player" in self.at:
            people, called = ({*self.column(self.at[ours][0])} for ours in ("player", "name"))
            if 2 * len(called) <= len(people):
                del self.at["name"]

    def _settle_result(self) -> bool:
        """Let go results that others decide, and return whether places are signs such as W and L."""
        given = self._given
        if {"place", "score"} & self.at.keys():
            self.at.pop("laps", None)
        filled = {ours: sum(map(bool, self.column(at[0]))) for ours, at in self.at.items()}
        if 2 * filled.get("time", len(self.below)) < filled.get("score", 0) and "time" not in given:
            del self.at["time"]  # that of the winner only
        by_score = "score" in given or not {"place", "time"} & self.at.keys()
        for ours in ({"place", "time"} if by_score and "score" in self.at else {"score"}) - given:
            self.at.pop(ours, None)
        standing = [at for at in self.at.get("place", ()) if self.plain[at] in KNOWN["season_places"]]
        if standing and "place" not in given and self._rivals("place", *standing):
            del self.at["place"]
        free = {*RESULTS}.isdisjoint({*self.at, *given})
        who_won = self._unclaimed(KNOWN["won"]) if free else self.at.get("place", ())
        texts = {text.lower() for at in who_won for text in self.column(at)} - ABSENT
        won = cells.say_who_won(texts) and (free or not any(map(str.isdecimal, texts)))
        self.at |= {"place": who_won} if won else {}
        return won

    def named(self) -> list[int]:
        """Return the positions of columns whose cells are all filled and may be names of players."""
        free = (at for at, name in enumerate(self.plain) if name and not TOTAL.fullmatch(name))
        lines = [row for row in self.below if len(list(filter(None, row))) > 1]  # and no titles
        columns = {at: [row[at] for row in lines] for at in free}
        return [at for at, texts in columns.items() if texts and all(map(may_be_name, texts))]

    @cached_property
    def result_columns(self) -> list[int]:
        """The columns that hold places, times, scores or words only, and that are no totals."""
        words, found = cells.NO_RESULT | self.options.words.keys(), list[int]()
        # In a wide table, a column `place` or `points` is the standing after all races.
        standing = {*RESULTS, *cells.OUTCOMES, "status"}
        keys = {at for ours, each in self.at.items() if ours not in standing for at in each}
        named = (*RESULTS, "status", *(["race"] if "race" in self.at else []))
        totals = {name for ours in named for name in KNOWN["columns"][ours]}
        # The first row below the names may have the dates of races.
        dates = {text for row in self.below[:1] for text in row if cells.is_date(text)}
        for at, name in enumerate(self.plain):
            if name and at not in keys and name not in totals and not TOTAL.fullmatch(name):
                texts = {cells.told(text).lower() for text in self.column(at)} - dates
                results = sum(map(cells.is_result, texts - words))
                # One unknown word among the results of a race is an error, and no reason to leave it out.
                if any(texts) and (texts <= words or 2 * results >= len(texts - words) > 0):
                    found.append(at)
        return found

    def find(self, *wanted: str) -> int | None:
        """Return the position of the first of these names that there is: as written, or in plain words."""
        for name in wanted:
            for names, text in ((self.names, name.strip()), (self.plain, plain(name))):
                if text and text in names:
                    return names.index(text)
        return None

    def whole_times(self) -> list[int]:
        """Return the times that are whole numbers, if their unit is not known."""
        of_time = () if self._unit or len(self.at.get("time", ())) != 1 else self.at["time"]
        return [int(row[at]) for at in of_time for row in self.below if row[at].isdecimal()]

    def is_data(self) -> bool:
        """Return whether the names have a number, and one that stands again below: an entrant's line."""
        numbered = any(re.search(r"\d", name) for name in self.names)
        below = [row for row in self.below if row[: len(self.row)] != self.row] if numbered else []
        again = (name for at, name in enumerate(self.names) if any(row[at] == name for row in below))
        return any(map(may_be_name, again))

    def names_race(self, at: int) -> bool:
        """Return whether a column is named like one race of several."""
        return RACE_NAME.fullmatch(self.plain[at]) is not None or cells.is_date(self.names[at])

    def results(self) -> list[str]:
        """Return which columns of results there are."""
        return [name for name in RESULTS if name in self.at]

    def free(self) -> list[str]:
        """Return the names of columns that stand for nothing."""
        return [name for at, name in enumerate(self.names) if name and at not in self.used]

    def by_race(self) -> str:
        """Return the option that names the columns of races: the one that no player or place repeats in."""
        race, free = self.titles("race").get("race"), [self.names.index(name) for name in self.free()]
        named = [*filter(self._tells_races, (*self.at.get("ended_at", ()), *free))]
        if len(named) == 1:
            return by_columns(race="+".join(filter(None, (race, self.names[named[0]]))))
        one_of = few([self.names[at] for at in named or free], 5)
        option = by_columns(race=f"{race}+NAME" if race else "NAME")
        return f"{option}, with one of {one_of}," if one_of else option

    def _tells_races(self, at: int) -> bool:
        """Return whether each player and each place is once in lines that have this column in common."""
        keys = [(*(row[key] for key in self.at.get("race", ())), row[at]) for row in self.below]
        for ours in {"player", "place"} & self.at.keys():
            texts = (self.texts(row, ours)[ours] for row in self.below)
            seen = Counter((*key, text) for key, text in zip(keys, texts, strict=True) if text)
            if seen and max(seen.values()) > 1:
                return False
        return 2 * len({*keys}) <= len(keys)

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
