"""Leaderboards: their goals, rating settings and carried-over states."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from racebot.ledger.connection import Connection
from racebot.ledger.jobs import Jobs
from racebot.ledger.rows import Leaderboard, as_text, carry_text, leaderboard_of, state_of, state_text
from racebot.races.change import State


class Leaderboards:
    """Reads and writes the tables `leaderboards` and `carried`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Leaderboard]:
        """Return all leaderboards, sorted by category and name."""
        rows = self._connection.rows(
            "SELECT * FROM leaderboards WHERE shadow_of IS NULL ORDER BY category, name"
        )
        return list(map(leaderboard_of, rows))

    def get(self, category: str, name: str) -> Leaderboard | None:
        """Return the leaderboard with a name, or None."""
        row = self._connection.row(
            "SELECT * FROM leaderboards WHERE category = ? AND name = ? AND shadow_of IS NULL", category, name
        )
        return None if row is None else leaderboard_of(row)

    def save(self, board: Leaderboard) -> Leaderboard:
        """Store a new leaderboard or its changed settings, and return it with its id. Changes no rating."""
        with self._connection.transaction():
            self._connection.write(
                "INSERT INTO leaderboards (category, name, goals, model, parameters, teams, carry)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (category, name) DO UPDATE SET"
                " goals = excluded.goals, model = excluded.model, parameters = excluded.parameters,"
                " teams = excluded.teams, carry = excluded.carry",
                board.category,
                board.name,
                json.dumps(list(board.goals)),
                board.model,
                json.dumps(board.parameters, sort_keys=True),
                board.teams,
                carry_text(board.carry),
            )
            stored = self.get(board.category, board.name)
        assert stored is not None  # noqa: S101 - written two lines up
        return stored

    def rename(self, board: Leaderboard, name: str, goals: Sequence[str]) -> None:
        """Rename a leaderboard and its goals. Changes no rating."""
        self._connection.ratings_written += 1
        self._connection.write(
            "UPDATE leaderboards SET name = ?, goals = ? WHERE id = ?",
            name,
            json.dumps(list(goals)),
            board.key,
        )

    def remove(self, board: Leaderboard) -> None:
        """Delete a leaderboard with its changes and standings. The races stay."""
        self._connection.ratings_written += 1
        with self._connection.transaction():
            Jobs(self._connection).remove(board)
            self._connection.write("DELETE FROM leaderboards WHERE id = ?", board.key)

    def carried(self, board: Leaderboard) -> dict[str, State]:
        """Return the states that players carried over into a leaderboard."""
        rows = self._connection.rows("SELECT player, state FROM carried WHERE leaderboard = ?", board.key)
        return {as_text(row["player"]): state_of(row["state"]) for row in rows}

    def replace_carried(self, board: Leaderboard, states: Mapping[str, State]) -> None:
        """Replace the states that players carry over into a leaderboard."""
        with self._connection.transaction():
            self._connection.write("DELETE FROM carried WHERE leaderboard = ?", board.key)
            self._connection.write_many(
                "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)",
                [(board.key, player, state_text(state)) for player, state in states.items()],
            )
