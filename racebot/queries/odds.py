"""Forecasts: the odds of a race between any players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.ratings import registry
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import PredictsFinish
from racebot.standings.rater import current_states


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast for one entrant of a race.

    `finish_chance` is None if the model has none. `expected_place` is the mean place; unfinished entrants
    share the rest.
    """

    points: int
    win_chance: float
    finish_chance: float | None
    expected_place: float


@dataclass(frozen=True, slots=True)
class PlayerOdds(Forecast):
    """A forecast for one player of a race that may never be held.

    `name` is None for an unknown player; `new` is True for a player without a race on this leaderboard.
    """

    id: str
    name: str | None
    new: bool


def forecasts(board: Leaderboard, states: Sequence[State]) -> list[Forecast]:
    """Forecast a race of entrants with these states on a leaderboard, in the same order."""
    if not states:
        return []
    model = registry.create(board.model, board.parameters)
    rows = np.array(states)
    finishes: Sequence[float | None] = [None] * len(rows)
    if isinstance(model, PredictsFinish):
        finishes = finish_chances(model, rows).tolist()
    places = expected_places(model, rows).tolist()
    values = zip(
        model.points(rows).tolist(), win_chances(model, rows).tolist(), finishes, places, strict=True
    )
    return [Forecast(*each) for each in values]


def finish_chance(board: Leaderboard, state: State) -> float | None:
    """Return a player's chance to finish the next race; None if the model has none."""
    model = registry.create(board.model, board.parameters)
    return (
        float(model.finish_probability(np.array([state]))[0]) if isinstance(model, PredictsFinish) else None
    )


def odds(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[PlayerOdds]:
    """Forecast a race of any players. An unknown player counts as a newcomer."""
    states = current_states(ledger, board, players)
    known = {player: ledger.players.get(player) for player in players}
    return [
        PlayerOdds(
            points=forecast.points,
            win_chance=forecast.win_chance,
            finish_chance=forecast.finish_chance,
            expected_place=forecast.expected_place,
            id=player,
            name=None if (found := known[player]) is None else found.shown,
            new=not raced,
        )
        for player, forecast, (_, raced) in zip(
            players, forecasts(board, [state for state, _ in states]), states, strict=True
        )
    ]
