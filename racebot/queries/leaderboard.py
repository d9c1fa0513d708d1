"""Leaderboards, now or at an earlier time: listed players, their movement, and the biggest movers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, overload

import numpy as np
from pydantic import Field

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
from racebot.queries.fields import Place
from racebot.queries.listing import Listing
from racebot.races.change import Change
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters
from racebot.text.format import exact_time

MOVEMENT_WINDOW = timedelta(days=7)
"""Movement is measured over this time before the leaderboard's last race."""
_LISTED = (
    "WHERE leaderboard = ?1 AND finishes >= ?2 AND last_race_at >= ?3"
    " AND player NOT IN (SELECT player FROM hidden_players)"
)
"""Chooses the standings of listed players by the values of `_bounds`."""
_RATING, _LAST_RACE = attrgetter("rating"), attrgetter("last_race_at")


@dataclass(frozen=True, slots=True)
class Movement:
    """Change of a listed player's points and place; `places` is None if they were not listed before."""

    points: int
    places: int | None


@dataclass(frozen=True, slots=True)
class RatedPlayer:
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


@dataclass(frozen=True, slots=True)
class ListedPlayer(RatedPlayer):
    """A player on a leaderboard."""

    place: int
    moved: Annotated[Movement | None, Field(description="Change since `since`; null if not raced by then")]


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


@dataclass(frozen=True, slots=True, eq=False)
class ListedPlayers(Sequence[ListedPlayer]):
    """Listed players in order. Names and states are read when asked for, so the ledger must stay open.

    `places` has the place of each rating, `before` everybody's earlier standing, and `places_before` the
    places of players who were listed then. `unranked` are those whom the leaderboard would list if they had
    more finishes, those with most first.
    """

    ledger: Ledger
    rows: Sequence[StandingRow]
    places: Mapping[float, int]
    before: Mapping[str, StandingRow]
    places_before: Mapping[str, int]
    unranked: Sequence[StandingRow]
    provisional_races: int

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
        return replace(self, rows=rows)

    def names(self) -> dict[str, str]:
        """Return the name of each player to show, by id."""
        return self.ledger.people.names([row.player for row in self.rows])

    def points_won(self, row: StandingRow) -> int:
        """Return how far a player's points moved; 0 for a player who had not raced before."""
        return row.points - self.before.get(row.player, row).points

    def places_won(self, row: StandingRow) -> int | None:
        """Return how many places a player climbed, None for a player who was not listed before."""
        before = self.places_before.get(row.player)
        return None if before is None else before - self.places[row.rating]

    def _read(self, rows: Sequence[StandingRow]) -> list[ListedPlayer]:
        names = self.ledger.people.names([row.player for row in rows])
        return [
            ListedPlayer(
                place=self.places[row.rating],
                id=row.player,
                name=names[row.player],
                points=row.points,
                rating=row.rating,
                state=state,
                races=row.races,
                finishes=row.finishes,
                wins=row.wins,
                last_race_at=moment_of(row.last_race_at),
                provisional=row.races < self.provisional_races,
                moved=Movement(self.points_won(row), self.places_won(row))
                if row.player in self.before
                else None,
            )
            for row, state in zip(rows, states_of([row.state for row in rows]), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class LeaderboardReport:
    """A leaderboard and its listed players by place."""

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
    players: Sequence[ListedPlayer]


@dataclass(frozen=True, slots=True)
class OpenLeaderboard(LeaderboardReport):
    """A leaderboard that reads its players when they are asked for, while the ledger is open."""

    players: ListedPlayers


@dataclass(frozen=True, slots=True)
class UnrankedPlayer:
    """A player with too few `finishes` for a place."""

    id: str
    name: str
    points: int
    finishes: int


@dataclass(frozen=True, slots=True)
class BoardTotals:
    """The numbers of listed players and rated races, and when races were last rated, None if unknown."""

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
    """Return a leaderboard as it is now, or as it was at a time; it reads players when they are asked for.

    Ratings after fewer than `provisional_races` races are provisional.
    """
    if at is None:
        everybody, races = standings_now(ledger, board), ledger.ratings.count(board)
    else:
        races = ledger.ratings.sequence_until(board, at)
        everybody = _standings_before(ledger, board, races + 1)
    latest = _latest(everybody)
    since = None if latest is None else latest - MOVEMENT_WINDOW
    hidden = ledger.people.hidden()
    unranked_too = _listed(everybody, replace(listing, minimum_finishes=0), hidden, latest)
    listed = _in_order(ledger, [row for row in unranked_too if row.finishes >= listing.minimum_finishes])
    unranked = [row for row in unranked_too if row.finishes < listing.minimum_finishes]
    unranked = sorted(_in_order(ledger, unranked), key=attrgetter("finishes"), reverse=True)
    first = 0 if since is None else ledger.ratings.sequence_until(board, since) + 1
    before = _undone(ledger, board, everybody, first, races)
    places_before = _place_of(_listed(before, listing, hidden, _latest(before)))
    return OpenLeaderboard(
        leaderboard=board.name,
        category=board.category,
        goals=board.goals,
        model=board.model,
        parameters=board.parameters,
        races=races,
        minimum_finishes=listing.minimum_finishes,
        inactive_days=listing.inactive_days,
        provisional_races=provisional_races,
        everybody=len(everybody),
        last_race_at=latest,
        since=since,
        players=ListedPlayers(
            ledger, listed, _places(listed), before, places_before, unranked, provisional_races
        ),
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
    rows = ledger.connection.rows(
        "SELECT standings.*, players.name AS name, 0 AS hidden"  # noqa: S608 - constants
        " FROM standings INDEXED BY standings_by_rating"
        f" CROSS JOIN shown_players AS players ON players.id = player {_LISTED}"
        " ORDER BY rating DESC, players.name COLLATE NOCASE, player LIMIT ?4",
        *_bounds(ledger, board, listing),
        limit,
    )
    best = standings_of(rows)
    return [(1 + sum(other.rating > standing.rating for other in best), standing) for standing in best]


def places_now(ledger: Ledger, board: Leaderboard, listing: Listing) -> dict[str, int]:
    """Return the place of each listed player."""
    rows = standings_now(ledger, board)
    return _place_of(_listed(rows, listing, ledger.people.hidden(), _latest(rows)))


def new_places(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    ended_at: datetime,
    changes: Sequence[Change],
    sequence: int | None = None,
) -> dict[str, tuple[int | None, int]]:
    """Return the place before and after a race of each of its players whom the leaderboard then lists.

    The place before is None for players whom the race brings onto the leaderboard.
    `sequence` is the race's number on the leaderboard, None if it is not settled yet.
    """
    if not changes:
        return {}
    model = registry.create(board.model, board.parameters)
    states = np.array([[change.before, change.after] for change in changes])
    ratings = model.rating(states.reshape(-1, states.shape[-1])).reshape(-1, 2)
    if sequence is None:
        before = standings_now(ledger, board, ratings.min(), [change.player for change in changes])
        latest = ledger.standings.latest_race(board) or ended_at
    else:
        before = _standings_before(ledger, board, sequence)
        latest = _latest(before) or ended_at
    after = dict(before)
    for change, rating in zip(changes, ratings[:, 1].tolist(), strict=True):
        end, player = exact_time(ended_at), change.player
        row = before.get(player, StandingRow(player, "", 0, 0, 0, 0, end, 0.0))
        finishes, end = row.finishes + (change.place is not None), max(row.last_race_at, end)
        after[player] = row._replace(finishes=finishes, last_race_at=end, rating=rating)
    hidden = ledger.people.hidden()
    old = _place_of(_listed(before, listing, hidden, latest))
    new = _place_of(_listed(after, listing, hidden, max(latest, ended_at)))
    return {each.player: (old.get(each.player), new[each.player]) for each in changes if each.player in new}


def place_among(
    ledger: Ledger, board: Leaderboard, standing: Standing, listing: Listing
) -> tuple[int | None, int]:
    """Return a player's place, None if they are not listed, and the number of listed players."""
    above, listed = _counts(ledger, board, listing, standing.rating)
    included = listing.includes(standing, ledger.standings.latest_race(board))
    return above + 1 if included else None, listed


def listed_count(ledger: Ledger, board: Leaderboard, listing: Listing) -> int:
    """Return the number of players that a leaderboard lists."""
    return _counts(ledger, board, listing)[1]


def unranked_players(listed: ListedPlayers, limit: int) -> list[UnrankedPlayer]:
    """Return players whom a leaderboard would list if they had more finishes, those with most first."""
    rows = listed.unranked[:limit]
    names = listed.ledger.people.names([row.player for row in rows])
    return [UnrankedPlayer(row.player, names[row.player], row.points, row.finishes) for row in rows]


def board_totals(ledger: Ledger, board: Leaderboard, listing: Listing) -> BoardTotals:
    """Return the size of a leaderboard, much faster than the whole report."""
    return BoardTotals(
        listed_count(ledger, board, listing),
        ledger.ratings.count(board),
        ledger.standings.latest_race(board),
        ledger.ratings.updated_at(board),
    )


def listed_points(ledger: Ledger, board: Leaderboard, listing: Listing) -> dict[str, int]:
    """Return the points of all listed players."""
    sql = f"SELECT player, points FROM standings {_LISTED}"  # noqa: S608 - constants
    rows = ledger.connection.rows(sql, *_bounds(ledger, board, listing))
    return {player: as_int(points) for player, points in rows}


@readable("standing", REBUILD)
def standings_now(
    ledger: Ledger, board: Leaderboard, least: float = float("-inf"), others: Sequence[str] = ()
) -> dict[str, StandingRow]:
    """Return the current standings of players with a rating of `least` or more, and of others, by player.

    Check that values have the types of their columns.
    """
    rows = ledger.connection.rows(
        "SELECT player, state, points, races, finishes, wins, last_race_at, rating"
        " FROM standings WHERE leaderboard = ?1"
        " AND (rating >= ?2 OR player IN (SELECT value FROM json_each(?3)))",
        board.id,
        least,
        json.dumps(others),
    )
    kinds = (str, str, int, int, int, int, str, float)
    for kind, column in zip(kinds, zip(*rows, strict=True), strict=False):
        for found in set(map(type, column)) - {kind}:
            raise TypeError(f"{found.__name__} in place of {kind.__name__}")
    return {row[0]: StandingRow._make(row) for row in rows}


def _standings_before(ledger: Ledger, board: Leaderboard, sequence: int) -> dict[str, StandingRow]:
    """Return everybody's standings before a race of the sequence."""
    last = ledger.ratings.count(board)
    if last - sequence < last / 8:  # then undoing the last races takes less time than counting the first
        return _undone(ledger, board, standings_now(ledger, board), sequence, last)
    rows = ledger.connection.rows(
        "SELECT player, state_after, points_after, races_before + 1, finishes, wins, sequence FROM ("
        "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins"
        "  FROM changes INDEXED BY changes_by_player WHERE leaderboard = ?1 AND sequence < ?2 GROUP BY player"
        " ) AS last CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
        board.key,
        sequence,
    )
    return _as_standings(ledger, board, rows)


def _undone(
    ledger: Ledger, board: Leaderboard, after: Mapping[str, StandingRow], first: int, last: int
) -> dict[str, StandingRow]:
    """Return the standings before race `first` of the sequence, given everybody's after race `last`."""
    # With one min(), the other columns are of its row: https://www.sqlite.org/lang_select.html#bareagg
    rows = ledger.connection.rows(
        "SELECT player, state_before, points_before, races_before, count(place), sum(place IS 1), ("
        "  SELECT max(sequence) FROM changes AS earlier INDEXED BY changes_by_player"
        "  WHERE leaderboard = ?1 AND player = changes.player AND sequence < ?2"
        " ), min(sequence) FROM changes"
        " WHERE leaderboard = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY player",
        board.key,
        first,
        last,
    )
    undone = {row[0]: row for row in rows}
    before = _as_standings(ledger, board, [row[:7] for row in rows if row[6] is not None])
    for player, row in before.items():
        finishes, wins = after[player].finishes - row.finishes, after[player].wins - row.wins
        before[player] = row._replace(finishes=finishes, wins=wins)
    return {player: row for player, row in after.items() if player not in undone} | before


def _as_standings(
    ledger: Ledger, board: Leaderboard, rows: Sequence[Sequence[Any]]
) -> dict[str, StandingRow]:
    """Return standings from rows of their first six values and the number of each player's last race."""
    ends = _ends(ledger, board, {row[0]: row[6] for row in rows})
    ratings = _ratings(board, [row[1] for row in rows])
    return {
        row[0]: StandingRow._make((*row[:6], ends[row[0]], rating))
        for row, rating in zip(rows, ratings, strict=True)
    }


def _ends(ledger: Ledger, board: Leaderboard, lasts: Mapping[str, int]) -> dict[str, str]:
    """Return when the last of each player's races ended, up to the race with the number in `lasts`."""
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


def _listed(
    rows: Mapping[str, StandingRow], listing: Listing, hidden: set[str], latest: datetime | None
) -> list[StandingRow]:
    """Return the standings that a leaderboard lists if its last race ended at `latest`."""
    earliest, finishes = listing.earliest(latest), listing.minimum_finishes
    return [
        row
        for row in rows.values()
        if row.finishes >= finishes and row.last_race_at >= earliest and row.player not in hidden
    ]


def _in_order(ledger: Ledger, rows: Sequence[StandingRow]) -> list[StandingRow]:
    """Return standings, best first, then by name as SQLite's NOCASE compares names."""
    times = Counter(map(_RATING, rows))
    names = ledger.people.names(row.player for row in rows if times[row.rating] > 1)
    by_name = [row for row in rows if row.player in names]
    by_name.sort(key=lambda row: (names[row.player].encode().lower(), row.player))
    return sorted([*by_name, *(row for row in rows if row.player not in names)], key=_RATING, reverse=True)


def _places(rows: Sequence[StandingRow]) -> dict[float, int]:
    """Return the place of each rating. Equal ratings share the best of their places."""
    return dict(zip(sorted(map(_RATING, rows)), range(len(rows), 0, -1), strict=True))


def _place_of(rows: Sequence[StandingRow]) -> dict[str, int]:
    places = _places(rows)
    return {row.player: places[row.rating] for row in rows}


def _latest(rows: Mapping[str, StandingRow]) -> datetime | None:
    latest = max(map(_LAST_RACE, rows.values()), default=None)
    return None if latest is None else moment_of(latest)


def _ratings(board: Leaderboard, states: Sequence[str]) -> list[float]:
    if not states:
        return []
    ratings = registry.create(board.model, board.parameters).rating(np.array(states_of(states)))
    return list(ratings.tolist())


def _counts(
    ledger: Ledger, board: Leaderboard, listing: Listing, rating: float = float("inf")
) -> tuple[int, int]:
    """Return the number of listed players rated above `rating`, and the number of all listed players."""
    ((above, listed),) = ledger.connection.rows(
        "SELECT coalesce(sum(rating > ?4), 0), count(*)"  # noqa: S608 - constants
        f" FROM standings INDEXED BY standings_by_rating {_LISTED}",
        *_bounds(ledger, board, listing),
        rating,
    )
    return as_int(above), as_int(listed)


def races_without_changes(ledger: Ledger, board: Leaderboard) -> dict[str, int]:
    """Return how many races of a leaderboard changed no rating, by the reason."""
    rows = ledger.connection.rows(
        "SELECT note, count(*) AS races FROM rated WHERE leaderboard = ? AND note IS NOT NULL GROUP BY note",
        board.key,
    )
    return {as_text(row["note"]): as_int(row["races"]) for row in rows}


def _bounds(ledger: Ledger, board: Leaderboard, listing: Listing) -> tuple[int | None, int, str]:
    """Return the values of `_LISTED` for a leaderboard as it is now."""
    return board.id, listing.minimum_finishes, listing.earliest(ledger.standings.latest_race(board))
