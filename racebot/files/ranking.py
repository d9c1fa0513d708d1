"""Ranks the entrants of one race by what its lines say: places, times, gaps or scores."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

from racebot.files import cells
from racebot.files.cells import DONE, BadCellError
from racebot.files.options import ReadOptions
from racebot.races.result import Entrant
from racebot.text.format import counted

_FAR_BEHIND, _SLOWEST = 1.5, 30
"""A last time this many times the one before may be no finish, and the first, in another unit."""
_SHARED = "add {by_race} if of several races or classes, or --columns team=NAME if of teams"
DOUBTS = {
    "looks like gaps after the first": ("time", "cells", "write +0:12, or sort the lines by time"),
    "equal in each race, as a time of day": ("time", "cells", "add --columns time= to leave it out"),
    "from the longest to the shortest": ("time", "cells", "add a column place if the longest wins"),
    "1, 2, 3 in each race": ("score", "cells", "if these are places, add --columns place={0}"),
    "from the lowest to the highest": ("score", "cells", "add --lowest-wins if less is better"),
    "two places 1 before a place 2": ("place", "race", _SHARED),
    "two places 1 and two places 2 in a race": ("place", "cells", _SHARED),
    "one entrant a race": ("ended_at", "cells", "add --columns date= if all are one race"),
}
"""What is wrong with races of a file: the column, another one that answers it, and the fix if it is wrong."""
SURE = {"two places 1 and two places 2 in a race"}
"""What is asked about if one race has it. Of others, most races need to."""


@dataclass(slots=True)
class Result:
    """What one line, with the hash of its `text`, says about an entrant, so much `behind` the first."""

    number: int
    entrant: Entrant
    text: int
    behind: tuple[int, int] | None = None  # laps and microseconds
    score: float | None = None

    def facts(self) -> tuple[object, ...]:
        """Return the result without the player."""
        own = self.entrant
        return own.status, own.place, own.finish_time, own.team, self.behind, self.score


@dataclass(slots=True)
class Ranking:
    """Ranks races, and remembers contradictions, times that may be `signs` for no finish, and `doubts`."""

    options: ReadOptions
    contradictions: list[int] = field(default_factory=list)
    signs: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)

    def rank(self, finishers: Sequence[Result]) -> None:
        """Leave the finishers their times if these count and agree with their places, or give them places.

        Raises BadCellError if some finishers have a place, a time or a score, and some have not.
        """
        own = [each.entrant for each in finishers]
        self.doubts["races"] += bool(own)
        self._settle_gaps(finishers)
        laps_differ = len({each.behind for each in finishers}) > 1
        timed = not laps_differ and all(each.finish_time is not None for each in own)
        self._look_at_places(finishers)
        if all(each.place for each in own):
            timed = timed and (self._agrees(finishers) or self.options.by_time)
        elif timed:
            self._look_at_times([each.finish_time or 0 for each in own])
            for entrant in own:
                entrant.place = None
        else:
            order = sorted(keys := self._keys(finishers))
            for entrant, key in zip(own, keys, strict=True):
                entrant.place = 1 + bisect_left(order, key)
        for entrant in own:
            entrant.finish_time = entrant.finish_time if timed else None

    def _settle_gaps(self, finishers: Sequence[Result]) -> None:
        """Add gaps in time to the first time, or raise a BadCellError for a time of zero."""
        times = (time for each in finishers if (time := each.entrant.finish_time) is not None)
        first = min(times, default=None)
        if first == 0 and not any(each.behind for each in finishers):
            line = next(each.number for each in finishers if each.entrant.finish_time == 0)
            fix = "write DNF or DNS, or say --words dnf=0:00:00, with the zero as written"
            placed = all(each.entrant.place for each in finishers)
            fix = "add --columns time= to rank by places" if placed else fix
            raise BadCellError("time", f"a time is zero in line {line}: {fix}")
        for each in finishers:
            if each.behind and not each.behind[0] and first is not None:
                each.entrant.finish_time, each.behind = first + each.behind[1], None  # laps stay

    def _look_at_places(self, finishers: Sequence[Result]) -> None:
        """Note doubts about places, and refuse a finisher without one beside others who have."""
        own = [each.entrant for each in finishers]
        places = [each.place for each in own if each.place]
        if places:
            shared = places.count(1) > 1 and 2 in places and not any(each.team for each in own)
            self.doubts["without a first"] += min(places) != 1
            self.doubts["two places 1 before a place 2"] += shared
            self.doubts["two places 1 and two places 2 in a race"] += shared and places.count(2) > 1
            far = (place for place in places if place > max(2 * len(places), 89))
            self.signs.update(str(place) for place in far if set(str(place)[:-1]) == {"9"})
        lacks = [each.number for each in finishers if not each.entrant.place]
        if places and lacks:
            fix = "write a place or DNF, name the column that says so by --columns status=NAME, or let times"
            raise BadCellError("place", f"empty in line {lacks[0]}: {fix} decide by --columns place=")

    def _look_at_times(self, times: Sequence[int]) -> None:
        """Note doubts about times without places, and refuse those that differ too much."""
        as_gaps = len(times) > 2 and times[0] > 2 * max(times[1:]) and times[1:] == sorted(times[1:])
        alike = times.count(last := max(times, default=0))
        before = max((time for time in times if time < last), default=last)
        if last > _FAR_BEHIND * before and (alike > 1 or last % 60_000_000 == 59_000_000):
            self.signs[str(timedelta(microseconds=last))] += alike
        mixed = 0 < _SLOWEST * min(times, default=0) < last
        if mixed and not as_gaps and self.options.columns.keys().isdisjoint({"time", "cells"}):
            fix = "write h:mm:ss in all lines, or DNF, or add --columns time=NAME if they are right"
            raise BadCellError("time", f"times differ by more than a factor of {_SLOWEST}: {fix}")
        several, falls = len({*times}), times == sorted(times, reverse=True) and not as_gaps
        self.doubts["looks like gaps after the first"] += as_gaps
        self.doubts["equal in each race, as a time of day"] += several == 1 < len(times)
        self.doubts["from the longest to the shortest"] += several > 3 and falls

    def key(self, result: Result) -> tuple[Any, ...]:
        """Return a key by which a better result of a race comes first."""
        own, score = result.entrant, (result.score or 0) * (1 if self.options.lowest_wins else -1)
        return not own.finished, own.place or 0, result.behind or (0, 0), own.finish_time or 0, score

    def notes(self) -> Iterator[str]:
        """Yield what contradicts, and what may be no finish."""
        if self.contradictions:
            what = "times count where places" if self.options.by_time else "places count where times"
            yield f"{what} contradict them: {lines_of(self.contradictions)}"
        if self.signs:
            shown = ", ".join(f"{n} × {sign}" for sign, n in self.signs.items())
            option = cells.quoted(f"dnf={'|'.join(self.signs)}")
            yield f"{shown}, apart from the rest: if that means no finish, add --words {option}"

    def _keys(self, finishers: Sequence[Result]) -> list[tuple[float, ...]]:
        if all(each.score is not None for each in finishers):
            scores = sorted(listed := [each.score or 0 for each in finishers])
            as_places = scores[-1:] > [1] and scores == [1 + bisect_left(scores, score) for score in scores]
            self.doubts["1, 2, 3 in each race"] += as_places
            self.doubts["from the lowest to the highest"] += len({*scores}) > 3 and listed == scores
            sign = 1 if self.options.lowest_wins else -1
            self.signs.update({"-1": 1} if sign == 1 and scores[:2] == [-1, 0] else {})
            return [(sign * (each.score or 0),) for each in finishers]
        if all(each.entrant.finish_time is not None or each.behind for each in finishers):
            return [(*(each.behind or (0, 0)), each.entrant.finish_time or 0) for each in finishers]
        raise BadCellError("time", "some finishers have a time, some not: fill in all or none")

    def _agrees(self, finishers: Sequence[Result]) -> bool:
        """Return whether times and places rank finishers alike, and note the lines that contradict."""
        own = ((each.entrant, each.number) for each in finishers)
        ranked = sorted((entrant.place or 0, entrant.finish_time or 0, number) for entrant, number in own)
        agrees = True
        for (place, time, _), (next_place, next_time, number) in pairwise(ranked):
            if next_time < time:
                self.contradictions.append(number)
            agrees &= time < next_time if place < next_place else time == next_time
        return agrees


def lines_of(numbers: Sequence[int]) -> str:
    """Say how many lines there are, and which is the first."""
    return f"{counted(len(numbers), 'line')}, the first is line {numbers[0]}"


def teammates_differ(races: Iterable[Iterable[Result]]) -> bool:
    """Return whether most teams with a finisher have members with different results, as clubs do."""
    equal: Counter[bool] = Counter()
    for results in races:
        teams: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
        for each in results:
            if each.entrant.team:
                teams[each.entrant.team].append(each.facts())
        finished = (facts for facts in teams.values() if any(fact[0] is DONE for fact in facts))
        equal.update(len(set(facts)) == 1 for facts in finished if len(facts) > 1)
    return equal[False] > equal[True]


def blank_places(results: Sequence[Result], blank: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the blank lines between two places that leave out one, and the place above."""
    for before, own, after in zip(results, results[1:], results[2:], strict=False):
        above, below = before.entrant.place or 0, after.entrant.place or 0
        if own.number in blank and above and below - above == 2:
            yield own.number, above
