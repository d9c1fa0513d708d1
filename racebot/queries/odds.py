"""Forecasts: the odds of a race between any players."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Change, Leaderboard, State
from racebot.ledger.store import Ledger
from racebot.queries import Beside, FinishChance, IsNew, WinChance
from racebot.ratings import registry
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import PredictsFinish
from racebot.standings.rater import current_states


@dataclass(frozen=True, slots=True)
class EntrantForecast:
    """A forecast for one entrant of a race."""

    points: int
    win_chance: WinChance
    finish_chance: FinishChance
    expected_place: Annotated[float, Field(description="Mean place; unfinished entrants share the rest")]


@dataclass(frozen=True, slots=True)
class PlayerOdds:
    """A forecast for one player."""

    forecast: Beside[EntrantForecast]
    id: str
    name: Annotated[str | None, Field(description="null for an unknown player")]
    new: IsNew


def winner_of(
    board: Leaderboard, changes: Sequence[Change], hidden: Collection[str]
) -> tuple[Change | None, float]:
    """Return the change of a race's winner who is not hidden, or None, and the chance to win before it."""
    won = (n for n, each in enumerate(changes) if each.place == 1 and each.player not in hidden)
    number = next(won, None)
    if number is None:
        return None, 0.0
    model = registry.create(board.model, board.parameters)
    chances = win_chances(model, np.array([change.before for change in changes]))
    return changes[number], float(chances[number])


def forecasts(board: Leaderboard, states: Sequence[State]) -> list[EntrantForecast]:
    """Forecast a race of entrants with these states on a leaderboard, in the same order."""
    if not states:
        return []
    model = registry.create(board.model, board.parameters)
    rows = np.array(states)
    points, wins = model.points(rows).tolist(), win_chances(model, rows).tolist()
    predicts = isinstance(model, PredictsFinish)
    finishes: Iterable[float | None] = finish_chances(model, rows).tolist() if predicts else repeat(None)
    return list(map(EntrantForecast, points, wins, finishes, expected_places(model, rows).tolist()))


def odds(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[PlayerOdds]:
    """Forecast a race of any players. An unknown player counts as a newcomer."""
    withheld = ledger.people.withheld()
    # Nothing may tell a hidden player from an unknown one.
    shown = ["" if player in withheld else player for player in players]
    states, known = current_states(ledger, board, shown), map(ledger.players.get, shown)
    found = forecasts(board, [state for state, _ in states])
    return [
        PlayerOdds(forecast, player, each.shown if each else None, not raced)
        for player, each, forecast, (_, raced) in zip(players, known, found, states, strict=True)
    ]
