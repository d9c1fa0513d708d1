"""Forecasts: the odds of a race between any players."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Change, Leaderboard, State, states_of
from racebot.ledger.store import Ledger
from racebot.queries import Beside, FinishByRating, FinishChance, IsNew, WinChance
from racebot.ratings import registry
from racebot.ratings.forecast import (
    expected_places,
    finish_chances,
    finishing_habit,
    win_chances,
    with_habits,
)
from racebot.ratings.model import PredictsFinish
from racebot.standings.rater import current_states

STARTS = 100  # most starts of a player that tell how often they finish


@dataclass(frozen=True, slots=True)
class EntrantForecast:
    """A forecast for one entrant of a race."""

    points: int
    win_chance: WinChance
    finish_chance: FinishChance
    finish_by_rating: FinishByRating
    expected_place: Annotated[float, Field(description="Mean place; unfinished entrants share the rest")]


@dataclass(frozen=True, slots=True)
class PlayerOdds:
    """A forecast for one player."""

    forecast: Beside[EntrantForecast]
    id: str
    name: Annotated[str | None, Field(description="null for an unknown player")]
    new: IsNew


def winner_of(
    board: Leaderboard, changes: Sequence[Change], shown: Collection[Change]
) -> tuple[Change | None, float]:
    """Return the change of a race's winner among those `shown`, or None, and the chance to win before it."""
    number = next((n for n, each in enumerate(changes) if each.place == 1 and each in shown), None)
    if number is None:
        return None, 0.0
    model = registry.create(board.model, board.parameters)
    chances = win_chances(model, np.array([change.before for change in changes]))
    return changes[number], float(chances[number])


def forecasts(
    board: Leaderboard, states: Sequence[State], habits: Sequence[float] | None = None
) -> list[EntrantForecast]:
    """Forecast a race of entrants with these states on a leaderboard, in the same order.

    `habits` are the entrants' `finishing_habits`. Only the chances to finish count them: they make no better
    forecast of the order.
    """
    if not states:
        return []
    model = registry.create(board.model, board.parameters)
    rows = np.array(states)
    points, wins = model.points(rows).tolist(), win_chances(model, rows).tolist()
    finishes: Iterable[float | None] = repeat(None)
    by_rating = finishes
    if isinstance(model, PredictsFinish):
        chances = finish_chances(model, rows)
        by_rating = chances.tolist()
        finishes = by_rating if habits is None else with_habits(chances, np.array(habits)).tolist()
    places = expected_places(model, rows).tolist()
    return list(map(EntrantForecast, points, wins, finishes, by_rating, places))


def finishing_habits(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[float]:
    """Return how much more each player finishes than the rating says; see `finishing_habit`.

    It is not stored, since it depends on the fitted forecast. The last `STARTS` races count.
    """
    model = registry.create(board.model, board.parameters)
    if not isinstance(model, PredictsFinish) or board.id is None:
        return [0.0] * len(players)
    sql = (
        "SELECT state_before, place FROM changes INDEXED BY changes_by_player"
        " WHERE leaderboard = ? AND player = ? ORDER BY sequence DESC LIMIT ?"
    )
    found = []
    for player in players:
        starts = ledger.connection.rows(sql, board.key, player, STARTS)[::-1]
        finished = np.array([start["place"] is not None for start in starts])
        states = np.array(states_of([start["state_before"] for start in starts]))
        chances = finish_chances(model, states) if starts else np.empty(0)
        found.append(finishing_habit(chances, finished))
    return found


def odds(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[PlayerOdds]:
    """Forecast a race of any players. An unknown player counts as a newcomer."""
    withheld = ledger.people.withheld()
    # Nothing may tell a hidden player from an unknown one.
    shown = ["" if player in withheld else player for player in players]
    states, known = current_states(ledger, board, shown), map(ledger.players.get, shown)
    found = forecasts(board, [state for state, _ in states], finishing_habits(ledger, board, shown))
    return [
        PlayerOdds(forecast, player, each.shown if each else None, not raced)
        for player, each, forecast, (_, raced) in zip(players, known, found, states, strict=True)
    ]
