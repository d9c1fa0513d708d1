"""Ranks the listed players of a leaderboard in columns, and makes rows of those that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, TypeVar, overload

import numpy as np
from pydantic import Field

from racebot.ledger.rankings import StandingColumns
from racebot.ledger.rows import Leaderboard, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry
from racebot.ratings.model import FloatArray
from racebot.standings.queries.listing import Listing

MOVEMENT_WINDOW = timedelta(days=7)
"""Movement is measured over this time before the leaderboard's last race."""
T = TypeVar("T")
_LAST = 2**63 - 1
"""No sequence number is larger."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Change of a listed player's points and place; `places` is None if they were not listed before."""

    points: int
    places: int | None


@dataclass(frozen=True, slots=True)
class RatedPlayer:
    """A player with a rating on a leaderboard."""

    place: Annotated[int | None, Field(description="null if the player is not listed")]
    id: str
    name: str
    points: int
    rating: Annotated[float, Field(description="The number that ranks, before rounding to points")]
    state: Annotated[tuple[float, ...], Field(description="Everything the model stores about the player")]
    races: int
    finishes: int
    wins: int
    last_race_at: datetime
    provisional: bool


@dataclass(frozen=True, slots=True)
class ListedPlayer(RatedPlayer):
    """A player on a leaderboard. Equal ratings share a place."""

    place: int
    moved: Annotated[
        Movement | None, Field(description="Change since `since`; null if the player had not raced by then")
    ]


@dataclass(frozen=True, slots=True)
class Past:
    """Everybody's standing at the start of the movement, in the order of the current standings.

    Attributes:
        raced: whether the player had raced by then.
        points: points; as now for a player who had not raced.
        places: place; 0 for a player who was not listed.
    """

    raced: Sequence[bool]
    points: Sequence[int]
    places: Sequence[int]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of a leaderboard at one time.

    Attributes:
        standings: everybody's standing, in no order.
        ratings: everybody's rating, in the order of `standings`.
        rows: indexes of the listed players in `standings`, best first, then by name.
        places: the places of `rows`; equal ratings share one.
        latest: when the last race ended; None without races.
        since: start of the movement; None without races.
        past: everybody's standing at that time.
    """

    standings: StandingColumns
    ratings: Sequence[float]
    rows: Sequence[int]
    places: Sequence[int]
    latest: datetime | None
    since: datetime | None
    past: Past

    def movement(self, index: int) -> Movement | None:
        """Return how a listed player moved; None if they had not raced before."""
        row, past = self.rows[index], self.past
        if not past.raced[row]:
            return None
        places = past.places[row] - self.places[index] if past.places[row] else None
        return Movement(self.standings.points[row] - past.points[row], places)


class ListedPlayers(Sequence[ListedPlayer]):
    """Listed players in order. A player is read when asked for, so the ledger must stay open.

    The methods that return a column have one value for each player, in the same order.

    Args:
        provisional_races: ratings after fewer races are provisional.
        chosen: indexes of players in the order of the ranking; all if None.
    """

    def __init__(
        self, ledger: Ledger, ranking: Ranking, provisional_races: int, chosen: Sequence[int] | None = None
    ) -> None:
        self._ledger = ledger
        self._ranking = ranking
        self._provisional_races = provisional_races
        self._chosen = range(len(ranking.rows)) if chosen is None else chosen
        self._kept: list[ListedPlayer] | None = None

    def keep(self) -> None:
        """Read all players and keep them, for an export, which shows each of them several times."""
        self._kept = self[:]

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> ListedPlayer: ...
    @overload
    def __getitem__(self, index: slice) -> list[ListedPlayer]: ...
    def __getitem__(self, index: int | slice) -> ListedPlayer | list[ListedPlayer]:
        if self._kept is not None:
            return self._kept[index]
        if isinstance(index, slice):
            return self._read(self._chosen[index])
        return self._read([self._chosen[index]])[0]

    def __iter__(self) -> Iterator[ListedPlayer]:
        return iter(self[:])

    def choose(self, indexes: Sequence[int]) -> ListedPlayers:
        """Return the players at these indexes, in their order."""
        chosen = [self._chosen[index] for index in indexes]
        return ListedPlayers(self._ledger, self._ranking, self._provisional_races, chosen)

    def names(self) -> list[str]:
        return self._ledger.rankings.names(self._column(self._ranking.standings.players))

    def places(self) -> list[int]:
        return [self._ranking.places[index] for index in self._chosen]

    def points(self) -> list[int]:
        return self._column(self._ranking.standings.points)

    def points_won(self) -> list[int]:
        """Return how far each player's points moved; 0 for a player who had not raced before."""
        then = self._column(self._ranking.past.points)
        return [now - before for now, before in zip(self.points(), then, strict=True)]

    def races(self) -> list[int]:
        return self._column(self._ranking.standings.races)

    def finishes(self) -> list[int]:
        return self._column(self._ranking.standings.finishes)

    def wins(self) -> list[int]:
        return self._column(self._ranking.standings.wins)

    def last_race_at(self) -> list[str]:
        """Return when each player's last race ended, as `exact_time` formats it."""
        return self._column(self._ranking.standings.last_race_at)

    def _column(self, values: Sequence[T]) -> list[T]:
        return [values[self._ranking.rows[index]] for index in self._chosen]

    def _read(self, chosen: Sequence[int]) -> list[ListedPlayer]:
        ranking, standings = self._ranking, self._ranking.standings
        rows = [ranking.rows[index] for index in chosen]
        names = self._ledger.rankings.names([standings.players[row] for row in rows])
        states = states_of([standings.states[row] for row in rows])
        return [
            ListedPlayer(
                place=ranking.places[index],
                id=standings.players[row],
                name=name,
                points=standings.points[row],
                rating=ranking.ratings[row],
                state=state,
                races=standings.races[row],
                finishes=standings.finishes[row],
                wins=standings.wins[row],
                last_race_at=moment_of(standings.last_race_at[row]),
                provisional=standings.races[row] < self._provisional_races,
                moved=ranking.movement(index),
            )
            for index, row, name, state in zip(chosen, rows, names, states, strict=True)
        ]


def rank(ledger: Ledger, board: Leaderboard, listing: Listing, sequence: int | None = None) -> Ranking:
    """Rank the listed players of a leaderboard.

    Args:
        sequence: rank the standings after this race of the sequence; the current ones if None.
    """
    if sequence is None:
        standings, values = ledger.rankings.now(board.key)
        ratings = np.array(values, dtype=np.float64)
    else:
        standings = ledger.rankings.after(board.key, sequence)
        ratings = _ratings(board, states_of(standings.states))
    hidden = ledger.orders.hidden()
    shown = np.array([player not in hidden for player in standings.players], dtype=np.bool_)
    listed = shown & listing.lists(standings.finishes, standings.last_race_at)
    rows, places = _in_order(ledger, standings.players, ratings, np.flatnonzero(listed))
    latest = moment_of(max(standings.last_race_at)) if standings.players else None
    since = None if latest is None else latest - MOVEMENT_WINDOW
    last = _LAST if sequence is None else sequence
    return Ranking(
        standings=standings,
        ratings=ratings.tolist(),
        rows=rows.tolist(),
        places=places.tolist(),
        latest=latest,
        since=since,
        past=_past(ledger, board, listing, standings, ratings, shown, since, last),
    )


def _in_order(
    ledger: Ledger, players: Sequence[str], ratings: FloatArray, listed: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the rows of listed players, best first and then by name, and their places."""
    rows = listed[np.argsort(-ratings[listed], kind="stable")]
    falling = -ratings[rows]
    places = 1 + np.searchsorted(falling, falling, side="left")
    tied = np.flatnonzero(np.bincount(places)[places] > 1)
    if tied.size:
        ids = [players[row] for row in rows[tied]]
        # As COLLATE NOCASE of SQLite compares names.
        names = [name.encode().lower() for name in ledger.rankings.names(ids)]
        in_order = sorted(zip(places[tied].tolist(), names, ids, rows[tied].tolist(), strict=True))
        rows[tied] = [row for *_, row in in_order]
    return rows, places


def _past(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    standings: StandingColumns,
    ratings: FloatArray,
    shown: BoolArray,
    since: datetime | None,
    last: int,
) -> Past:
    """Undo the races from `since` up to the sequence number `last`."""
    before = {}
    if since is not None:
        first = ledger.sequence_until(board, since) + 1
        before = ledger.rankings.before(board.key, first, last)
    changed = [row for row, player in enumerate(standings.players) if player in before]
    earlier = [before[standings.players[row]] for row in changed]
    ratings, raced = ratings.copy(), np.ones(ratings.size, dtype=np.bool_)
    points, finishes = (
        np.array(standings.points, dtype=np.int64),
        np.array(standings.finishes, dtype=np.int64),
    )
    ended = list(standings.last_race_at)
    if changed:
        ratings[changed] = _ratings(board, [each.state for each in earlier])
        raced[changed] = [each.races > 0 for each in earlier]
        points[changed] = [each.points for each in earlier]
        finishes[changed] -= [each.finishes_since for each in earlier]
        for row, each in zip(changed, earlier, strict=True):
            ended[row] = (each.last_race_at or ended[row]) if each.races else ""
    listed = raced & shown & listing.lists(finishes, ended)
    rated = np.sort(ratings[listed])
    places = 1 + rated.size - np.searchsorted(rated, ratings, side="right")
    return Past(
        raced.tolist(),
        np.where(raced, points, standings.points).tolist(),
        np.where(listed, places, 0).tolist(),
    )


def _ratings(board: Leaderboard, states: Sequence[State]) -> FloatArray:
    if not states:
        return np.empty(0)
    return registry.create(board.model, board.parameters).rating(np.array(states))
