"""Leaderboards, now or at an earlier time: listed players, their movement, and the biggest movers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, overload

import numpy as np

from racebot.ledger.rows import (
    REBUILD,
    Leaderboard,
    Standing,
    as_int,
    as_text,
    moment_of,
    readable,
    standings_of,
    states_of,
)
from racebot.ledger.store import Ledger
from racebot.queries.listing import Listing
from racebot.races.change import Change
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters

MOVEMENT_WINDOW = timedelta(days=7)
"""Movement is measured over this time before the leaderboard's last race."""
_LAST = 2**63 - 1
"""No sequence number is larger."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Change of a listed player's points and place; `places` is None if they were not listed before."""

    points: int
    places: int | None


@dataclass(frozen=True, slots=True)
class RatedPlayer:
    """A player with a rating on a leaderboard. `place` is None if the player is not listed.

    `rating` is the number that ranks; `points` is what people see.
    """

    place: int | None
    id: str
    name: str
    points: int
    rating: float
    state: tuple[float, ...]
    races: int
    finishes: int
    wins: int
    last_race_at: datetime
    provisional: bool


@dataclass(frozen=True, slots=True)
class ListedPlayer(RatedPlayer):
    """A player on a leaderboard. Equal ratings share a place.

    `moved` is None if the player had not raced before the time that it covers.
    """

    place: int
    moved: Movement | None


class StandingRow(NamedTuple):
    """A player's stored standing: `state` as JSON, `last_race_at` as text that sorts as time."""

    player: str
    state: str
    points: int
    races: int
    finishes: int
    wins: int
    last_race_at: str
    rating: float


class ListedPlayers(Sequence[ListedPlayer]):
    """Listed players in order. Names and states are read when asked for, so the ledger must stay open.

    Args:
        rows: the standings of the players, in order.
        places: the place of each rating on the leaderboard.
        before: everybody's earlier standing, and the place that each rating had then.
        provisional_races: ratings after fewer races are provisional.
    """

    def __init__(
        self,
        ledger: Ledger,
        rows: Sequence[StandingRow],
        places: Mapping[float, int],
        before: tuple[Mapping[str, StandingRow], Mapping[str, int]],
        provisional_races: int,
    ) -> None:
        self._ledger = ledger
        self.rows = rows
        self._places = places
        self._before, self._places_before = before
        self._provisional_races = provisional_races

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

    def chosen(self, rows: Sequence[StandingRow]) -> ListedPlayers:
        """Return some of these players, in the order of the rows."""
        before = self._before, self._places_before
        return ListedPlayers(self._ledger, rows, self._places, before, self._provisional_races)

    def names(self) -> dict[str, str]:
        """Return the name of each player to show, by id."""
        return self._ledger.players.names([row.player for row in self.rows])

    def points_won(self, row: StandingRow) -> int:
        """Return how far a player's points moved; 0 for a player who had not raced before."""
        return row.points - self._before.get(row.player, row).points

    def _read(self, rows: Sequence[StandingRow]) -> list[ListedPlayer]:
        names = self._ledger.players.names([row.player for row in rows])
        return [
            ListedPlayer(
                place=self._places[row.rating],
                id=row.player,
                name=names[row.player],
                points=row.points,
                rating=row.rating,
                state=state,
                races=row.races,
                finishes=row.finishes,
                wins=row.wins,
                last_race_at=moment_of(row.last_race_at),
                provisional=row.races < self._provisional_races,
                moved=self._movement(row),
            )
            for row, state in zip(rows, states_of([row.state for row in rows]), strict=True)
        ]

    def _movement(self, row: StandingRow) -> Movement | None:
        if row.player not in self._before:
            return None
        place = self._places_before.get(row.player)
        return Movement(self.points_won(row), None if place is None else place - self._places[row.rating])


@dataclass(frozen=True, slots=True)
class LeaderboardReport:
    """A leaderboard and its listed players by place.

    `everybody` counts the players with a rating, listed or not. `since` is the start of the time that
    `moved` covers.
    """

    leaderboard: str
    category: str
    goals: tuple[str, ...]
    model: str
    parameters: Parameters
    races: int
    minimum_finishes: int
    inactive_days: int
    provisional_races: int
    everybody: int
    last_race_at: datetime | None
    since: datetime | None
    players: Sequence[ListedPlayer]


@dataclass(frozen=True, slots=True)
class OpenLeaderboard(LeaderboardReport):
    """A leaderboard that reads its players when they are asked for, while the ledger is open."""

    players: ListedPlayers


@dataclass(frozen=True, slots=True)
class Placing:
    """A player's place among the `listed` players; None if the player is not listed."""

    place: int | None
    listed: int


@dataclass(frozen=True, slots=True)
class BoardTotals:
    """The numbers of a leaderboard's listed players and rated races, and when its last race ended.

    `updated_at` is when races were last rated, None if that is unknown.
    """

    listed: int
    races: int
    last_race_at: datetime | None
    updated_at: datetime | None


def open_leaderboard(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    *,
    provisional_races: int = 0,
    at: datetime | None = None,
) -> OpenLeaderboard:
    """Return a leaderboard that reads its players when they are asked for, while the ledger is open.

    Args:
        provisional_races: ratings after fewer races are provisional.
        at: show the leaderboard as it was at this time; as it is now if None.
    """
    sequence = None if at is None else ledger.ratings.sequence_until(board, at)
    if sequence is None:
        everybody = standings_now(ledger, board)
    else:
        everybody = _standings_after(ledger, board, sequence)
    latest = _latest(everybody)
    since = None if latest is None else latest - MOVEMENT_WINDOW
    hidden = ledger.orders.hidden()
    listed = _in_order(ledger, _listed(everybody, listing, hidden))
    earlier = [] if since is None else _undone(ledger, board, everybody, since, sequence)
    listed_earlier = _listed(earlier, listing, hidden)
    places_earlier = _places(listed_earlier)
    before = (
        {row.player: row for row in earlier},
        {row.player: places_earlier[row.rating] for row in listed_earlier},
    )
    return OpenLeaderboard(
        leaderboard=board.name,
        category=board.category,
        goals=board.goals,
        model=board.model,
        parameters=board.parameters,
        races=ledger.ratings.count(board) if sequence is None else sequence,
        minimum_finishes=listing.minimum_finishes,
        inactive_days=listing.inactive_days,
        provisional_races=provisional_races,
        everybody=len(everybody),
        last_race_at=latest,
        since=since,
        players=ListedPlayers(ledger, listed, _places(listed), before, provisional_races),
    )


def leaderboard_report(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    *,
    provisional_races: int = 0,
    limit: int | None = None,
) -> LeaderboardReport:
    """Return a leaderboard with its players already read, best first, at most `limit` of them."""
    report: LeaderboardReport = open_leaderboard(ledger, board, listing, provisional_races=provisional_races)
    return replace(report, players=report.players[:limit])


def top_players(
    ledger: Ledger, board: Leaderboard, listing: Listing, limit: int
) -> list[tuple[int, Standing]]:
    """Return the best listed players with their places; equal ratings share one."""
    best = _best(ledger, board, listing, ledger.standings.latest_race(board), limit)
    return [(1 + sum(other.rating > standing.rating for other in best), standing) for standing in best]


def new_places(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    result: RaceResult,
    changes: Sequence[Change],
    within: int,
) -> dict[str, int]:
    """Return the new places of the players whom a race that is not settled yet will move on a leaderboard.

    Players whom the race brings onto the leaderboard count for the places of others. They have no move.

    Args:
        listing: which players it lists.
        changes: the changes of the race.
        within: the last new place to return.

    Returns:
        The places by user id, below zero for a player who falls.
    """
    latest = ledger.standings.latest_race(board)
    if latest is None or not changes:
        return {}
    # Read enough players that `within` remain without the changed ones.
    limit, now = within + len(changes), max(latest, result.ended_at)
    before, after = (
        {standing.player: standing.rating for standing in _best(ledger, board, listing, at, limit)}
        for at in (latest, now)
    )
    model = registry.create(board.model, board.parameters)
    ratings = model.rating(np.array([change.after for change in changes])).tolist()
    for change, rating in zip(changes, ratings, strict=True):
        player = change.player
        after.pop(player, None)
        standing = ledger.standings.get(board, player)
        if standing is None:
            hidden = ledger.orders.is_hidden(player)
            standing = Standing(player, (), 0.0, 0, 0, 0, 0, result.ended_at, hidden=hidden)
        elif listing.includes(standing, latest):
            before[player] = standing.rating
        finishes = standing.finishes + (change.place is not None)
        last = max(standing.last_race_at, result.ended_at)
        if listing.includes(standing._replace(finishes=finishes, last_race_at=last), now):
            after[player] = rating
    moves = {}
    for player in before.keys() & after.keys() & {change.player for change in changes}:
        old = 1 + sum(rating > before[player] for rating in before.values())
        new = 1 + sum(rating > after[player] for rating in after.values())
        if new != old and new <= within:
            moves[player] = new if new < old else -new
    return moves


def placing_of(ledger: Ledger, board: Leaderboard, standing: Standing, listing: Listing) -> Placing:
    """Return a player's place on a leaderboard."""
    above, listed = _counts(ledger, board, listing, standing.rating)
    return Placing(
        above + 1 if listing.includes(standing, ledger.standings.latest_race(board)) else None, listed
    )


def listed_count(ledger: Ledger, board: Leaderboard, listing: Listing) -> int:
    """Return the number of players that a leaderboard lists."""
    return _counts(ledger, board, listing)[1]


def board_totals(ledger: Ledger, board: Leaderboard, listing: Listing) -> BoardTotals:
    """Return the size of a leaderboard, much faster than the whole report."""
    return BoardTotals(
        listed_count(ledger, board, listing),
        ledger.ratings.count(board),
        ledger.standings.latest_race(board),
        ledger.ratings.updated_at(board),
    )


def listed_points(ledger: Ledger, board: Leaderboard, listing: Listing) -> list[int]:
    """Return the points of all listed players, in no order."""
    rows = ledger.connection.rows(
        "SELECT points FROM standings WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
        " AND player NOT IN (SELECT player FROM hidden_players)",
        board.key,
        listing.minimum_finishes,
        listing.earliest(ledger.standings.latest_race(board)),
    )
    return [as_int(row["points"]) for row in rows]


def standings_now(ledger: Ledger, board: Leaderboard) -> list[StandingRow]:
    """Return everybody's current standing, in no order."""
    return _standing_rows(
        ledger.connection.rows(
            "SELECT player, state, points, races, finishes, wins, last_race_at, rating"
            " FROM standings WHERE leaderboard = ?",
            board.key,
        )
    )


def _standings_after(ledger: Ledger, board: Leaderboard, sequence: int) -> list[StandingRow]:
    """Return the standings after a race of the sequence, of all players who had raced."""
    now = {row.player: row for row in standings_now(ledger, board)}
    rows = ledger.connection.rows(
        "SELECT player, state_after, points_after, races_before + 1, finishes, wins, sequence FROM ("
        "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins"
        "  FROM changes INDEXED BY changes_by_player"
        "  WHERE leaderboard = ?1 AND sequence <= ?2 GROUP BY player"
        " ) CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
        board.key,
        sequence,
    )
    # Most players have not raced since a recent date: their last race is known.
    known = {row[0]: now[row[0]].last_race_at for row in rows if now[row[0]].races == row[3]}
    ends = known | _ends(ledger, board, {row[0]: row[6] for row in rows if row[0] not in known})
    ratings = _ratings(board, [row[1] for row in rows])
    return _standing_rows(
        [(*row[:6], ends[row[0]], rating) for row, rating in zip(rows, ratings, strict=True)]
    )


def _undone(
    ledger: Ledger, board: Leaderboard, rows: Sequence[StandingRow], since: datetime, last: int | None
) -> list[StandingRow]:
    """Return the standings before the races from `since` on, of the players who had raced.

    Args:
        rows: the standings after these races.
        last: sequence number of the last of these races; None for the leaderboard's last race.
    """
    first = ledger.ratings.sequence_until(board, since) + 1
    found = ledger.connection.rows(
        "SELECT player, state_before, points_before, races_before, finishes, wins, ("
        "  SELECT max(c.sequence) FROM changes AS c INDEXED BY changes_by_player"
        "  WHERE c.leaderboard = ?1 AND c.player = changes.player AND c.sequence < ?2"
        " ) FROM ("
        "  SELECT player, min(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins"
        "  FROM changes"
        # Without the sign, SQLite reads all changes in the order of players to save the sort.
        "  WHERE leaderboard = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY +player"
        " ) AS first CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
        board.key,
        first,
        _LAST if last is None else last,
    )
    ends = _ends(ledger, board, {row[0]: row[6] for row in found if row[6] is not None})
    before = {
        row[0]: (row, rating)
        for row, rating in zip(found, _ratings(board, [row[1] for row in found]), strict=True)
    }
    undone = []
    for now in rows:
        if now.player not in before:
            undone.append(now)
        elif now.player in ends:
            row, rating = before[now.player]
            undone.append(
                now._replace(
                    state=row[1],
                    points=row[2],
                    races=row[3],
                    finishes=now.finishes - row[4],
                    wins=now.wins - row[5],
                    last_race_at=ends[now.player],
                    rating=rating,
                )
            )
    return undone


def _ends(ledger: Ledger, board: Leaderboard, lasts: Mapping[str, int]) -> dict[str, str]:
    """Return when the last of each player's races ended, up to a number in the sequence, by player.

    Args:
        lasts: the last number in the sequence of each player's races, by player.
    """
    rows = ledger.connection.rows(
        "SELECT sequence, ended_at, ended_at < counted_at FROM json_each(?2) AS wanted"
        " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
        " CROSS JOIN races ON races.name = race",
        board.key,
        json.dumps(sorted(set(lasts.values()))),
    )
    ends = {row[0]: row[1] for row in rows}
    # A race counts from its end, or later if recorded late. Only then may an earlier one end later.
    late = {row[0] for row in rows if row[2]}
    again = ledger.connection.rows(
        "SELECT wanted.key, max(ended_at) FROM json_each(?2) AS wanted"
        " CROSS JOIN changes INDEXED BY changes_by_player"
        "  ON changes.leaderboard = ?1 AND player = wanted.key AND sequence <= wanted.value"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = race"
        " GROUP BY wanted.key",
        board.key,
        json.dumps({player: last for player, last in lasts.items() if last in late}),
    )
    return {player: ends[last] for player, last in lasts.items()} | dict(map(tuple, again))


def _listed(rows: Sequence[StandingRow], listing: Listing, hidden: set[str]) -> list[StandingRow]:
    """Return the standings that a leaderboard lists."""
    earliest, finishes = listing.earliest(_latest(rows)), listing.minimum_finishes
    return [
        row
        for row in rows
        if row.finishes >= finishes and row.last_race_at >= earliest and row.player not in hidden
    ]


def _in_order(ledger: Ledger, rows: Sequence[StandingRow]) -> list[StandingRow]:
    """Return standings, best first, then by name as SQLite's NOCASE compares names."""
    times = Counter(row.rating for row in rows)
    names = ledger.players.names([row.player for row in rows if times[row.rating] > 1])
    return sorted(rows, key=lambda row: (-row.rating, names.get(row.player, "").encode().lower(), row.player))


def _places(rows: Sequence[StandingRow]) -> dict[float, int]:
    """Return the place of each rating. Equal ratings share a place."""
    places: dict[float, int] = {}
    for place, rating in enumerate(sorted((row.rating for row in rows), reverse=True), start=1):
        places.setdefault(rating, place)
    return places


def _latest(rows: Sequence[StandingRow]) -> datetime | None:
    latest = max((row.last_race_at for row in rows), default=None)
    return None if latest is None else moment_of(latest)


def _ratings(board: Leaderboard, states: Sequence[str]) -> list[float]:
    if not states:
        return []
    ratings = registry.create(board.model, board.parameters).rating(np.array(states_of(states)))
    return list(ratings.tolist())


@readable("standing", REBUILD)
def _standing_rows(rows: Sequence[Sequence[Any]]) -> list[StandingRow]:
    """Return stored standings. Raise an error if a value has another type than its column."""
    kinds = (str, str, int, int, int, int, str, float)
    for kind, column in zip(kinds, zip(*rows, strict=True), strict=False):
        for found in set(map(type, column)) - {kind}:
            raise TypeError(f"{found.__name__} in place of {kind.__name__}")
    return list(map(StandingRow._make, rows))


def _counts(
    ledger: Ledger, board: Leaderboard, listing: Listing, rating: float = float("inf")
) -> tuple[int, int]:
    """Return the number of listed players rated above `rating`, and the number of all listed players."""
    row = ledger.connection.rows(
        "SELECT coalesce(sum(rating > ?), 0) AS above, count(*) AS listed"
        " FROM standings INDEXED BY standings_by_rating"
        " WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
        " AND player NOT IN (SELECT player FROM hidden_players)",
        rating,
        board.key,
        listing.minimum_finishes,
        listing.earliest(ledger.standings.latest_race(board)),
    )[0]
    return as_int(row["above"]), as_int(row["listed"])


def races_without_changes(ledger: Ledger, board: Leaderboard) -> dict[str, int]:
    """Return how many races of a leaderboard changed no rating, by the reason."""
    rows = ledger.connection.rows(
        "SELECT note, count(*) AS races FROM rated WHERE leaderboard = ? AND note IS NOT NULL GROUP BY note",
        board.key,
    )
    return {as_text(row["note"]): as_int(row["races"]) for row in rows}


def _best(
    ledger: Ledger, board: Leaderboard, listing: Listing, latest: datetime | None, limit: int
) -> list[Standing]:
    """Return the best players whom a leaderboard lists if its last race ended at `latest`."""
    rows = ledger.connection.rows(
        "SELECT standings.*, players.name AS name, 0 AS hidden"
        " FROM standings INDEXED BY standings_by_rating"
        " CROSS JOIN shown_players AS players ON players.id = player"
        " WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
        " AND player NOT IN (SELECT player FROM hidden_players)"
        " ORDER BY rating DESC, players.name COLLATE NOCASE, player LIMIT ?",
        board.id,
        listing.minimum_finishes,
        listing.earliest(latest),
        limit,
    )
    return standings_of(rows)
