"""Standings: each player's current rating and record on a leaderboard."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from racebot.ledger.connection import Connection
from racebot.ledger.rows import (
    REBUILD,
    START,
    Leaderboard,
    Standing,
    as_int,
    as_text,
    moment_of,
    readable,
    standing_of,
    state_text,
    states_of,
)
from racebot.races.change import State
from racebot.text.format import exact_time

_SELECT = (
    "SELECT standings.*, players.name AS name, player IN (SELECT player FROM hidden_players) AS hidden"
    " FROM standings JOIN shown_players AS players ON players.id = player WHERE leaderboard = ?"
)
"""Reads the standings of a leaderboard with the players' names."""


class Standings:
    """Reads and writes the table `standings`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self, board: Leaderboard) -> list[Standing]:
        """Return all standings with names, best first, then by name."""
        rows = self._connection.rows(
            f"{_SELECT} ORDER BY rating DESC, players.name COLLATE NOCASE, player", board.key
        )
        states = states_of([row["state"] for row in rows])
        return [standing_of(row, state) for row, state in zip(rows, states, strict=True)]

    def get(self, board: Leaderboard, player: str) -> Standing | None:
        """Return a player's standing; None without one, or if the leaderboard is not stored."""
        row = self._connection.row(f"{_SELECT} AND player = ?", board.id, player)
        return None if row is None else standing_of(row)

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard ended, None if there is none."""
        at = self._connection.value("SELECT max(last_race_at) FROM standings WHERE leaderboard = ?", board.id)
        return moment_of(at) if at else None

    def before(self, board: Leaderboard, sequence: int) -> list[Standing]:
        """Return the standings before a sequence number, of the players who have raced since.

        `rating` is not computed, and `last_race_at` comes from the current standing. Players whose first race
        on the leaderboard comes later have zero races.
        """
        rows = self._connection.rows(
            "SELECT player, state_before AS state, points_before AS points, races_before AS races,"
            " min(sequence), standings.finishes - sum(place IS NOT NULL) AS finishes,"
            " standings.wins - sum(place IS 1) AS wins,"
            " last_race_at FROM changes LEFT JOIN standings USING (leaderboard, player)"
            " WHERE leaderboard = ? AND sequence >= ? GROUP BY player",
            board.key,
            sequence,
        )
        states = states_of([row["state"] for row in rows])
        return [_unrated_standing(row, state) for row, state in zip(rows, states, strict=True)]

    def after_changes(self, board: Leaderboard) -> list[Standing]:
        """Compute all standings from the changes alone. `rating` is not computed."""
        rows = self._connection.rows(
            "SELECT player, state_after AS state, points_after AS points, races_before + 1 AS races,"
            " finishes, wins, last_race_at FROM ("
            "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins,"
            "  max(ended_at) AS last_race_at FROM changes JOIN rated USING (leaderboard, sequence)"
            "  JOIN races ON races.name = race WHERE leaderboard = ?1 GROUP BY player"
            " ) JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
            board.key,
        )
        states = states_of([row["state"] for row in rows])
        return [_unrated_standing(row, state) for row, state in zip(rows, states, strict=True)]

    def last_race_before(self, board: Leaderboard, player: str, sequence: int) -> datetime:
        """Return when a player's last race before a sequence number ended; long ago if there is none."""
        ended_at = self._connection.value(
            "SELECT max(ended_at) FROM changes INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND player = ? AND sequence < ?",
            board.key,
            player,
            sequence,
        )
        return START.counted_at if ended_at is None else moment_of(ended_at)

    def replace(self, board: Leaderboard, standings: Sequence[Standing]) -> None:
        """Replace players' standings. A player without races loses the standing."""
        self._connection.ratings_written += 1
        with self._connection.transaction():
            self._connection.write_many(
                "DELETE FROM standings WHERE leaderboard = ? AND player = ?",
                [(board.key, s.player) for s in standings if not s.races],
            )
            self._connection.write_many(
                "INSERT INTO standings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (leaderboard, player) DO UPDATE SET state = excluded.state,"
                " rating = excluded.rating, points = excluded.points, races = excluded.races,"
                " finishes = excluded.finishes, wins = excluded.wins, last_race_at = excluded.last_race_at",
                [
                    (
                        board.key,
                        s.player,
                        state_text(s.state),
                        s.rating,
                        s.points,
                        s.races,
                        s.finishes,
                        s.wins,
                        exact_time(s.last_race_at),
                    )
                    for s in standings
                    if s.races
                ],
            )

    def remove(self, board: Leaderboard) -> None:
        """Delete all standings of a leaderboard."""
        self._connection.ratings_written += 1
        self._connection.write("DELETE FROM standings WHERE leaderboard = ?", board.key)


@readable("standing", REBUILD)
def _unrated_standing(row: sqlite3.Row, state: State) -> Standing:
    return Standing(
        player=as_text(row["player"]),
        state=state,
        rating=0.0,
        points=as_int(row["points"]),
        races=as_int(row["races"]),
        finishes=as_int(row["finishes"]),
        wins=as_int(row["wins"]),
        last_race_at=moment_of(row["last_race_at"]),
    )
