"""Leaderboards: their goals, rating settings and carried-over states, and their shadows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from racebot.ledger.connection import Table
from racebot.ledger.jobs import Jobs
from racebot.ledger.ratings import Ratings
from racebot.ledger.rows import (
    Leaderboard,
    as_int,
    as_text,
    leaderboard_of,
    rating_columns,
    state_text,
    states_of,
)
from racebot.races.change import State

CHUNK = 100
"""Number of a shadow's races copied or deleted in one transaction: some tens of milliseconds."""
_COPIED = {
    "rated": "sequence, race, note",
    "changes": "sequence, player, place, state_before, state_after, points_before, points_after,"
    " races_before, parts",
    "rated_on": "sequence, platform",
}
"""Columns of each table to copy into a shadow, besides the leaderboard."""


class Leaderboards(Table):
    """Reads and writes the tables `leaderboards` and `carried`."""

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
            self._connection.save("leaderboards", "category, name", [_columns(board)])
            stored = self.get(board.category, board.name)
        assert stored is not None  # noqa: S101 - written two lines up
        return stored

    def rename(self, board: Leaderboard, name: str, goals: Sequence[str]) -> None:
        """Store a leaderboard's new name and goals, and its rule. Changes no rating."""
        self._connection.ratings_written += 1
        for table, column in (("races", "counts_on"), ("events", "leaderboard")):
            sql = f"UPDATE {table} SET {column} = ? WHERE category = ? AND {column} = ?"  # noqa: S608 - ours
            self._connection.write(sql, name, board.category, board.name)
        self._connection.write(
            "UPDATE leaderboards SET name = ?, goals = ?, rule = ? WHERE id = ?",
            name,
            json.dumps(goals),
            board.rule.to_json(),
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
        if board.carry is None:
            return {}
        rows = self._connection.rows("SELECT player, state FROM carried WHERE leaderboard = ?", board.key)
        return dict(zip((as_text(row[0]) for row in rows), states_of([row[1] for row in rows]), strict=True))

    def replace_carried(self, board: Leaderboard, states: Mapping[str, State]) -> None:
        """Replace the states that players carry over into a leaderboard."""
        with self._connection.transaction():
            self._connection.write("DELETE FROM carried WHERE leaderboard = ?", board.key)
            self._connection.write_many(
                "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)",
                [(board.key, player, state_text(state)) for player, state in states.items()],
            )


class Shadows(Table):
    """Hidden leaderboards that are rated beside the live ones, and then take their places.

    A shadow is written in many small transactions, which delay nobody. To put it in place, two rows change,
    however large the leaderboard is. The old rows stay hidden until `remove_hidden` deletes them in small
    chunks. Only the process that holds the rebuild lock may touch a hidden leaderboard.
    """

    def add(self, board: Leaderboard) -> Leaderboard:
        """Store an empty shadow of a leaderboard, with the settings of `board`."""
        shadow = replace(board, name=uuid4().hex)
        self._connection.save(
            "leaderboards", "category, name", [{**_columns(shadow), "shadow_of": board.name}]
        )
        key = self._connection.value("SELECT id FROM leaderboards WHERE name = ?", shadow.name)
        return replace(shadow, id=as_int(key))

    def copy_races(self, board: Leaderboard, shadow: Leaderboard, first: int, until: int) -> None:
        """Copy into a shadow the rated races from one sequence number to below another."""
        with self._connection.transaction(lasting=False):
            for table, columns in _COPIED.items():
                sql = (
                    f"INSERT INTO {table} SELECT ?, {columns} FROM {table}"  # noqa: S608 - ours
                    " WHERE leaderboard = ? AND sequence >= ? AND sequence < ?"
                )
                self._connection.write(sql, shadow.key, board.key, first, until)

    def put_in_place(self, board: Leaderboard, shadow: Leaderboard) -> Leaderboard:
        """Put a shadow in a live leaderboard's place, and return it. The old rows stay hidden."""
        with self._connection.transaction():
            Ratings(self._connection).mark_updated(shadow)
            number = self._connection.value(
                "SELECT coalesce(number, id) FROM leaderboards WHERE id = ?", board.key
            )
            self._connection.write(
                "UPDATE leaderboards SET name = ?, shadow_of = '' WHERE id = ?", uuid4().hex, board.key
            )
            sql = "UPDATE leaderboards SET name = ?, number = ?, shadow_of = NULL WHERE id = ?"
            self._connection.write(sql, board.name, number, shadow.key)
        return replace(shadow, name=board.name)

    def remove_hidden(self) -> None:
        """Delete all leaderboards that are not live, in small transactions."""
        for row in self._connection.rows("SELECT id FROM leaderboards WHERE shadow_of NOT NULL"):
            deleted = -1
            while deleted:
                with self._connection.transaction(lasting=False):
                    deleted = self._connection.write(
                        "DELETE FROM rated WHERE leaderboard = ?1 AND sequence IN"
                        " (SELECT sequence FROM rated WHERE leaderboard = ?1 ORDER BY sequence LIMIT ?2)",
                        row["id"],
                        CHUNK,
                    )
            self._connection.write("DELETE FROM leaderboards WHERE id = ?", row["id"])


def _columns(board: Leaderboard) -> dict[str, str]:
    names = {"category": board.category, "name": board.name, "goals": json.dumps(board.goals)}
    return names | {"rule": board.rule.to_json()} | rating_columns(board)
