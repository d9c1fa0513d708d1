"""Scores by par of a leaderboard's races, computed from the stored results when they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from statistics import fmean
from typing import Any

from racebot.errors import PayloadError
from racebot.ledger.races import EXCLUDED, SKIPPED
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.scoring.need import Forecast, Outlook
from racebot.scoring.rules import Rules
from racebot.scoring.table import LeagueStanding, ScoredRace, ScoreTable, score_race, standings


@dataclass(frozen=True, slots=True)
class LeagueRacer:
    """A racer of a league, with a score or None for each race.

    The function `estimate` describes its field.
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


def league(
    ledger: Ledger, board: Leaderboard, rules: Rules, *coming: RaceResult, before: str = ""
) -> ScoreTable:
    """Return the table of a leaderboard's races, or of those before one, and of results to come.

    Hidden players only make pars. Races that an order excludes or skips, and races whose finishers have no
    times, are left out.
    """
    coming = tuple(result for result in coming if ledger.races.note(board, result.name) is None)
    stored = takewhile(lambda each: each.name != before, (row.result for row in ledger.races.counted(board)))
    races = (scored(board, result, rules) for result in [*stored, *coming])
    return standings(filter(None, races), rules, ledger.people.hidden())


def scored(
    board: Leaderboard, result: RaceResult, rules: Rules | None, note: str | None = None
) -> ScoredRace | None:
    """Score a race of a leaderboard. Return None for one without times, or with a note of an order."""
    if rules is None or note in {EXCLUDED, SKIPPED}:
        return None
    try:
        return score_race(result, rules, TeamPolicy(board.teams))
    except PayloadError:
        return None


def forecast_of(table: ScoreTable) -> Forecast | None:
    """Return the chances of a table's racers to qualify; None without a cut."""
    return None if table.rules.cut is None else Forecast(table, table.rules.cut)


def estimate(table: ScoreTable, racer: LeagueStanding) -> float | None:
    """Return the mean of the races finished, if all races count and one not run scores 0."""
    if table.rules.first is not None or table.rules.mean_over in {None, 1} or not racer.total.finished:
        return None
    return fmean(points for points in racer.points if points is not None)


def document(table: ScoreTable) -> LeagueTable:
    """Return a table as JSON can hold it: rules, races with their pars, and racers, best first."""
    forecast = forecast_of(table)
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
        of_total = total.score, estimate(table, each), total.entered, total.finished
        racers.append(LeagueRacer(each.place, each.id, each.name, *of_total, outlook, scores))
    par, line = (forecast.par, forecast.line) if forecast else (None, None)
    return LeagueTable(asdict(table.rules), par.time if par else None, line, races, racers)
