"""Scores by par of a leaderboard's races, computed from the stored results when they are read."""

from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from statistics import fmean
from typing import Any

from racebot.errors import PayloadError
from racebot.ledger.races import EXCLUDED, SKIPPED
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import NO_NAME, RaceResult
from racebot.scoring.rules import Rules
from racebot.scoring.table import (
    Forecast,
    LeagueStanding,
    Outlook,
    ScoredRace,
    ScoreTable,
    score_race,
    standings,
)


@dataclass(frozen=True, slots=True)
class LeagueRacer:
    """A racer of a league, with a score or None for each race.

    The function `estimate` describes its field. `division` is the sum and its divisor, if races are missing.
    """

    place: int
    id: str
    name: str
    score: float
    division: str
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


@dataclass(frozen=True, slots=True)
class ComingScore:
    """A racer's score in a race that is not recorded yet, with the total and the place that it makes.

    `before` is the place until then. `margin` is how far the total is above the best one outside the cut, or
    if below zero, below the last one inside; None without a cut.
    """

    id: str
    name: str
    time: float | None
    score: float
    counted: bool
    total: float
    before: int | None
    place: int
    margin: float | None


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
    table = standings(filter(None, races), rules, ledger.people.hidden())
    found = ledger.people.names(each.id for each in table.standings)
    names = {player: name for player, name in found.items() if name != NO_NAME}
    rows = (replace(each, name=names.get(each.id, each.name)) for each in table.standings)
    return replace(table, standings=tuple(rows))


def coming_scores(
    ledger: Ledger, board: Leaderboard, rules: Rules, result: RaceResult
) -> tuple[float | None, list[ComingScore]]:
    """Return the par in seconds of a race that is not recorded yet, and its racers' scores, best first."""
    table = league(ledger, board, rules, result)
    race = table.races[-1] if table.races else None
    if race is None or race.result.name != result.name:
        return None, []
    totals, cut, at = [each.total.score for each in table.standings], rules.cut, len(table.races) - 1
    before = {each.id: each.place for each in table.until(at).standings}
    found = []
    for index, each in enumerate(table.standings):
        if (own := each.scores[at]) is not None:
            rival = None if cut is None else cut if index < cut else cut - 1
            line = None if rival is None or rival >= len(totals) else totals[rival]
            margin = None if line is None else totals[index] - line
            found.append(
                ComingScore(
                    id=each.id,
                    name=each.name,
                    time=own.time,
                    score=own.score,
                    counted=at in each.counted,
                    total=totals[index],
                    before=before.get(each.id),
                    place=each.place,
                    margin=margin,
                )
            )
    par = None if race.par is None else race.par.time
    return par, sorted(found, key=lambda each: -each.score)


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
        racers.append(
            LeagueRacer(
                place=each.place,
                id=each.id,
                name=each.name,
                score=each.total.score,
                division=each.total.division,
                estimate=estimate(table, each),
                entered=each.total.entered,
                finished=each.total.finished,
                outlook=None if forecast is None else forecast.of(each),
                scores=scores,
            )
        )
    par, line = (forecast.par, forecast.line) if forecast else (None, None)
    return LeagueTable(asdict(table.rules), par.time if par else None, line, races, racers)
