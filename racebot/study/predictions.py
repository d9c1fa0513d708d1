"""Ratings after a history, and the odds of a next race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from racebot.errors import NoSuchEntryError
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.study.history import History, final_states
from racebot.text.parse import fold_name, nearest


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


def final_ratings(
    history: History, model: RatingModel, states: FloatArray | None = None
) -> list[RatedPlayer]:
    """Return the ratings after all races, best first, or by these states of the players: shape [n, k]."""
    states = final_states(model, history) if states is None else states
    columns = model.points(states), model.rating(states), history.races_of_players()
    each = zip(history.names, *(column.tolist() for column in columns), strict=True)
    return sorted((RatedPlayer(*row) for row in each if row[3]), key=lambda row: (-row.rating, row.name))


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
    known = {fold_name(each): each for each in history.names}
    near = nearest(fold_name(name), known)
    hint = f" (did you mean {known[near]!r}?)" if near else ""
    raise NoSuchEntryError(f"no player {name!r}{hint}")
