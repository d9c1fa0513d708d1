"""Standings: each player's current rating and record on a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from racebot.ledger.connection import Table
from racebot.ledger.rows import START, Leaderboard, Standing, moment_of, standings_of, state_text
from racebot.text.format import exact_time

_SELECT = (
    "SELECT standings.*, players.name AS name, player IN (SELECT player FROM hidden_players) AS hidden"
    " FROM standings JOIN shown_players AS players ON players.id = player WHERE leaderboard = ?"
)
"""Reads the standings of a leaderboard with the players' names."""


class Standings(Table):
    """Reads and writes the table `standings`."""

    def all(self, board: Leaderboard) -> list[Standing]:
        """Return all standings with names, best first, then by name."""
        order = "ORDER BY rating DESC, players.name COLLATE NOCASE, player"
        return standings_of(self._connection.rows(f"{_SELECT} {order}", board.key))

    def get(self, board: Leaderboard, player: str) -> Standing | None:
        """Return a player's standing; None without one, or if the leaderboard is not stored."""
        rows = self._connection.rows(f"{_SELECT} AND player = ?", board.id, player)
        return next(iter(standings_of(rows)), None)

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard ended, None if there is none."""
        at = self._connection.value("SELECT max(last_race_at) FROM standings WHERE leaderboard = ?", board.id)
        return moment_of(at) if at else None

    def before(self, board: Leaderboard, sequence: int) -> list[Standing]:
        """Return the standings before a sequence number, of the players who have raced since.

        `rating` is not computed, and `last_race_at` comes from the current standing. Players whose first race
        on the leaderboard comes later have zero races.
        """
        sql = (
            "SELECT player, state_before AS state, points_before AS points, races_before AS races,"
            " min(sequence), standings.finishes - sum(place IS NOT NULL) AS finishes,"
            " standings.wins - sum(place IS 1) AS wins,"
            " last_race_at, 0.0 AS rating, '' AS name, 0 AS hidden"
            " FROM changes LEFT JOIN standings USING (leaderboard, player)"
            " WHERE leaderboard = ? AND sequence >= ? GROUP BY player"
        )
        rows = self._connection.rows(sql, board.key, sequence)
        return standings_of(rows)

    def after_changes(self, board: Leaderboard) -> list[Standing]:
        """Compute all standings from the changes alone. `rating` is not computed."""
        rows = self._connection.rows(
            "SELECT player, state_after AS state, points_after AS points, races_before + 1 AS races,"
            " finishes, wins, last_race_at, 0.0 AS rating, '' AS name, 0 AS hidden FROM ("
            "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins,"
            "  max(ended_at) AS last_race_at FROM changes JOIN rated USING (leaderboard, sequence)"
            "  JOIN races ON races.name = race WHERE leaderboard = ?1 GROUP BY player"
            " ) JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
            board.key,
        )
        return standings_of(rows)

    def last_race_before(self, board: Leaderboard, player: str, sequence: int) -> datetime:
        """Return when a player's last race before a sequence number ended; long ago if there is none."""
        sql = (
            "SELECT max(ended_at) FROM changes INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND player = ? AND sequence < ?"
        )
        ended_at = self._connection.value(sql, board.key, player, sequence)
        return START.counted_at if ended_at is None else moment_of(ended_at)

    def replace(self, board: Leaderboard, standings: Sequence[Standing]) -> None:
        """Replace players' standings. A player without races loses the standing."""
        self._connection.ratings_written += 1
        with self._connection.transaction():
            sql = "DELETE FROM standings WHERE leaderboard = ? AND player = ?"
            self._connection.write_many(sql, [(board.key, s.player) for s in standings if not s.races])
            rows = [
                {
                    "leaderboard": board.key,
                    "player": s.player,
                    "state": state_text(s.state),
                    "rating": s.rating,
                    "points": s.points,
                    "races": s.races,
                    "finishes": s.finishes,
                    "wins": s.wins,
                    "last_race_at": exact_time(s.last_race_at),
                }
                for s in standings
                if s.races
            ]
            self._connection.save("standings", "leaderboard, player", rows)

    def remove(self, board: Leaderboard) -> None:
        """Delete all standings of a leaderboard."""
        self._connection.ratings_written += 1
        self._connection.write("DELETE FROM standings WHERE leaderboard = ?", board.key)
