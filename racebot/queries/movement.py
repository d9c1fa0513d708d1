"""Places over time: where players of a leaderboard stood at several moments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers


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
