"""Ratings after a history, odds of a next race, and forecasts of every past one as rows for CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from racebot.errors import NoSuchEntryError
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.ratings.models.trueskill import TrueSkill
from racebot.study.history import Earlier, History, Step, at_start, final_states, replay
from racebot.study.metrics import observed_pairs, ranks
from racebot.text.parse import did_you_mean, fold_name


class RatedPlayer(NamedTuple):
    """A player's rating after a history."""

    name: str
    points: int
    rating: float
    races: int


class Odds(NamedTuple):
    """A forecast for one entrant of a race.

    Attributes:
        finish_chance: probability of finishing; None if the model does not forecast finishes.
        expected_place: mean place; those who do not finish share the rest.
        before: probabilities of being placed before each entrant, in order; None for the entrant alone.
    """

    name: str
    points: int
    win_chance: float
    finish_chance: float | None
    expected_place: float
    before: tuple[float | None, ...]


PAIR_COLUMNS = (
    *("model", "race", "ended_at", "better", "worse"),
    *("better_rating", "worse_rating", "probability"),
)
"""Columns of a file of pairs. The probability is that of the actual result."""
ENTRANT_COLUMNS = (
    *("model", "race", "ended_at", "player", "place", "finished", "rating", "points"),
    *("win_chance", "finish_chance", "expected_place", "match_quality"),
)
"""Columns of a file of entrants. Those who share a place have the mean of their places."""


def final_ratings(history: History, model: RatingModel) -> list[RatedPlayer]:
    """Return the ratings after all races, best first."""
    states = final_states(model, history)
    ratings, points = model.rating(states).tolist(), model.points(states).tolist()
    races = history.races_of_players().tolist()
    rows = (RatedPlayer(*each) for each in zip(history.names, points, ratings, races, strict=True))
    return sorted((row for row in rows if row.races), key=lambda row: (-row.rating, row.name))


def odds(model: RatingModel, names: Sequence[str], states: FloatArray) -> list[Odds]:
    """Forecast a race between players with these states: shape [n, k]."""
    finishes: Sequence[float | None] = [None] * len(names)
    if isinstance(model, PredictsFinish):
        finishes = finish_chances(model, states).tolist()
    before = model.win_probability(states[:, np.newaxis], states[np.newaxis]).tolist()
    columns = (
        model.points(states).tolist(),
        win_chances(model, states).tolist(),
        finishes,
        expected_places(model, states).tolist(),
        (tuple(None if i == j else p for j, p in enumerate(row)) for i, row in enumerate(before)),
    )
    return [Odds(*each) for each in zip(names, *columns, strict=True)]


def find_player(history: History, name: str) -> int:
    """Return the index of a player by name or id, ignoring case, accents and surplus spaces.

    Raises:
        NoSuchEntryError: no player has that name, or several have.
    """
    for key in (str, str.casefold, fold_name):
        wanted = key(name)
        found = [
            i
            for i, names in enumerate(zip(history.players, history.names, strict=True))
            if wanted in map(key, names)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(history.players[i] for i in found)
            raise NoSuchEntryError(f"{len(found)} players are named {name!r}: choose one by id: {ids}")
    raise NoSuchEntryError(f"no player {name!r}{did_you_mean(name, history.names)}")


def forecast_rows(
    history: History,
    models: Sequence[tuple[str, RatingModel]],
    since: datetime | None = None,
    earlier: Earlier | None = None,
) -> Iterator[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
    """Yield the forecasts of each race's pairs and entrants, model by model, as rows of the two files.

    Args:
        since: skip races that ended before this time.
        earlier: an earlier history from which ratings carry over.
    """
    for label, model in models:
        for step in replay(model, history, at_start(model, history, earlier)):
            if since is None or step.race.ended_at >= since:
                shared = (label, step.race.name, step.race.ended_at.isoformat())
                pairs, entrants = _pairs(history, model, step), _entrants(history, model, step)
                yield [(*shared, *row) for row in pairs], [(*shared, *row) for row in entrants]


def _pairs(history: History, model: RatingModel, step: Step) -> Iterator[tuple[Any, ...]]:
    better, worse = observed_pairs(step.race.outcome)
    rating = model.rating(step.before).tolist()
    chances = model.win_probability(step.before[better], step.before[worse]).tolist()
    ids = [history.players[player] for player in step.race.players.tolist()]
    for a, b, chance in zip(better.tolist(), worse.tolist(), chances, strict=True):
        yield ids[a], ids[b], rating[a], rating[b], chance


def _entrants(history: History, model: RatingModel, step: Step) -> Iterator[tuple[Any, ...]]:
    outcome, before = step.race.outcome, step.before
    quality = float(model.match_quality(before, outcome.team)) if isinstance(model, TrueSkill) else None
    columns = (
        ranks(outcome.group),
        (~outcome.unfinished).astype(np.intp),
        model.rating(before),
        model.points(before),
        win_chances(model, before),
        finish_chances(model, before),
        expected_places(model, before),
    )
    for player, *row in zip(step.race.players.tolist(), *(each.tolist() for each in columns), strict=True):
        yield history.players[player], *row, quality
