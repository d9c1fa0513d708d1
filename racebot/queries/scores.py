"""Scores by par of a leaderboard's races, computed from the stored results when they are read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.scoring.need import Forecast
from racebot.scoring.rules import Rules
from racebot.scoring.table import Table, score_race, standings


def league(ledger: Ledger, board: Leaderboard, rules: Rules, *coming: RaceResult) -> Table:
    """Return the table of a leaderboard, and of results that are not stored yet.

    Hidden players only make pars. Races whose finishers have no times are left out.
    """
    results = [*(stored.result for stored in ledger.races.of(board)), *coming]
    timed = [r for r in results if all(e.finish_time for e in r.entrants if e.finished)]
    races = (score_race(result, rules, TeamPolicy(board.teams)) for result in timed)
    return standings(filter(None, races), rules, ledger.orders.hidden())


def document(table: Table) -> dict[str, Any]:
    """Return a table as JSON can hold it: rules, races with their pars in seconds, and racers, best first."""
    cut, names = table.rules.cut, [race.result.name for race in table.races]
    forecast = None if cut is None else Forecast(table, cut)
    return {
        "rules": asdict(table.rules),
        "line": None if forecast is None else forecast.line,
        "races": [
            {"race": race.result.name, "ended_at": race.result.ended_at, "par": race.par and asdict(race.par)}
            for race in table.races
        ],
        "racers": [
            {
                "place": each.place,
                "id": each.player,
                "name": each.name,
                "score": each.total.score,
                "entered": each.total.entered,
                "finished": each.total.finished,
                "outlook": None if forecast is None else asdict(forecast.of(each)),
                "scores": [
                    {"race": name, "time": found.time, "score": found.score, "counted": index in each.counted}
                    for index, (name, found) in enumerate(zip(names, each.scores, strict=True))
                    if found is not None
                ],
            }
            for each in table.standings
        ],
    }
