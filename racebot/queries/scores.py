"""Scores by par of a leaderboard's races, computed from the stored results when they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from statistics import fmean
from typing import Any

from racebot.errors import PayloadError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.scoring.need import Forecast, Outlook
from racebot.scoring.rules import Rules
from racebot.scoring.table import ScoredRace, Table, score_race, standings


@dataclass(frozen=True, slots=True)
class LeagueRacer:
    """A racer of a league, with a score or None for each race.

    `estimate` is the mean of the races finished, if all of a league's races count and one not run scores 0.
    """

    place: int
    id: str
    name: str
    score: float
    estimate: float | None
    entered: int
    finished: int
    outlook: Outlook | None
    scores: list[dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class LeagueTable:
    """A league's scores by par. `line` is the total at the cut, `par` the par so far in seconds."""

    rules: dict[str, Any]
    par: float | None
    line: float | None
    races: list[dict[str, Any]]
    racers: list[LeagueRacer]


def league(ledger: Ledger, board: Leaderboard, rules: Rules, *coming: RaceResult, before: str = "") -> Table:
    """Return the table of a leaderboard's races, or of those before one, and of results to come.

    Hidden players only make pars. Races whose finishers have no times are left out.
    """
    stored = takewhile(lambda each: each.name != before, (row.result for row in ledger.races.of(board)))
    races = (scored(board, result, rules) for result in [*stored, *coming])
    return standings(filter(None, races), rules, ledger.orders.hidden())


def scored(board: Leaderboard, result: RaceResult, rules: Rules | None) -> ScoredRace | None:
    """Score a race of a leaderboard. Return None for one without times, or that does not count."""
    try:
        return None if rules is None else score_race(result, rules, TeamPolicy(board.teams))
    except PayloadError:
        return None


def document(table: Table) -> LeagueTable:
    """Return a table as JSON can hold it: rules, races with their pars, and racers, best first."""
    cut = table.rules.cut
    has_estimate = table.rules.first is None and table.rules.mean_over not in {None, 1}
    forecast = None if cut is None else Forecast(table, cut)
    races = [
        {"race": race.result.name, "ended_at": race.result.ended_at, "par": race.par and asdict(race.par)}
        for race in table.races
    ]
    racers = []
    for each in table.standings:
        scores = [
            {"race": race["race"], "time": own.time, "score": own.score, "counted": at in each.counted}
            if own
            else None
            for at, (race, own) in enumerate(zip(races, each.scores, strict=True))
        ]
        total, outlook = each.total, None if forecast is None else forecast.of(each)
        finished = [points for points in each.points if points is not None]
        estimate = fmean(finished) if finished and has_estimate else None
        of_total = total.score, estimate, total.entered, total.finished
        racers.append(LeagueRacer(each.place, each.player, each.name, *of_total, outlook, scores))
    par, line = (forecast.par, forecast.line) if forecast else (None, None)
    return LeagueTable(asdict(table.rules), par.time if par else None, line, races, racers)
