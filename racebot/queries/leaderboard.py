"""Leaderboards, now or at an earlier time: listed players, their movement, and the biggest movers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from sqlite3 import Row
from typing import Annotated, Any, Self, overload

import numpy as np
from pydantic import Field, InstanceOf, WithJsonSchema

from racebot.ledger.ratings import LAST
from racebot.ledger.rows import Change, Leaderboard, Standing, as_int, as_text
from racebot.ledger.store import Ledger
from racebot.queries import Place
from racebot.queries.standings import (
    Listing,
    everybody_before,
    in_order,
    latest_of,
    listed_now,
    listed_of,
    place_of,
    places_of,
)
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters
from racebot.standings.rater import standings_before

MOVEMENT_WINDOW = timedelta(days=7)  # movement is measured over this time before the leaderboard's last race
_SHARED = ("points", "rating", "state", "races", "finishes", "wins", "last_race_at")
"""The fields of a `Standing` that a `PlacedPlayer` has, too."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Change of a listed player's points and place; `places` is None if they were not listed before."""

    points: int
    places: int | None


@dataclass(frozen=True, slots=True)
class PlacedPlayer:
    """A player with a rating on a leaderboard. Equal ratings share a place; `points` is what people see."""

    place: Place
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

    @classmethod
    def of(cls, row: Standing, name: str, place: int | None, listing: Listing, **more: Any) -> Self:
        """Return a record of a standing with the fields that a subclass adds."""
        own = {field: getattr(row, field) for field in _SHARED}
        provisional = row.races < listing.provisional_races
        return cls(id=row.player, name=name, place=place, provisional=provisional, **own, **more)


@dataclass(frozen=True, slots=True)
class ListedPlayer(PlacedPlayer):
    """A player on a leaderboard."""

    place: int
    moved: Annotated[Movement | None, Field(description="Change since `since`; null if not raced by then")]


@dataclass(frozen=True, slots=True, eq=False)
class ListedPlayers(Sequence[ListedPlayer]):
    """Listed players in order. Names and states are read when asked for, so the ledger must stay open.

    `places` has the place of each rating, `before` everybody's earlier standing, and `places_before` the
    places of players who were listed then. `unranked_rows` are those whom the leaderboard would list if they
    had more finishes, those with most first.
    """

    ledger: Ledger
    listing: Listing
    rows: Sequence[Standing]
    places: Mapping[float, int]
    before: Mapping[str, Standing]
    places_before: Mapping[str, int]
    unranked_rows: Sequence[Standing]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> ListedPlayer: ...
    @overload
    def __getitem__(self, index: slice) -> list[ListedPlayer]: ...
    def __getitem__(self, index: int | slice) -> ListedPlayer | list[ListedPlayer]:
        return self._read(self.rows[index]) if isinstance(index, slice) else self._read([self.rows[index]])[0]

    def __iter__(self) -> Iterator[ListedPlayer]:
        return iter(self[:])

    def chosen(self, rows: Sequence[Standing]) -> ListedPlayers:
        """Return some of these players, in the order of the rows."""
        return replace(self, rows=rows)

    def names(self) -> dict[str, str]:
        """Return the name of each player to show, by id."""
        return self.ledger.people.names([row.player for row in self.rows])

    def points_won(self, row: Standing) -> int:
        """Return how far a player's points moved; 0 for a player who had not raced before."""
        return row.points - self.before.get(row.player, row).points

    def unranked(self, limit: int) -> list[PlacedPlayer]:
        """Return the players with too few finishes for a place, those with most first."""
        rows = self.unranked_rows[:limit]
        names = self.ledger.people.names([row.player for row in rows])
        return [PlacedPlayer.of(row, names[row.player], None, self.listing) for row in rows]

    def _read(self, rows: Sequence[Standing]) -> list[ListedPlayer]:
        names, found = self.ledger.people.names([row.player for row in rows]), []
        for row in rows:
            place = self.places[row.rating]
            before = self.places_before.get(row.player)
            moved = Movement(self.points_won(row), None if before is None else before - place)
            facts = names[row.player], place, self.listing
            found.append(ListedPlayer.of(row, *facts, moved=moved if row.player in self.before else None))
        return found


@dataclass(frozen=True, slots=True)
class LeaderboardReport:
    """A leaderboard and its listed players by place, which are read while the ledger is open."""

    leaderboard: str
    category: str
    goals: tuple[str, ...]
    model: str
    parameters: Parameters
    races: int
    minimum_finishes: int
    inactive_days: int
    provisional_races: int
    everybody: Annotated[int, Field(description="Players with a rating, listed or not")]
    last_race_at: datetime | None
    since: Annotated[datetime | None, Field(description="Start of the time that `moved` covers")]
    players: Annotated[InstanceOf[ListedPlayers], WithJsonSchema({})]


@dataclass(frozen=True, slots=True)
class BoardTotals:
    """The numbers of listed players and races that count, and when races were last rated, None if unknown."""

    listed: int
    races: int
    last_race_at: datetime | None
    updated_at: datetime | None


def leaderboard_report(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    *,
    at: datetime | None = None,
    limit: int | None = None,
) -> LeaderboardReport:
    """Return a leaderboard as it is now, or as it was at a time, with at most `limit` players, best first."""
    last = LAST if at is None else ledger.ratings.sequence_until(board, at)
    everybody = ledger.standings.now(board) if at is None else standings_before(ledger, board, last + 1)
    latest = latest_of(everybody)
    since = None if latest is None else latest - MOVEMENT_WINDOW
    unranked_too = listed_of(everybody, replace(listing, minimum_finishes=0), latest)
    listed = in_order(ledger, [row for row in unranked_too if row.finishes >= listing.minimum_finishes])
    unranked = [row for row in unranked_too if row.finishes < listing.minimum_finishes]
    unranked = sorted(in_order(ledger, unranked), key=attrgetter("finishes"), reverse=True)
    first = 0 if since is None else ledger.ratings.sequence_until(board, since) + 1
    before = everybody_before(ledger, board, first, everybody, last)
    players = ListedPlayers(
        ledger,
        listing,
        rows=listed[:limit],
        places=places_of(listed),
        before=before,
        places_before=place_of(listed_of(before, listing, latest_of(before))),
        unranked_rows=unranked,
    )
    return LeaderboardReport(
        leaderboard=board.name,
        category=board.category,
        goals=board.goals,
        model=board.model,
        parameters=board.parameters,
        races=ledger.ratings.counting(board, last),
        minimum_finishes=listing.minimum_finishes,
        inactive_days=listing.inactive_days,
        provisional_races=listing.provisional_races,
        everybody=len(everybody),
        last_race_at=latest,
        since=since,
        players=players,
    )


def top_players(
    ledger: Ledger, board: Leaderboard, listing: Listing, limit: int
) -> list[tuple[int, Standing]]:
    """Return the best listed players with their places; equal ratings share one."""
    rows = in_order(ledger, listed_now(ledger, board, listing))
    places, names = places_of(rows), ledger.people.names(row.player for row in rows[:limit])
    return [(places[row.rating], row._replace(name=names[row.player])) for row in rows[:limit]]


def new_places(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    ended_at: datetime,
    changes: Sequence[Change],
    sequence: int | None = None,
) -> dict[str, tuple[int | None, int]]:
    """Return the place before and after a race of each of its players whom the leaderboard then lists.

    The place before may be None. `sequence` is the race's number, None if it is not settled yet.
    """
    if not changes:
        return {}
    states = np.array([change.after for change in changes])
    ratings = registry.create(board.model, board.parameters).rating(states).tolist()
    before = ledger.standings.now(board) if sequence is None else everybody_before(ledger, board, sequence)
    latest, after = latest_of(before) or ended_at, dict(before)
    for change, rating in zip(changes, ratings, strict=True):
        row = before.get(change.player)
        if row is None:
            hidden = ledger.people.is_hidden(change.player)
            row = Standing(change.player, change.before, rating, 0, 0, 0, 0, ended_at, hidden=hidden)
        finishes, last = row.finishes + (change.place is not None), max(row.last_race_at, ended_at)
        after[change.player] = row._replace(finishes=finishes, last_race_at=last, rating=rating)
    old = place_of(listed_of(before, listing, latest))
    new = place_of(listed_of(after, listing, max(latest, ended_at)))
    return {each.player: (old.get(each.player), new[each.player]) for each in changes if each.player in new}


def place_among(
    ledger: Ledger,
    board: Leaderboard,
    standing: Standing,
    listing: Listing,
    ratings: Sequence[float] | None = None,
) -> tuple[int | None, int]:
    """Return a player's place, None if not listed, and how many are listed, perhaps from `listed_ratings`."""
    if ratings is None:
        above, listed = _counts(ledger, board, listing, standing.rating)
    else:
        above, listed = len(ratings) - bisect_right(ratings, standing.rating), len(ratings)
    finishes = not standing.hidden and standing.finishes >= listing.minimum_finishes
    is_active = standing.last_race_at >= listing.earliest(ledger.standings.latest_race(board))
    return above + 1 if finishes and is_active else None, listed


def listed_ratings(ledger: Ledger, board: Leaderboard, listing: Listing) -> list[float]:
    """Return the ratings of the listed players, in ascending order."""
    return [row[0] for row in _rows(ledger, board, listing, "rating", "ORDER BY rating")]


def neighbors(
    ledger: Ledger, board: Leaderboard, listing: Listing, player: PlacedPlayer
) -> list[tuple[bool, str]]:
    """Return the listed players directly above (`True`) and below a listed player."""
    named = "player, (SELECT name FROM shown_players WHERE id = player) AS name"
    above = (
        "AND rating >= ?4 AND (rating > ?4 OR (name COLLATE NOCASE, player) < (?5, ?6))"
        " ORDER BY rating, name COLLATE NOCASE DESC, player DESC LIMIT 1"
    )
    below = (
        "AND rating <= ?4 AND (rating < ?4 OR (name COLLATE NOCASE, player) > (?5, ?6))"
        " ORDER BY rating DESC, name COLLATE NOCASE, player LIMIT 1"
    )
    own = player.rating, player.name, player.id
    sides = ((True, above), (False, below)) if player.place else ()
    return [(side, row[0]) for side, end in sides for row in _rows(ledger, board, listing, named, end, *own)]


def board_totals(ledger: Ledger, board: Leaderboard, listing: Listing) -> BoardTotals:
    """Return the size of a leaderboard, much faster than the whole report."""
    return BoardTotals(
        _counts(ledger, board, listing)[1],
        ledger.ratings.counting(board),
        ledger.standings.latest_race(board),
        ledger.ratings.updated_at(board),
    )


def _counts(
    ledger: Ledger, board: Leaderboard, listing: Listing, rating: float = float("inf")
) -> tuple[int, int]:
    """Return the number of listed players rated above `rating`, and the number of all listed players."""
    ((above, listed),) = _rows(ledger, board, listing, "coalesce(sum(rating > ?4), 0), count(*)", "", rating)
    return as_int(above), as_int(listed)


def _rows(
    ledger: Ledger, board: Leaderboard, listing: Listing, columns: str, end: str, *values: object
) -> list[Row]:
    """Read columns of the listed players. `end` ends the query; its values are numbered from `?4`."""
    sql = (
        f"SELECT {columns} FROM standings INDEXED BY standings_by_rating"  # noqa: S608 - constants
        " WHERE leaderboard = ?1 AND finishes >= ?2 AND last_race_at >= ?3"
        f" AND player NOT IN (SELECT player FROM hidden_players) {end}"
    )
    earliest = listing.earliest(ledger.standings.latest_race(board))
    return ledger.connection.rows(sql, board.id, listing.minimum_finishes, earliest, *values)


def races_without_changes(ledger: Ledger, board: Leaderboard) -> dict[str, int]:
    """Return how many races of a leaderboard changed no rating, by the reason."""
    rows = ledger.connection.rows(
        "SELECT note, count(*) AS races FROM rated WHERE leaderboard = ? AND note IS NOT NULL GROUP BY note",
        board.key,
    )
    return {as_text(row["note"]): as_int(row["races"]) for row in rows}


def places_over_time(
    ledger: Ledger,
    board: Leaderboard,
    listed: ListedPlayers,
    players: Collection[str],
    moments: Sequence[datetime],
) -> dict[str, list[int | None]]:
    """Return the places of some players at each moment, among the players who are listed now.

    A place is None before a player's first race. Equal points share a place.
    """
    samples = np.array([ledger.ratings.sequence_until(board, moment) for moment in moments])
    row_of = {row.player: number for number, row in enumerate(listed.rows)}
    changed = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? AND sequence > ? ORDER BY sequence",
        board.key,
        int(samples[0]),
    )
    changes = [each for each in changed if each["player"] in row_of]
    points = np.full((len(listed.rows), len(moments)), np.nan)
    points[:, 0] = [row.points for row in listed.rows]
    if changes:
        sequences, raced, before, after, races_before = zip(*changes, strict=True)
        rows = np.array([row_of[player] for player in raced])
        _, first = np.unique(rows, return_index=True)
        at_first = np.where(np.array(races_before)[first] > 0, np.array(before)[first], np.nan)
        points[rows[first], 0] = at_first
        columns = np.searchsorted(samples, sequences)
        shown = columns < len(moments)
        points[rows[shown], columns[shown]] = np.array(after)[shown]  # of several, the last
    for column in range(1, len(moments)):
        missing = np.isnan(points[:, column])
        points[missing, column] = points[missing, column - 1]
    found = {}
    for player in players:
        own = points[row_of[player]]
        places = np.where(np.isnan(own), 0, 1 + (points > own).sum(0))
        found[player] = [place or None for place in places.tolist()]
    return found
