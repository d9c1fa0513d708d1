"""Forecasts: the odds of a race between any players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.ratings import registry
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import PredictsFinish
from racebot.standings.rater import current_states


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast for one entrant of a race."""

    points: int
    win_chance: float
    finish_chance: Annotated[float | None, Field(description="null if the model has none")]
    expected_place: Annotated[float, Field(description="Mean place; unfinished entrants share the rest")]


@dataclass(frozen=True, slots=True)
class PlayerOdds(Forecast):
    """A forecast for one player of a race that may never be held."""

    id: str
    name: Annotated[str | None, Field(description="null for an unknown player")]
    new: Annotated[bool, Field(description="True for a player without a race on this leaderboard")]


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
    states = [state for state, _ in current_states(ledger, board, players)]
    found, known = forecasts(board, states), _known(ledger, board, players)
    return [
        PlayerOdds(
            points=forecast.points,
            win_chance=forecast.win_chance,
            finish_chance=forecast.finish_chance,
            expected_place=forecast.expected_place,
            id=player,
            name=known[player][0],
            new=known[player][1],
        )
        for player, forecast in zip(players, found, strict=True)
    ]


def _known(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> dict[str, tuple[str | None, bool]]:
    """Return each player's name, and whether the player is new to the leaderboard."""
    found = {}
    for player in players:
        known = ledger.players.get(player)
        found[player] = (None if known is None else known.shown, ledger.standing(board, player) is None)
    return found
