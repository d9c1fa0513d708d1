"""Leaderboards: their goals, rating settings and carried-over states, and the rebuilds that wait.

A leaderboard that takes too long to rate again in one transaction gets a rebuild, which a separate process
carries out. Until then, the leaderboard keeps its old ratings and settings.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from racebot.ledger.connection import LedgerTable
from racebot.ledger.rows import (
    Leaderboard,
    Position,
    State,
    as_int,
    as_text,
    position_of,
    rating_columns,
    read,
    states_of,
)

ODDS_FROM = 20  # fewest races to fit a leaderboard's odds
FIT_AGAIN_AT = 1.25  # races to fit the odds again, as a multiple of those at the last fit


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A leaderboard that must be rated again.

    `board` is the leaderboard with the settings to rate it with, `start` the position of the first race to
    rate again. `revision` changes with each request, `error` says why the last try failed.
    """

    board: Leaderboard
    start: Position
    reason: str
    revision: int
    error: str | None


class Rebuilds(LedgerTable):
    def all(self) -> list[Rebuild]:
        """Return all rebuilds, sorted by category and leaderboard."""
        return list(map(_rebuild_of, self._connection.rows(f"{_REBUILDS} ORDER BY category, name")))

    def of(self, board: Leaderboard) -> Rebuild | None:
        row = self._connection.row(f"{_REBUILDS} WHERE id = ?", board.id)
        return None if row is None else _rebuild_of(row)

    def request(self, board: Leaderboard, start: Position, reason: str) -> None:
        """Store that a leaderboard must be rated again, with the settings of `board` and from `start` on.

        A rebuild under way starts again.
        """
        self._connection.ratings_written += 1
        with self._connection.transaction():
            earlier = self.of(board)
            counted_at, race = (start if earlier is None else min(start, earlier.start)).columns
            row = {
                "leaderboard": board.key,
                **rating_columns(board),
                "counted_at": counted_at,
                "race": race,
                "reason": reason,
                "revision": 0 if earlier is None else earlier.revision + 1,
                "error": None,
            }
            self._connection.save("rebuilds", "leaderboard", [row])

    def fail(self, rebuild: Rebuild, error: str) -> None:
        """Store why a rebuild failed, unless it has been requested again."""
        sql = "UPDATE rebuilds SET error = ? WHERE leaderboard = ? AND revision = ?"
        self._connection.write(sql, error, rebuild.board.key, rebuild.revision)

    def remove(self, board: Leaderboard) -> None:
        self._connection.write("DELETE FROM rebuilds WHERE leaderboard = ?", board.key)


class Leaderboards(LedgerTable):
    def all(self) -> list[Leaderboard]:
        """Return all leaderboards, sorted by category and name."""
        return read(Leaderboard, self._connection.rows("SELECT * FROM leaderboards ORDER BY category, name"))

    def get(self, category: str, name: str) -> Leaderboard | None:
        sql = "SELECT * FROM leaderboards WHERE category = ? AND name = ?"
        return next(iter(read(Leaderboard, self._connection.rows(sql, category, name))), None)

    def source(self, board: Leaderboard) -> Leaderboard | None:
        """Return the leaderboard that one carries over from, or None."""
        return None if board.carry is None else self.get(board.category, board.carry.source)

    def with_old_odds(self) -> list[Leaderboard]:
        """Return the leaderboards whose odds to fit: those with a quarter more races than at their last fit.

        One that waits for a rebuild is left out.
        """
        sql = (
            "SELECT * FROM leaderboards WHERE id NOT IN (SELECT leaderboard FROM rebuilds)"
            " AND (SELECT max(sequence) FROM rated WHERE leaderboard = id) >= max(?, ? * odds_races)"
        )
        return read(Leaderboard, self._connection.rows(sql, ODDS_FROM, FIT_AGAIN_AT))

    def save(self, board: Leaderboard) -> Leaderboard:
        """Store a new leaderboard, or the changed settings of one, and return it with its id.

        Changes no rating, and no name: `rename` does that.
        """
        row = {
            "category": board.category,
            "name": board.name,
            "goals": json.dumps(board.goals),
            "rule": board.rule.to_json(),
            "odds_races": board.odds_races,
            "odds_fitted_at": board.odds_fitted_at,
            **rating_columns(board),
        }
        with self._connection.transaction():
            if board.id is None:
                self._connection.save("leaderboards", "category, name", [row])
            else:
                del row["category"], row["name"]
                columns = ", ".join(f"{column} = ?" for column in row)
                sql = f"UPDATE leaderboards SET {columns} WHERE id = ?"  # noqa: S608 - ours
                self._connection.write(sql, *row.values(), board.id)
                return board
            stored = self.get(board.category, board.name)
        assert stored is not None  # noqa: S101 - written above
        return stored

    def rename(self, board: Leaderboard, name: str, goals: Sequence[str]) -> None:
        """Store a leaderboard's new name and goals, and its rule. Changes no rating."""
        self._connection.ratings_written += 1
        self.move_events(board.category, board.name, name)
        sql = "UPDATE leaderboards SET name = ?, goals = ?, rule = ? WHERE id = ?"
        self._connection.write(sql, name, json.dumps(goals), board.rule.to_json(), board.key)

    def move_events(self, category: str, earlier: str, name: str) -> None:
        """Let the events of a leaderboard, stored or not, belong to the one with another name."""
        for table, column in (("races", "counts_on"), ("events", "leaderboard")):
            sql = f"UPDATE {table} SET {column} = ? WHERE category = ? AND {column} = ?"  # noqa: S608 - ours
            self._connection.write(sql, name, category, earlier)

    def remove(self, board: Leaderboard) -> None:
        """Delete a leaderboard with its changes and standings. The races stay."""
        self._connection.ratings_written += 1
        self._connection.write("DELETE FROM leaderboards WHERE id = ?", board.key)

    def carried(self, board: Leaderboard) -> dict[str, State]:
        """Return the states that players carried over into a leaderboard."""
        if board.carry is None:
            return {}
        rows = self._connection.rows("SELECT player, state FROM carried WHERE leaderboard = ?", board.key)
        return dict(zip((as_text(row[0]) for row in rows), states_of([row[1] for row in rows]), strict=True))

    def replace_carried(self, board: Leaderboard, states: Mapping[str, State]) -> None:
        with self._connection.transaction():
            self._connection.write("DELETE FROM carried WHERE leaderboard = ?", board.key)
            sql = "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)"
            rows = [(board.key, player, json.dumps(state)) for player, state in states.items()]
            self._connection.write_many(sql, rows)


_REBUILDS = (
    "SELECT id, category, name, goals, rule, rebuilds.model, rebuilds.parameters, rebuilds.teams,"
    " rebuilds.carry, counted_at, race, reason, rebuilds.revision AS requests, error"
    " FROM rebuilds JOIN leaderboards ON id = leaderboard"
)


def _rebuild_of(row: sqlite3.Row) -> Rebuild:
    (board,), start = read(Leaderboard, [row]), position_of(row["counted_at"], row["race"])
    return Rebuild(board, start, as_text(row["reason"]), as_int(row["requests"]), row["error"])
