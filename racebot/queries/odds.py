"""Forecasts: the odds of a race between any players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.fields import FinishChance, IsNew, WinChance
from racebot.races.change import Change, State
from racebot.ratings import registry
from racebot.ratings.forecast import ahead_chances, expected_places, finish_chances, win_chances
from racebot.ratings.model import PredictsFinish
from racebot.standings.rater import current_states
from racebot.text.format import with_fields


@dataclass(frozen=True, slots=True)
class EntrantForecast:
    """A forecast for one entrant of a race."""

    points: int
    win_chance: WinChance
    finish_chance: FinishChance
    expected_place: Annotated[float, Field(description="Mean place; unfinished entrants share the rest")]


@dataclass(frozen=True, slots=True)
class PlayerOdds(EntrantForecast):
    """A forecast for one player."""

    id: str
    name: Annotated[str | None, Field(description="null for an unknown player")]
    new: IsNew


def forecasts(board: Leaderboard, states: Sequence[State]) -> list[EntrantForecast]:
    """Forecast a race of entrants with these states on a leaderboard, in the same order."""
    if not states:
        return []
    model = registry.create(board.model, board.parameters)
    rows = np.array(states)
    points, wins = model.points(rows).tolist(), win_chances(model, rows).tolist()
    finishes = finish_chances(model, rows).tolist() if isinstance(model, PredictsFinish) else repeat(None)
    return list(map(EntrantForecast, points, wins, finishes, expected_places(model, rows).tolist()))


def odds(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[PlayerOdds]:
    """Forecast a race of any players. An unknown player counts as a newcomer."""
    withheld = ledger.people.withheld()
    # Nothing may tell a hidden player from an unknown one.
    shown = ["" if player in withheld else player for player in players]
    states, known = current_states(ledger, board, shown), map(ledger.players.get, shown)
    found = forecasts(board, [state for state, _ in states])
    return [
        with_fields(PlayerOdds, forecast, id=player, name=each and each.shown, new=not raced)
        for player, each, forecast, (_, raced) in zip(players, known, found, states, strict=True)
    ]


def expected_course(
    board: Leaderboard, changes: Sequence[Change], times: Sequence[float | None]
) -> list[tuple[float, list[float]]]:
    """Return the expected places of a rated race at its start and after each finish.

    Racers still under way are expected behind the finishers, in the order that their ratings predict. That is
    exact for Plackett-Luce models, and close for others, which learn a little from how late it is.

    Args:
        changes: the rated entrants of an individual race.
        times: their finish times in seconds, None for those who did not finish.

    Returns:
        Pairs of a moment, in seconds after the start, and everybody's place at it.
    """
    model = registry.create(board.model, board.parameters)
    ahead = ahead_chances(model, np.array([change.before for change in changes]))
    np.fill_diagonal(ahead, 0.0)
    ended = np.array([np.inf if time is None else time for time in times])
    taken = 1.0 + (ended < ended[:, np.newaxis]).sum(1)
    course = []
    for moment in [0.0, *np.unique(ended[ended < np.inf]).tolist()]:
        racing = ended > moment
        expected = 1.0 + np.sum(~racing) + ahead[racing].sum(0)
        course.append((moment, np.where(racing, expected, taken).tolist()))
    return course
