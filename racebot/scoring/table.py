"""The standings of a league from its races, who is sure to qualify, and which time the others need."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from statistics import fmean
from typing import NamedTuple

from racebot.errors import PayloadError
from racebot.races.outcome import TeamPolicy
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.scoring.rules import Par, Rules, par_of
from racebot.text.format import timer

Key = tuple[int, float]
"""Orders racers, higher first: races up to the number needed, then the total, rounded to make ties exact."""
MINUTE = 60.0
SLOWEST = 4 * 86_400
"""Seconds. A racer for whom this time is fast enough needs any finish."""


class Score(NamedTuple):
    """A racer's score in a race. `time` is in seconds; None for a forfeit. `raw` has no limits."""

    entrant: Entrant
    time: float | None
    score: float = 0.0
    raw: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoredRace:
    """A race with its par (None if nobody finished), and the racers' scores by user id, best first."""

    result: RaceResult
    par: Par | None
    scores: Mapping[str, Score]


class Total(NamedTuple):
    """The total of a racer's scores.

    `entered` and `finished` count the races that can count; `counted` are the indices of the scores added up,
    and `divisor` what their sum is divided by.
    """

    score: float
    entered: int
    finished: int
    counted: tuple[int, ...]
    divisor: int
    key: Key

    @property
    def division(self) -> str:
        """Return the sum and its divisor as text if that is above the number of scores, otherwise nothing."""
        missing = self.divisor > len(self.counted)
        return f"{self.score * self.divisor:.1f} ÷ {self.divisor}" if missing else ""


@dataclass(frozen=True, slots=True)
class LeagueStanding:
    """A racer of a league. Equal racers share a `place`.

    `points` are the scores of the races entered, None for a forfeit.
    `scores` has an item for each race, None if not entered; `counted` are the indices of those added up.
    """

    id: str
    name: str
    place: int
    total: Total
    points: tuple[float | None, ...]
    scores: tuple[Score | None, ...]
    counted: frozenset[int]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A league's races in order of counting, and its racers, best first."""

    rules: Rules
    races: tuple[ScoredRace, ...]
    standings: tuple[LeagueStanding, ...]

    def until(self, end: int) -> ScoreTable:
        """Return the table after its first races, with the same racers left out."""
        racers = {player for race in self.races for player in race.scores}
        return standings(self.races[:end], self.rules, racers - {each.id for each in self.standings})


def score(time: float, par: Par, rules: Rules) -> tuple[float, float]:
    """Return the score of a finish time in seconds, within its limits and before them.

    Sources of the ratio: https://github.com/midoshouse/midos.house, https://github.com/tcprescott/sahasrahbot
    """
    allowed = 0.0 if rules.family == "ratio" else sum(standard_allowances(time, par, rules))
    over, of = time - par.time, par.time
    if rules.family == "standard-s4":
        over -= min(10 * MINUTE, allowed)
    else:
        of += allowed
    raw = rules.full * (1 - over / of)
    return raw if rules.lowest <= raw <= rules.highest else min(max(raw, rules.lowest), rules.highest), raw


def score_race(result: RaceResult, rules: Rules, teams: TeamPolicy) -> ScoredRace | None:
    """Score a race. Return None for a team race that does not count.

    Only `TeamPolicy.INDIVIDUAL` counts team races. Entrants without an account, and those who are still
    racing, are part of the field and have no score. A finisher without a time is a `PayloadError`.
    """
    if result.team_race and teams is not TeamPolicy.INDIVIDUAL:
        return None
    times = [entrant.seconds for entrant in result.entrants]
    for each, time in zip(result.entrants, times, strict=True):
        if not time and each.finished:
            raise PayloadError(f"race {result.name}: {each.name} has no finish time: scores need times")
    par = par_of([time for time in times if time is not None], len(times), rules)
    scores, racing = {}, EntrantStatus.RACING
    for time, entrant in zip(times, result.entrants, strict=True):
        if entrant.user_id is not None and entrant.status is not racing:
            found = (0.0, 0.0) if time is None or par is None else score(time, par, rules)
            scores[entrant.user_id] = Score(entrant, time, *found)
    best_first = sorted(scores.items(), key=lambda item: item[1].score, reverse=True)
    return ScoredRace(result, par, dict(best_first))


def standings(races: Iterable[ScoredRace], rules: Rules, hidden: Collection[str] = ()) -> ScoreTable:
    """Return a league's table from its races, in order of counting. `hidden` racers have no line."""
    races = tuple(races)
    names = {player: each.entrant.name for race in races for player, each in race.scores.items()}
    length = max(rules.races or 0, len(races))
    found = []
    for player, name in names.items():
        scores = tuple([race.scores.get(player) for race in races])
        points = tuple([None if each.time is None else each.score for each in scores if each is not None])
        total = add_up(points, rules, length)
        if player not in hidden:
            found.append(((-total.key[0], -total.key[1]), name, player, scores, points, total))
    found.sort(key=lambda row: (row[0], row[1].casefold(), row[2]))
    order, rows = [row[0] for row in found], []
    for key, name, player, scores, points, total in found:
        entered = [index for index, each in enumerate(scores) if each is not None]
        standing = LeagueStanding(
            id=player,
            name=name,
            place=bisect_left(order, key) + 1,
            total=total,
            points=points,
            scores=scores,
            counted=frozenset(entered[index] for index in total.counted),
        )
        rows.append(standing)
    return ScoreTable(rules, races, tuple(rows))


def add_up(entered: Sequence[float | None], rules: Rules, length: int) -> Total:
    """Return the total of a racer's scores in order of counting. None stands for a forfeit.

    `length` is the league's number of races.
    """
    entered = entered[: rules.first]
    values = [each or 0.0 for each in entered]
    finished = len(entered) - entered.count(None)
    kept = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    if rules.drop_forfeits:
        kept = [index for index in kept if entered[index] is not None]
    if rules.drop_best_from is not None and len(entered) >= rules.drop_best_from:
        kept = kept[1:]
    if rules.drop_worst_from is not None and len(entered) >= rules.drop_worst_from:
        kept = kept[:-1]
    kept = kept[: rules.best]
    least = length if rules.mean_over == "races" else rules.mean_over or 1
    divisor = 1 if rules.mean_over is None else max(least, len(kept))
    total = fsum([values[index] for index in kept]) / divisor
    satisfying = finished if rules.needed_are == "finished" else len(entered)
    key = (min(satisfying, rules.needed), round(total, 9))
    return Total(total, len(entered), finished, tuple(kept), divisor, key)


def standard_allowances(time: float, par: Par, rules: Rules) -> tuple[float, float]:
    """Return the seconds that fast seeds and spread seeds allow for a finish time in seconds.

    With d the time over par, s the spread of the par times and r = s/par, in minutes:

    - fast seeds allow J = min(8, h · max(0, .35 · d/8)), where h grows from 0 to 8 as par falls;
    - spread seeds allow G = min(5, .3 · max(0, d) · max(0, r/.035 − 1)).

    Source: the Standard tournament's rules, as in https://github.com/midoshouse/midos.house.
    """
    slow, fast = rules.fast_seeds
    over = max(0.0, (time - par.time) / MINUTE)
    height = 8 * min(1.0, max(0.0, (slow - par.time / MINUTE) / (slow - fast)))
    for_spread = 0.3 * over * max(0.0, par.spread / par.time / 0.035 - 1)
    return min(8.0, height * 0.35 * over / 8) * MINUTE, min(5.0, for_spread) * MINUTE


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
