"""Rated races: each leaderboard's sequence of races, their changes, and the resulting standings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from racebot.ledger.connection import Connection
from racebot.ledger.rows import (
    RATED_LATER,
    START,
    Leaderboard,
    Position,
    RatedRow,
    as_int,
    as_text,
    changes_of,
    moment_of,
    state_text,
    states_of,
)
from racebot.races.change import Change, State
from racebot.text.format import exact_time

_LAST = 2**63 - 1
"""No sequence number is larger."""


def change_values(change: Change) -> tuple[Any, ...]:
    """Return a change as values of the `changes` table, from `player` on."""
    return (
        change.player,
        change.place,
        state_text(change.before),
        state_text(change.after),
        change.points_before,
        change.points_after,
        change.races_before,
        json.dumps(change.parts),
    )


class Ratings:
    """Reads and writes the tables `rated`, `changes` and `standings`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Sequences

    def sequence_at(self, board: Leaderboard, position: Position) -> tuple[int, Position]:
        """Return the number in a leaderboard's sequence for a race at a position.

        Returns:
            One more than the number of the last rated race before the position, and that race's own
            position, `START` if there is none.
        """
        row = self._connection.row(
            "SELECT sequence, race, counted_at FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? AND (counted_at, race) < (?, ?) ORDER BY sequence DESC LIMIT 1",
            board.key,
            "" if position == START else exact_time(position.counted_at),
            position.race,
        )
        if row is None:
            return 1, START
        return as_int(row["sequence"]) + 1, Position(moment_of(row["counted_at"]), as_text(row["race"]))

    def sequence_until(self, board: Leaderboard, moment: datetime) -> int:
        """Return the number of the last rated race that counted by a given time; 0 if none did."""
        return self.sequence_at(board, Position(moment + timedelta.resolution))[0] - 1

    def last_counted(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard's sequence counted, None if there is none."""
        moment = self._connection.value(
            "SELECT counted_at FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? ORDER BY sequence DESC LIMIT 1",
            board.key,
        )
        return None if moment is None else moment_of(moment)

    def count(self, board: Leaderboard) -> int:
        """Return the number of races that count on a leaderboard."""
        return as_int(self._connection.value("SELECT count(*) FROM rated WHERE leaderboard = ?", board.key))

    def races_after(self, board: Leaderboard, sequence: int) -> list[str]:
        """Return the names of a leaderboard's rated races after a sequence number, in order."""
        rows = self._connection.rows(
            "SELECT race FROM rated WHERE leaderboard = ? AND sequence > ? ORDER BY sequence",
            board.key,
            sequence,
        )
        return [as_text(row["race"]) for row in rows]

    def get(self, board: Leaderboard, race: str) -> RatedRow | None:
        """Return a race with its changes on a leaderboard, or None if it does not count there."""
        sequence = self._connection.value(
            "SELECT sequence FROM rated WHERE leaderboard = ? AND race = ?", board.key, race
        )
        return None if sequence is None else self.rows(board, sequence, sequence)[0]

    def has(self, board: Leaderboard, race: str) -> bool:
        """Return whether a race counts on a leaderboard."""
        return bool(
            self._connection.value("SELECT 1 FROM rated WHERE leaderboard = ? AND race = ?", board.key, race)
        )

    def rows(self, board: Leaderboard, first: int = 0, last: int = _LAST) -> list[RatedRow]:
        """Return the races of a leaderboard's sequence with their changes, in order, between two numbers."""
        changes: dict[int, list[sqlite3.Row]] = {}
        for row in self._connection.rows(
            "SELECT * FROM changes WHERE leaderboard = ? AND sequence BETWEEN ? AND ?"
            " ORDER BY sequence, player",
            board.key,
            first,
            last,
        ):
            changes.setdefault(row["sequence"], []).append(row)
        rows = self._connection.rows(
            "SELECT * FROM rated WHERE leaderboard = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
            board.key,
            first,
            last,
        )
        return [
            RatedRow(
                as_int(row["sequence"]),
                as_text(row["race"]),
                tuple(changes_of(changes.get(row["sequence"], []))),
                row["note"],
            )
            for row in rows
        ]

    def truncate(self, board: Leaderboard, sequence: int) -> None:
        """Delete a leaderboard's rated races from a sequence number on. Leaves the standings unchanged."""
        with self._connection.transaction():
            self.mark_updated(board)
            deleted = [
                self._connection.write(
                    f"DELETE FROM {table} WHERE leaderboard = ? AND sequence >= ?",  # noqa: S608 - ours
                    board.key,
                    sequence,
                )
                for table in ("changes", "rated", "rated_on")
            ]
            if any(deleted):
                self._connection.write(
                    "UPDATE leaderboards SET revision = revision + 1 WHERE id = ?", board.key
                )

    def mark_updated(self, board: Leaderboard) -> None:
        """Store that a leaderboard's rated races are written now."""
        self._connection.ratings_written += 1
        self._connection.write(
            "UPDATE leaderboards SET updated_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now') WHERE id = ?",
            board.key,
        )

    def updated_at(self, board: Leaderboard) -> datetime | None:
        """Return when a leaderboard's rated races were last written; None if that is unknown."""
        moment = self._connection.value("SELECT updated_at FROM leaderboards WHERE id = ?", board.key)
        return None if moment is None else moment_of(moment)

    def withdraw_changes(self, board: Leaderboard, races: Iterable[str]) -> None:
        """Take races off a leaderboard that is rated again later. Its other races and standings stay.

        A stored race keeps its place with a note. A deleted one leaves a gap in the sequence.
        """
        with self._connection.transaction():
            for race in races:
                self._connection.write(
                    "DELETE FROM changes WHERE leaderboard = ?1 AND sequence ="
                    " (SELECT sequence FROM rated WHERE leaderboard = ?1 AND race = ?2)",
                    board.key,
                    race,
                )
                self._connection.write(
                    "UPDATE rated SET note = ? WHERE leaderboard = ? AND race = ?",
                    RATED_LATER,
                    board.key,
                    race,
                )
                self._connection.write(
                    "DELETE FROM rated WHERE leaderboard = ? AND race = ?"
                    " AND NOT EXISTS (SELECT 1 FROM races WHERE name = race)",
                    board.key,
                    race,
                )
            self.mark_updated(board)
            self._connection.write("UPDATE leaderboards SET revision = revision + 1 WHERE id = ?", board.key)

    def revision_of(self, board: Leaderboard) -> int:
        """Return a number that changes when rated races of a leaderboard are rated again or deleted."""
        revision = self._connection.value("SELECT revision FROM leaderboards WHERE id = ?", board.key)
        return -1 if revision is None else as_int(revision)

    def platforms(self, board: Leaderboard) -> list[str]:
        """Return the platforms that rated a leaderboard's races, in order.

        An empty string stands for races rated before racebot stored the platform.
        """
        rows = self._connection.rows(
            "SELECT * FROM rated_on WHERE leaderboard = ? ORDER BY sequence", board.key
        )
        unknown = [] if rows and rows[0]["sequence"] == 1 else [""]
        return [*unknown, *(as_text(row["platform"]) for row in rows)]

    def append(self, board: Leaderboard, rated: Sequence[RatedRow], platform: str) -> None:
        """Append rated races to a leaderboard's sequence, with the platform that rated them."""
        with self._connection.transaction():
            self.mark_updated(board)
            if rated and self.platforms(board)[-1:] != [platform]:
                first = min(row.sequence for row in rated)
                self._connection.write(
                    "INSERT OR REPLACE INTO rated_on VALUES (?, ?, ?)", board.key, first, platform
                )
            self._connection.write_many(
                "INSERT INTO rated (leaderboard, sequence, race, note) VALUES (?, ?, ?, ?)",
                [(board.key, row.sequence, row.race, row.note) for row in rated],
            )
            self._connection.write_many(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (board.key, row.sequence, *change_values(change))
                    for row in rated
                    for change in row.changes
                ],
            )

    # Changes

    def states_before(self, board: Leaderboard, moment: datetime) -> dict[str, State]:
        """Return each player's state after all races of a leaderboard that count before a given time."""
        last = self.last_counted(board)
        if last is None or last < moment:
            rows = self._connection.rows(
                "SELECT player, state FROM standings WHERE leaderboard = ?", board.key
            )
        else:
            sequence, _ = self.sequence_at(board, Position(moment))
            rows = self._connection.rows(
                "SELECT player, state_after AS state, max(sequence) FROM changes"
                " WHERE leaderboard = ? AND sequence < ? GROUP BY player",
                board.key,
                sequence,
            )
        states = states_of([row["state"] for row in rows])
        return {as_text(row["player"]): state for row, state in zip(rows, states, strict=True)}
