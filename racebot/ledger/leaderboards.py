"""Leaderboards: their goals, rating settings and carried-over states."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from racebot.ledger.connection import Connection
from racebot.ledger.jobs import Jobs
from racebot.ledger.rows import (
    Leaderboard,
    as_text,
    carry_text,
    leaderboard_of,
    state_of,
    state_text,
)
from racebot.races.change import State


class Leaderboards(Connection):
    """Reads and writes the tables `leaderboards` and `carried`."""

    def leaderboards(self) -> list[Leaderboard]:
        """Return all leaderboards, sorted by category and name."""
        rows = self.rows("SELECT * FROM leaderboards WHERE shadow_of IS NULL ORDER BY category, name")
        return list(map(leaderboard_of, rows))

    def leaderboard(self, category: str, name: str) -> Leaderboard | None:
        """Return the leaderboard with a name, or None."""
        row = self.row(
            "SELECT * FROM leaderboards WHERE category = ? AND name = ? AND shadow_of IS NULL", category, name
        )
        return None if row is None else leaderboard_of(row)

    def save_leaderboard(self, board: Leaderboard) -> Leaderboard:
        """Store a new leaderboard or its changed settings, and return it with its id. Changes no rating."""
        with self.transaction():
            self.write(
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
            stored = self.leaderboard(board.category, board.name)
        assert stored is not None  # noqa: S101 - written two lines up
        return stored

    def rename_leaderboard(self, board: Leaderboard, name: str, goals: Sequence[str]) -> None:
        """Rename a leaderboard and its goals. Changes no rating."""
        self.ratings_written += 1
        self.write(
            "UPDATE leaderboards SET name = ?, goals = ? WHERE id = ?",
            name,
            json.dumps(list(goals)),
            board.key,
        )

    def remove_leaderboard(self, board: Leaderboard) -> None:
        """Delete a leaderboard with its changes and standings. The races stay."""
        self.ratings_written += 1
        with self.transaction():
            Jobs(self).remove(board)
            self.write("DELETE FROM leaderboards WHERE id = ?", board.key)

    def carried(self, board: Leaderboard) -> dict[str, State]:
        """Return the states that players carried over into a leaderboard."""
        rows = self.rows("SELECT player, state FROM carried WHERE leaderboard = ?", board.key)
        return {as_text(row["player"]): state_of(row["state"]) for row in rows}

    def replace_carried(self, board: Leaderboard, states: Mapping[str, State]) -> None:
        """Replace the states that players carry over into a leaderboard."""
        with self.transaction():
            self.write("DELETE FROM carried WHERE leaderboard = ?", board.key)
            self.write_many(
                "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)",
                [(board.key, player, state_text(state)) for player, state in states.items()],
            )
