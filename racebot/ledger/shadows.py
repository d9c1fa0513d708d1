"""Shadow leaderboards: hidden copies that are rated beside the live leaderboard, and then take its place.

A shadow is written in many small transactions, which delay nobody. To put it in place, two rows change,
however large the leaderboard is. The old rows stay hidden until `remove_hidden` deletes them in small pieces.
Only the process that holds the rebuild lock may touch a hidden leaderboard.
"""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import uuid4

from racebot.ledger.connection import Connection
from racebot.ledger.ratings import Ratings
from racebot.ledger.rows import Leaderboard, as_int, carry_text

PIECE = 100
"""Number of races copied or deleted in one transaction: some tens of milliseconds."""


_COPIED = {
    "rated": "sequence, race, note",
    "changes": "sequence, player, place, state_before, state_after, points_before, points_after,"
    " races_before, parts",
    "rated_on": "sequence, platform",
}
"""Columns to copy of each table, besides the leaderboard."""


class Shadows:
    """Reads and writes leaderboards that are not live."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, board: Leaderboard) -> Leaderboard:
        """Store an empty shadow of a leaderboard, with the settings of `board`."""
        shadow = replace(board, name=uuid4().hex)
        self._connection.write(
            "INSERT INTO leaderboards (category, name, goals, model, parameters, teams, carry, shadow_of)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            shadow.category,
            shadow.name,
            json.dumps(list(shadow.goals)),
            shadow.model,
            json.dumps(dict(shadow.parameters), sort_keys=True),
            shadow.teams,
            carry_text(shadow.carry),
            board.name,
        )
        key = self._connection.value("SELECT id FROM leaderboards WHERE name = ?", shadow.name)
        return replace(shadow, id=as_int(key))

    def copy_races(self, board: Leaderboard, shadow: Leaderboard, first: int, until: int) -> None:
        """Copy into a shadow the rated races from one sequence number to below another."""
        with self._connection.transaction(lasting=False):
            for table, columns in _COPIED.items():
                self._connection.write(
                    f"INSERT INTO {table} SELECT ?, {columns} FROM {table}"  # noqa: S608 - ours
                    " WHERE leaderboard = ? AND sequence >= ? AND sequence < ?",
                    shadow.key,
                    board.key,
                    first,
                    until,
                )

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
            self._connection.write(
                "UPDATE leaderboards SET name = ?, number = ?, shadow_of = NULL WHERE id = ?",
                board.name,
                number,
                shadow.key,
            )
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
                        PIECE,
                    )
            self._connection.write("DELETE FROM leaderboards WHERE id = ?", row["id"])
