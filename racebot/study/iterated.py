"""Rate a history with iterated Elo, and judge the ratings on later races."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from racebot.ratings.model import FloatArray
from racebot.ratings.models.iterated_elo import FinalRatings, IteratedElo, Match
from racebot.ratings.parameters import Parameters, as_json, from_mapping
from racebot.study.history import History, PastRace
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
    players: tuple[IteratedRating, ...]
    factors: tuple[IteratedRating, ...]
    judged: int
    misordered: float | None
    log_loss: float | None


def model_of(parameters: Parameters) -> IteratedElo:
    """Create the model from its parameters. Numbers may be text.

    Raises:
        ModelError: a name is unknown or a value is invalid.
    """
    return IteratedElo(**from_mapping(IteratedElo, parameters))


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
    earlier, later = history.split(share)
    matches = [_match(history, race, named, numbers) for race in earlier.races]
    ratings = model.fit(matches, len(history.players), len(numbers))
    wrong, loss = [], []
    for race in later.races:
        match = _match(history, race, named, numbers)
        strength = _strengths(model, ratings, match)
        better, worse = observed_pairs(race.outcome)
        wrong.append(misordered(strength[better], strength[worse]))
        loss.append(log_loss(model.win_probability(strength[better], strength[worse])))
    raced = earlier.races_of_players()
    used = np.zeros(len(numbers), dtype=np.intp)
    for match in matches:
        if match.factors is not None:
            np.add.at(used, match.factors, 1)
    return Iterated(
        parameters=as_json(model),
        races=len(earlier),
        players=_ranked(history.names, ratings.players, raced.tolist()),
        factors=_ranked(tuple(numbers), ratings.factors, used.tolist()),
        judged=len(later),
        misordered=float(np.mean(np.concatenate(wrong))) if wrong else None,
        log_loss=float(np.mean(np.concatenate(loss))) if loss else None,
    )


def _match(
    history: History, race: PastRace, factors: Mapping[tuple[str, str], str], numbers: Mapping[str, int]
) -> Match:
    chosen = [factors.get((race.name, history.players[player])) for player in race.players.tolist()]
    known = [numbers[name] for name in chosen if name is not None]
    complete = len(known) == len(chosen) > 0
    return Match(race.players, race.outcome, np.array(known, dtype=np.intp) if complete else None)


def _strengths(model: IteratedElo, ratings: FinalRatings, match: Match) -> FloatArray:
    players: FloatArray = ratings.players[match.players]
    if match.factors is None:
        return players
    strengths: FloatArray = players + model.factor_weight * ratings.factors[match.factors]
    return strengths


def _ranked(names: tuple[str, ...], ratings: FloatArray, races: list[int]) -> tuple[IteratedRating, ...]:
    rows = [IteratedRating(*row) for row in zip(names, ratings.tolist(), races, strict=True) if row[2]]
    return tuple(sorted(rows, key=lambda row: -row.rating))
