"""Rate a history with iterated Elo, and judge the ratings on later races."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from racebot.ratings.model import FloatArray
from racebot.ratings.models.iterated_elo import IteratedElo, Match
from racebot.ratings.parameters import Parameters, as_json
from racebot.study.history import History
from racebot.study.metrics import log_loss, misordered, observed_pairs


@dataclass(frozen=True, slots=True)
class IteratedRating:
    """A player or a factor with its rating."""

    name: str
    rating: float
    races: int


@dataclass(frozen=True, slots=True)
class Iterated:
    """The ratings after all passes, highest first.

    Attributes:
        factors: ratings of all factors; empty if the races have none.
        judged: number of later races used to judge the ratings.
        misordered: share of misordered pairs in the judged races; None without pairs.
        log_loss: mean log loss over their pairs, in nats; None without pairs.
    """

    parameters: Parameters
    races: int
    players: list[IteratedRating]
    factors: list[IteratedRating]
    judged: int
    misordered: float | None
    log_loss: float | None


def iterate(
    history: History,
    model: IteratedElo,
    factors: Mapping[tuple[str, str], str] | None = None,
    share: float = 1.0,
) -> Iterated:
    """Rate the first races of a history, and judge the ratings on the rest.

    Args:
        factors: each entrant's factor, by race name and player. Factors only count in races where every
            entrant has one.
        share: share of the races to rate; the rest judge.
    """
    named = factors or {}
    numbers = {name: i for i, name in enumerate(dict.fromkeys(named.values()))}
    matches = []
    for race in history.races:
        chosen = [named.get((race.name, history.players[player])) for player in race.players.tolist()]
        known = [numbers[name] for name in chosen if name is not None]
        complete = np.array(known, dtype=np.intp) if len(known) == len(chosen) else None
        matches.append(Match(race.players, race.outcome, complete))
    earlier, later = history.split(share)
    ratings = model.fit(matches[: len(earlier)], len(history.players), len(numbers))
    wrong, loss = [], []
    for match in matches[len(earlier) :]:
        strength = ratings.players[match.players]
        if match.factors is not None:
            strength = strength + model.factor_weight * ratings.factors[match.factors]
        better, worse = observed_pairs(match.outcome)
        wrong.append(misordered(strength[better], strength[worse]))
        loss.append(log_loss(model.win_probability(strength[better], strength[worse])))
    used = [np.empty(0, dtype=np.intp)]
    used += [match.factors for match in matches[: len(earlier)] if match.factors is not None]
    raced = np.bincount(np.concatenate(used), minlength=len(numbers))
    return Iterated(
        parameters=as_json(model),
        races=len(earlier),
        players=_ranked(history.names, ratings.players, earlier.races_of_players().tolist()),
        factors=_ranked(list(numbers), ratings.factors, raced.tolist()),
        judged=len(later),
        misordered=float(np.mean(np.concatenate(wrong))) if wrong else None,
        log_loss=float(np.mean(np.concatenate(loss))) if loss else None,
    )


def _ranked(names: Sequence[str], ratings: FloatArray, races: list[int]) -> list[IteratedRating]:
    rows = [IteratedRating(*row) for row in zip(names, ratings.tolist(), races, strict=True) if row[2]]
    return sorted(rows, key=lambda row: -row.rating)
