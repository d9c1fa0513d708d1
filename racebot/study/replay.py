"""Replay a history in time order, and yield the states before and after each race."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from racebot.errors import ModelError
from racebot.ratings import fast
from racebot.ratings.model import Carries, FloatArray, RatingModel
from racebot.study.history import History, PastRace


class Step(NamedTuple):
    """One race of a replay.

    Attributes:
        race: the race.
        before: states of its entrants before the race: shape [n, k], or [candidates, n, k] in a sweep.
        after: states after the race, of the same shape.
    """

    race: PastRace
    before: FloatArray
    after: FloatArray


def newcomers(model: RatingModel, history: History) -> FloatArray:
    """Return a table of newcomers' states: shape [players, k], or [candidates, players, k]."""
    initial = model.initial()
    shape = (*initial.shape[:-1], len(history.players), initial.shape[-1])
    return np.array(np.broadcast_to(initial[..., np.newaxis, :], shape), order="C")


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """An earlier history from which ratings carry over.

    Attributes:
        history: the earlier races.
        factor: share of the distance from a newcomer's rating to keep; see `Carries`.
        most_races: most races to count; by default all.
    """

    history: History
    factor: float = 1.0
    most_races: float | None = None


def at_start(model: RatingModel, history: History, earlier: Earlier | None) -> FloatArray:
    """Return the table of states at the start of a history, carried over from an earlier one if given.

    Raises:
        ModelError: the model cannot carry ratings over.
    """
    return newcomers(model, history) if earlier is None else carried_over(model, history, earlier)


def carried_over(model: RatingModel, history: History, earlier: Earlier) -> FloatArray:
    """Return a table of states that carry over from an earlier history, shaped like `newcomers`.

    Players who are not in the earlier history are newcomers.

    Raises:
        ModelError: the model cannot carry ratings over.
    """
    if not isinstance(model, Carries):
        raise ModelError(f"{model.key} cannot carry ratings over")
    before = newcomers(model, earlier.history)
    for _ in replay(model, earlier.history, before):
        pass
    table = newcomers(model, history)
    number = {player: i for i, player in enumerate(earlier.history.players)}
    known = [i for i, player in enumerate(history.players) if player in number]
    if known:
        states = before[..., [number[history.players[i]] for i in known], :]
        table[..., known, :] = model.carried(states, earlier.factor, earlier.most_races)
    return table


def replay(model: RatingModel, history: History, table: FloatArray | None = None) -> Iterator[Step]:
    """Rate a history race by race.

    Args:
        model: a model with single parameters, or with arrays of shape [candidates], which rates each race for
            all candidates at once.
        history: the races, in the order to rate them.
        table: initial states, shaped like `newcomers`, which are the default. It is updated in place, up to a
            block of races ahead, so that the next replay can continue from it.
    """
    if table is None:
        table = newcomers(model, history)
    states = fast.replay(model, history.races, table)
    for race, (before, after) in zip(history.races, states, strict=True):
        yield Step(race, before, after)
