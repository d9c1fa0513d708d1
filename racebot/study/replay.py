"""Replaying a history: predict each race from the states before it, then update, in time order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from racebot.ratings.model import FloatArray, RatingModel
from racebot.study.history import History, PastRace


class Step(NamedTuple):
    """One race of a replay.

    Attributes:
        race: the race.
        before: states of its entrants before the race: shape [n, k], or [candidates, n, k] in a sweep.
        after: states after it, likewise.
    """

    race: PastRace
    before: FloatArray
    after: FloatArray


def newcomers(model: RatingModel, history: History) -> FloatArray:
    """A table of states in which nobody has raced: shape [players, k], or [candidates, players, k]."""
    initial = model.initial()
    shape = (*initial.shape[:-1], len(history.players), initial.shape[-1])
    return np.array(np.broadcast_to(initial[..., np.newaxis, :], shape))


def replay(model: RatingModel, history: History, table: FloatArray | None = None) -> Iterator[Step]:
    """Rate a history race by race.

    Args:
        model: with single parameters, or with arrays of them: then every race is rated for all
            candidates at once.
        history: the races, in the order in which they are rated.
        table: states to start from, of the shape that `newcomers` gives; it is updated in place, and
            carries the ratings into the next replay. By default nobody has raced.
    """
    if table is None:
        table = newcomers(model, history)
    for race in history.races:
        before = table[..., race.players, :]
        after = model.rate(before, race.outcome)
        table[..., race.players, :] = after
        yield Step(race, before, after)
