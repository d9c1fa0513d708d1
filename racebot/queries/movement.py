"""Places over time: where players of a leaderboard stood at several moments, and what a week changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers, open_leaderboard
from racebot.queries.listing import Listing
from racebot.queries.records import Upset, upsets

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Week:
    """A week of a leaderboard.

    Attributes:
        climbers: the listed players who gained most places, with their new place; none where scores order.
        upsets: the least likely win.
        most_races: the listed players who raced most, with the number of their races.
    """

    climbers: Mapping[str, int]
    upsets: Sequence[Upset]
    most_races: Mapping[str, int]


def week(
    ledger: Ledger, board: Leaderboard, listing: Listing, end: datetime, *, settled: int, limit: int = 3
) -> Week | None:
    """Return what the week before a time changed, None if it had no race. `settled` is as for upsets."""
    first, last = (ledger.ratings.sequence_until(board, moment) for moment in (end - WEEK, end))
    if first == last:
        return None
    then, now = (open_leaderboard(ledger, board, listing, at=at).players for at in (end - WEEK, end))
    earlier = {row.player: row for row in then.rows}
    gained, races = dict[str, int](), dict[str, int]()
    for row in now.rows:
        before, place = earlier.get(row.player), now.places[row.rating]
        races[row.player] = row.races - (before.races if before else 0)
        if before and then.places[before.rating] > place and listing.ordering is None:
            gained[row.player] = then.places[before.rating] - place
    places = {row.player: now.places[row.rating] for row in now.rows}
    best = sorted(gained, key=lambda player: (-gained[player], places[player]))[:limit]
    most = max(races.values(), default=0)
    return Week(
        {player: places[player] for player in best},
        upsets(ledger, board, settled=settled, limit=1, after=first, until=last),
        {player: count for player, count in races.items() if count == most > 0},
    )


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
    changes = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? AND sequence > ? ORDER BY sequence",
        board.key,
        int(samples[0]),
    )
    points = np.full((len(listed.rows), len(moments)), np.nan)
    points[:, 0] = [row.points for row in listed.rows]
    row_of = {row.player: number for number, row in enumerate(listed.rows)}
    raced: set[str] = set()
    columns = np.searchsorted(samples, [change[0] for change in changes]).tolist()
    for column, (_, player, before, after, races_before) in zip(columns, changes, strict=True):
        row = row_of.get(player)
        if row is None:
            continue
        if player not in raced:
            raced.add(player)
            points[row, 0] = before if races_before else np.nan
        if column < len(moments):
            points[row, column] = after
    for column in range(1, len(moments)):
        missing = np.isnan(points[:, column])
        points[missing, column] = points[missing, column - 1]
    found = {}
    for player in players:
        own = points[row_of[player]]
        places = np.where(np.isnan(own), 0, 1 + (points > own).sum(0))
        found[player] = [place or None for place in places.tolist()]
    return found
