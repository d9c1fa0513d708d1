"""Standings: each player's current rating and record on a leaderboard."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime

from racebot.ledger.connection import Connection, Interrupted, never
from racebot.ledger.rows import (
    REBUILD,
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


class Standings(Connection):
    """Reads and writes the table `standings`."""

    def standings(self, board: Leaderboard) -> list[Standing]:
        """Return all standings with names, best first, then by name."""
        rows = self.rows(f"{_SELECT} ORDER BY rating DESC, players.name COLLATE NOCASE, player", board.key)
        states = states_of([row["state"] for row in rows])
        return [standing_of(row, state) for row, state in zip(rows, states, strict=True)]

    def standing(self, board: Leaderboard, player: str) -> Standing | None:
        """Return a player's standing, or None."""
        row = self.row(f"{_SELECT} AND player = ?", board.key, player)
        return None if row is None else standing_of(row)

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard ended, None if there is none."""
        at = self.value("SELECT max(last_race_at) FROM standings WHERE leaderboard = ?", board.key)
        return moment_of(at) if at else None

    def standings_before(
        self, board: Leaderboard, sequence: int, players: Collection[str] | None = None
    ) -> list[Standing]:
        """Return the standings before a sequence number, for the players who have raced since.

        `rating` is not computed, and `last_race_at` comes from the current standing. Players whose first race
        on the leaderboard comes later have zero races.

        Args:
            players: limits the result to these players.
        """
        sql = (
            "SELECT player, state_before, points_before, races_before, min(sequence),"
            " standings.finishes - sum(place IS NOT NULL) AS finishes,"
            " standings.wins - sum(place IS 1) AS wins,"
            " last_race_at FROM changes LEFT JOIN standings USING (leaderboard, player)"
            " WHERE leaderboard = ? AND sequence >= ?"
        )
        if players is None:
            rows = self.rows(f"{sql} GROUP BY player", board.key, sequence)
        else:
            found = (
                self.rows(f"{sql} AND player = ? GROUP BY player", board.key, sequence, p) for p in players
            )
            rows = [row for each in found for row in each]
        states = states_of([row["state_before"] for row in rows])
        return [_standing_before(row, state) for row, state in zip(rows, states, strict=True)]

    def last_race_before(self, board: Leaderboard, player: str, sequence: int) -> datetime:
        """Return when a player's last race before a sequence number ended."""
        ended_at = self.value(
            "SELECT max(ended_at) FROM changes INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND player = ? AND sequence < ?",
            board.key,
            player,
            sequence,
        )
        return moment_of(ended_at)

    def replace_standings(
        self, board: Leaderboard, standings: Sequence[Standing], interrupted: Interrupted = never
    ) -> None:
        """Replace players' standings. A player without races loses the standing.

        Raises:
            WriteInterrupted: `interrupted` returned True.
        """
        self.ratings_written += 1
        with self.transaction():
            self.write_many(
                "DELETE FROM standings WHERE leaderboard = ? AND player = ?",
                [(board.key, s.player) for s in standings if not s.races],
            )
            self.write_many(
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
                interrupted,
            )

    def move_standings(
        self, board: Leaderboard, standings: Sequence[Standing], interrupted: Interrupted = never
    ) -> None:
        """Store new ratings and counts of players whose last race is the same. Faster than replacing.

        Raises:
            WriteInterrupted: `interrupted` returned True.
        """
        self.ratings_written += 1
        self.write_many(
            "UPDATE standings SET state = ?, rating = ?, points = ?, races = ?, finishes = ?, wins = ?"
            " WHERE leaderboard = ? AND player = ?",
            [
                (state_text(s.state), s.rating, s.points, s.races, s.finishes, s.wins, board.key, s.player)
                for s in standings
            ],
            interrupted,
        )

    def remove_standings(self, board: Leaderboard) -> None:
        """Delete all standings of a leaderboard."""
        self.ratings_written += 1
        self.write("DELETE FROM standings WHERE leaderboard = ?", board.key)


@readable("standing", REBUILD)
def _standing_before(row: sqlite3.Row, state: State) -> Standing:
    return Standing(
        player=as_text(row["player"]),
        state=state,
        rating=0.0,
        points=as_int(row["points_before"]),
        races=as_int(row["races_before"]),
        finishes=as_int(row["finishes"]),
        wins=as_int(row["wins"]),
        last_race_at=moment_of(row["last_race_at"]),
    )
