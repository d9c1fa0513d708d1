"""Which racers are sure to qualify, and which time the others need in the next race."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from racebot.scoring.rules import Par
from racebot.scoring.table import Key, LeagueStanding, ScoreTable, add_up, score
from racebot.text.format import timer

SLOWEST = 4 * 86_400
"""Seconds. A racer for whom this time is fast enough needs any finish."""


class Chance(StrEnum):
    """What a racer's qualification depends on."""

    SECURED = "secured"
    INSIDE = "inside"
    """Qualified unless others improve."""
    TIME = "time"
    """Qualified with a time in the next race, if nobody else improves."""
    FINISH = "any finish"
    OUT_OF_REACH = "out of reach"
    OVER = "over"
    """Not qualified, and no race to come can count."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """A racer's chance to qualify. `time` is the slowest in the next race that suffices, in whole seconds."""

    chance: Chance
    time: int | None = None

    @property
    def words(self) -> str:
        return _WORDS.get(self.chance, str(self.chance)) + ("" if self.time is None else timer(self.time))


_WORDS = {
    Chance.INSIDE: "inside the cut",
    Chance.TIME: "needs ",
    Chance.FINISH: "needs any finish",
    Chance.OUT_OF_REACH: "not in one race",
    Chance.OVER: "no race left",
}


class Forecast:
    """The outlook of the racers of a table with a cut.

    A racer is inside the cut if fewer others than it are as good or better: no rule says which of the racers
    who are equal at the cut qualify.
    """

    def __init__(self, table: ScoreTable, cut: int) -> None:
        self.table, self.cut, rules = table, cut, table.rules
        run, pars = len(table.races), [race.par for race in table.races if race.par is not None]
        self.par = Par(fmean(p.time for p in pars), fmean(p.spread for p in pars)) if pars else None
        """The par so far: the mean of the races' pars, with their mean spread."""
        # With an open number of races, as many may come as can count.
        self._coming = rules.first if rules.races is None else max(0, rules.races - run)
        self._length = run + (self._coming or 0)
        self._next_length = max(run + 1, rules.races or 0)
        self._keys = sorted(each.total.key for each in table.standings)
        keep = rules.mean_over != "races"
        self._unchanged = {s.id: s.total.key if keep else self._next(s) for s in table.standings}
        self._now = sorted(self._unchanged.values())
        self._reach = {each.id: self._after(each, rules.highest) for each in table.standings}
        self._best = sorted(self._reach.values())
        self._newcomer = add_up([rules.highest] * (self._coming or 0), rules, self._length).key

    @property
    def line(self) -> float | None:
        """Return the total of the last racer inside the cut; None if there are fewer racers."""
        standings = self.table.standings
        return standings[self.cut - 1].total.score if len(standings) >= self.cut else None

    def of(self, standing: LeagueStanding) -> Outlook:
        """Return a racer's outlook.

        A place is secured if it holds when the racer forfeits every race to come, and everybody else, with
        any number of newcomers, scores the most that is possible. Without a limit of races, no place is.
        """
        rules, total, par = self.table.rules, standing.total, self.par
        worst = self._after(standing, None)
        better = _at_least(worst, self._best) - (self._reach[standing.id] >= worst)
        if self._coming is not None and better < self.cut and (self._newcomer < worst or not self._coming):
            return Outlook(Chance.SECURED)
        if _at_least(total.key, self._keys) <= self.cut:
            return Outlook(Chance.INSIDE)
        if self._coming == 0 or total.entered == rules.first:
            return Outlook(Chance.OVER)
        if par is None or not self._suffices(standing, rules.highest):
            return Outlook(Chance.OUT_OF_REACH)
        if self._suffices(standing, score(SLOWEST, par, rules)[0]):
            return Outlook(Chance.FINISH)

        def too_slow(time: int) -> bool:
            return not self._suffices(standing, score(time, par, rules)[0])

        return Outlook(Chance.TIME, bisect_left(range(1, SLOWEST), True, key=too_slow))

    def _suffices(self, standing: LeagueStanding, coming: float) -> bool:
        then = self._next(standing, coming)
        return _at_least(then, self._now) - (self._unchanged[standing.id] >= then) < self.cut

    def _after(self, standing: LeagueStanding, each: float | None) -> Key:
        """Return a racer's key after all races to come, with the same score in each."""
        entered = [*standing.points, *[each] * (self._coming or 0)]
        return add_up(entered, self.table.rules, self._length).key

    def _next(self, standing: LeagueStanding, *coming: float) -> Key:
        """Return a racer's key after the next race, with a score in it or without."""
        return add_up([*standing.points, *coming], self.table.rules, self._next_length).key


def _at_least(key: Key, keys: list[Key]) -> int:
    return len(keys) - bisect_left(keys, key)
