"""Compare the order of players by their mean score by par with the order by rating, before each race."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings.model import RatingModel
from racebot.scoring.rules import Rules
from racebot.scoring.table import score_race
from racebot.study.history import History, replay
from racebot.study.metrics import misordered, observed_pairs
from racebot.study.paired import Tally


def compare(
    history: History, results: Iterable[RaceResult], model: RatingModel, rules: Rules, least: int = 3
) -> tuple[Tally, Tally]:
    """Return the misordered pairs of each race by rating and by mean score, from the races before it.

    Only pairs count whose players both have `least` earlier races. `results` are those of the history.
    """
    scored = {each.name: score_race(each, rules, TeamPolicy.INDIVIDUAL) for each in results}
    total, count = np.zeros(len(history.players)), np.zeros(len(history.players))
    costs, cases = [], []
    for race, before, _ in replay(model, history):
        better, worse = observed_pairs(race.outcome)
        kept = (count[race.players] >= least)[[better, worse]].all(axis=0)
        better, worse = better[kept], worse[kept]
        orders = model.rating(before), (total / np.maximum(count, 1))[race.players]
        costs.append([misordered(order[better], order[worse]).sum() for order in orders])
        cases.append(len(better))
        if (found := scored[race.name]) is not None:
            total[race.players] += [found.scores[history.players[player]].score for player in race.players]
            count[race.players] += 1
    by_rating, by_score = np.array(costs).T
    pairs = np.array(cases, dtype=np.intp)
    return Tally(by_rating, pairs), Tally(by_score, pairs)
