"""Rated races: each leaderboard's sequence of races, their changes, and the resulting standings."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import product

from racebot.ledger.connection import Table
from racebot.ledger.rows import (
    END,
    RATED_LATER,
    START,
    Leaderboard,
    Position,
    RatedRow,
    as_int,
    as_text,
    changes_of,
    moment_of,
    position_of,
    state_text,
    states_of,
)
from racebot.races.change import State

_LAST = 2**63 - 1
"""No sequence number is larger."""


class Ratings(Table):
    """Reads and writes the tables `rated`, `changes` and `standings`."""

    def sequence_at(self, board: Leaderboard, position: Position) -> tuple[int, Position]:
        """Return the number in a leaderboard's sequence for a race at a position.

        It is one more than the number of the last rated race before, whose position is returned, too:
        `START` if there is none.
        """
        sql = (
            "SELECT sequence, race, counted_at FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? AND (counted_at, race) < (?, ?) ORDER BY sequence DESC LIMIT 1"
        )
        row = self._connection.row(sql, board.key, *position.columns)
        if row is None:
            return 1, START
        return as_int(row["sequence"]) + 1, position_of(row["counted_at"], row["race"])

    def sequence_until(self, board: Leaderboard, moment: datetime) -> int:
        """Return the number of the last rated race that counted by a given time; 0 if none did."""
        return self.sequence_at(board, Position(moment + timedelta.resolution))[0] - 1

    def last_counted(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard's sequence counted, None if there is none."""
        last = self.sequence_at(board, END)[1]
        return None if last == START else last.counted_at

    def count(self, board: Leaderboard) -> int:
        """Return the number of races that count on a leaderboard."""
        return as_int(self._connection.value("SELECT count(*) FROM rated WHERE leaderboard = ?", board.key))

    def races(self, board: Leaderboard) -> list[str]:
        """Return the names of a leaderboard's rated races, in order."""
        sql = "SELECT race FROM rated WHERE leaderboard = ? ORDER BY sequence"
        return [as_text(row["race"]) for row in self._connection.rows(sql, board.key)]

    def get(self, board: Leaderboard, race: str) -> RatedRow | None:
        """Return a race with its changes on a leaderboard, or None if it does not count there."""
        sql = "SELECT sequence FROM rated WHERE leaderboard = ? AND race = ?"
        sequence = self._connection.value(sql, board.key, race)
        return None if sequence is None else self.rows(board, sequence, sequence)[0]

    def has(self, board: Leaderboard, race: str) -> bool:
        """Return whether a race counts on a leaderboard."""
        sql = "SELECT 1 FROM rated WHERE leaderboard = ? AND race = ?"
        return bool(self._connection.value(sql, board.key, race))

    def rows(self, board: Leaderboard, first: int = 0, last: int = _LAST) -> list[RatedRow]:
        """Return the races of a leaderboard's sequence with their changes, in order, between two numbers."""
        query = "SELECT * FROM {} WHERE leaderboard = ? AND sequence BETWEEN ? AND ? ORDER BY sequence"
        changes: dict[int, list[sqlite3.Row]] = defaultdict(list)
        for row in self._connection.rows(f"{query.format('changes')}, player", board.key, first, last):
            changes[row["sequence"]].append(row)
        return [
            RatedRow(
                as_int(row["sequence"]),
                as_text(row["race"]),
                tuple(changes_of(changes[row["sequence"]])),
                row["note"],
            )
            for row in self._connection.rows(query.format("rated"), board.key, first, last)
        ]

    def truncate(self, board: Leaderboard, sequence: int) -> None:
        """Delete a leaderboard's rated races from a sequence number on. Leaves the standings unchanged."""
        with self._connection.transaction():
            self.mark_updated(board)
            deleted = 0
            for table in ("changes", "rated", "rated_on"):
                sql = f"DELETE FROM {table} WHERE leaderboard = ? AND sequence >= ?"  # noqa: S608 - ours
                deleted += self._connection.write(sql, board.key, sequence)
            if deleted:
                self._count_revision(board)

    def mark_updated(self, board: Leaderboard) -> None:
        """Store that a leaderboard's rated races are written now."""
        self._connection.ratings_written += 1
        sql = "UPDATE leaderboards SET updated_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now') WHERE id = ?"
        self._connection.write(sql, board.key)

    def updated_at(self, board: Leaderboard) -> datetime | None:
        """Return when a leaderboard's rated races were last written; None if that is unknown."""
        moment = self._connection.value("SELECT updated_at FROM leaderboards WHERE id = ?", board.key)
        return None if moment is None else moment_of(moment)

    def withdraw_changes(self, board: Leaderboard, races: Iterable[str]) -> None:
        """Take races off a leaderboard that is rated again later. Its other races and standings stay.

        A stored race keeps its place with a note. A deleted one leaves a gap in the sequence.
        """
        with self._connection.transaction():
            rated = "rated WHERE leaderboard = ?1 AND race = ?2"
            statements = (
                f"DELETE FROM changes WHERE leaderboard = ?1 AND sequence = (SELECT sequence FROM {rated})",  # noqa: S608
                f"UPDATE rated SET note = '{RATED_LATER}' WHERE leaderboard = ?1 AND race = ?2",  # noqa: S608
                f"DELETE FROM {rated} AND NOT EXISTS (SELECT 1 FROM races WHERE name = race)",  # noqa: S608
            )
            for race, sql in product(races, statements):
                self._connection.write(sql, board.key, race)
            self.mark_updated(board)
            self._count_revision(board)

    def _count_revision(self, board: Leaderboard) -> None:
        self._connection.write("UPDATE leaderboards SET revision = revision + 1 WHERE id = ?", board.key)

    def revision_of(self, board: Leaderboard) -> int:
        """Return a number that changes when rated races of a leaderboard are rated again or deleted."""
        revision = self._connection.value("SELECT revision FROM leaderboards WHERE id = ?", board.key)
        return -1 if revision is None else as_int(revision)

    def platforms(self, board: Leaderboard) -> list[str]:
        """Return the platforms that rated a leaderboard's races, in order.

        An empty string stands for races rated before racebot stored the platform.
        """
        sql = "SELECT * FROM rated_on WHERE leaderboard = ? ORDER BY sequence"
        rows = self._connection.rows(sql, board.key)
        unknown = [] if rows and rows[0]["sequence"] == 1 else [""]
        return [*unknown, *(as_text(row["platform"]) for row in rows)]

    def append(self, board: Leaderboard, rated: Sequence[RatedRow], platform: str) -> None:
        """Append rated races to a leaderboard's sequence, with the platform that rated them."""
        with self._connection.transaction():
            self.mark_updated(board)
            if rated and self.platforms(board)[-1:] != [platform]:
                row = {"leaderboard": board.key, "sequence": rated[0].sequence, "platform": platform}
                self._connection.save("rated_on", "leaderboard, sequence", [row])
            sql = "INSERT INTO rated (leaderboard, sequence, race, note) VALUES (?, ?, ?, ?)"
            self._connection.write_many(sql, [(board.key, row.sequence, row.race, row.note) for row in rated])
            self._connection.write_many(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        board.key,
                        row.sequence,
                        change.player,
                        change.place,
                        state_text(change.before),
                        state_text(change.after),
                        change.points_before,
                        change.points_after,
                        change.races_before,
                        json.dumps(change.parts),
                    )
                    for row in rated
                    for change in row.changes
                ],
            )

    def states_before(self, board: Leaderboard, moment: datetime) -> dict[str, State]:
        """Return each player's state after all races of a leaderboard that count before a given time."""
        last = self.last_counted(board)
        if last is None or last < moment:
            sql = "SELECT player, state FROM standings WHERE leaderboard = ?"
            rows = self._connection.rows(sql, board.key)
        else:
            sql = (
                "SELECT player, state_after AS state, max(sequence) FROM changes"
                " WHERE leaderboard = ? AND sequence < ? GROUP BY player"
            )
            rows = self._connection.rows(sql, board.key, self.sequence_at(board, Position(moment))[0])
        states = states_of([row["state"] for row in rows])
        return {as_text(row["player"]): state for row, state in zip(rows, states, strict=True)}
