"""Leaderboards: their goals, rating settings and carried-over states, their jobs and their shadows.

A leaderboard that takes too long to rate again in one transaction gets a job, which a separate process
carries out. Until then, the leaderboard keeps its old ratings and settings.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from racebot.ledger.connection import Table
from racebot.ledger.ratings import Ratings
from racebot.ledger.rows import (
    Leaderboard,
    Position,
    as_int,
    as_text,
    leaderboard_of,
    position_of,
    rating_columns,
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
FIRST_PAUSE = timedelta(minutes=1)
"""Pause after a job's first error. It doubles with each further one."""
LONGEST_PAUSE = timedelta(hours=1)
EVER = datetime.max.replace(tzinfo=UTC)
"""After all pauses."""


@dataclass(frozen=True, slots=True)
class Job:
    """A leaderboard that must be rated again.

    `board` is the live leaderboard with the settings to rate it with, `start` the position of the first race
    to rate again. `revision` changes with each request. `races` counts the races that are rated so far.
    """

    board: Leaderboard
    start: Position
    reason: str
    revision: int
    error: str | None
    races: int


class Jobs(Table):
    """Reads and writes the table `jobs`."""

    def all(self) -> list[Job]:
        """Return all jobs, sorted by category and leaderboard."""
        return list(map(_job_of, self._connection.rows(f"{_JOBS} ORDER BY category, name")))

    def of(self, board: Leaderboard) -> Job | None:
        """Return a leaderboard's job, or None."""
        row = self._connection.row(f"{_JOBS} WHERE live.id = ?", board.key)
        return None if row is None else _job_of(row)

    def due(self, now: datetime = EVER) -> bool:
        """Return whether there is work: a job whose pause after an error is over, or rows to clear away."""
        sql = (
            "SELECT 1 FROM jobs WHERE not_before <= ?"
            " UNION SELECT 1 FROM leaderboards WHERE shadow_of NOT NULL"
        )
        return bool(self._connection.value(sql, now))

    def request(self, board: Leaderboard, start: Position, reason: str) -> None:
        """Store that a leaderboard must be rated again, with the settings of `board` and from `start` on.

        A job under way starts again.
        """
        self._connection.ratings_written += 1
        with self._connection.transaction():
            earlier = self.of(board)
            counted_at, race = (start if earlier is None else min(start, earlier.start)).columns
            row = {
                "leaderboard": self._number(board),
                **rating_columns(board),
                "counted_at": counted_at,
                "race": race,
                "reason": reason,
                "revision": 0 if earlier is None else earlier.revision + 1,
                "error": None,
                "tries": 0,
                "not_before": "",
            }
            self._connection.save("jobs", "leaderboard", [row])

    def is_current(self, job: Job) -> bool:
        """Return whether a job is stored and has not been requested again since it was read."""
        stored = self.of(job.board)
        return stored is not None and stored.revision == job.revision

    def fail(self, job: Job, error: str, now: datetime) -> None:
        """Store why a job failed. It is not due for a while."""
        number = self._number(job.board)
        with self._connection.transaction():
            sql = "SELECT tries FROM jobs WHERE leaderboard = ? AND revision = ?"
            tries = self._connection.value(sql, number, job.revision)
            if tries is not None:
                pause = min(FIRST_PAUSE * 2 ** min(tries, 10), LONGEST_PAUSE)
                sql = "UPDATE jobs SET error = ?, tries = tries + 1, not_before = ? WHERE leaderboard = ?"
                self._connection.write(sql, error, now + pause, number)

    def remove(self, board: Leaderboard) -> None:
        """Delete a leaderboard's job."""
        self._connection.write("DELETE FROM jobs WHERE leaderboard = ?", self._number(board))

    def _number(self, board: Leaderboard) -> Any:
        """Return the number of a leaderboard, which stays the same when its id changes."""
        return self._connection.value("SELECT coalesce(number, id) FROM leaderboards WHERE id = ?", board.key)


class Leaderboards(Table):
    """Reads and writes the tables `leaderboards` and `carried`."""

    def all(self) -> list[Leaderboard]:
        """Return all leaderboards, sorted by category and name."""
        sql = "SELECT * FROM leaderboards WHERE shadow_of IS NULL ORDER BY category, name"
        return list(map(leaderboard_of, self._connection.rows(sql)))

    def get(self, category: str, name: str) -> Leaderboard | None:
        """Return the leaderboard with a name, or None."""
        sql = "SELECT * FROM leaderboards WHERE category = ? AND name = ? AND shadow_of IS NULL"
        row = self._connection.row(sql, category, name)
        return None if row is None else leaderboard_of(row)

    def source(self, board: Leaderboard) -> Leaderboard | None:
        """Return the leaderboard that one carries over from, or None."""
        return None if board.carry is None else self.get(board.category, board.carry.source)

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
        sql = "UPDATE leaderboards SET name = ?, goals = ?, rule = ? WHERE id = ?"
        self._connection.write(sql, name, json.dumps(goals), board.rule.to_json(), board.key)

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
            sql = "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)"
            rows = [(board.key, player, json.dumps(state)) for player, state in states.items()]
            self._connection.write_many(sql, rows)


class Shadows(Table):
    """Hidden leaderboards that are rated beside the live ones, and then take their places.

    A shadow is written in many small transactions, which delay nobody. To put it in place, two rows change,
    however large the leaderboard is. The old rows stay hidden until `remove_hidden` deletes them in small
    chunks. Only the process that holds the rebuild lock may touch a hidden leaderboard.
    """

    def add(self, board: Leaderboard) -> Leaderboard:
        """Store an empty shadow of a leaderboard, with the settings of `board`."""
        shadow = replace(board, name=uuid4().hex)
        row = _columns(shadow) | {"shadow_of": board.name}
        self._connection.save("leaderboards", "category, name", [row])
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
            sql = "UPDATE leaderboards SET name = ?, shadow_of = '' WHERE id = ?"
            self._connection.write(sql, uuid4().hex, board.key)
            number = "SELECT coalesce(number, id) FROM leaderboards WHERE id = ?2"
            sql = f"UPDATE leaderboards SET name = ?1, number = ({number}), shadow_of = NULL WHERE id = ?3"  # noqa: S608
            self._connection.write(sql, board.name, board.key, shadow.key)
        return replace(shadow, name=board.name)

    def remove_hidden(self) -> None:
        """Delete all leaderboards that are not live, in small transactions."""
        sql = (
            "DELETE FROM rated WHERE leaderboard = ?1 AND sequence IN"
            " (SELECT sequence FROM rated WHERE leaderboard = ?1 ORDER BY sequence LIMIT ?2)"
        )
        for (key,) in self._connection.rows("SELECT id FROM leaderboards WHERE shadow_of NOT NULL"):
            deleted = -1
            while deleted:
                with self._connection.transaction(lasting=False):
                    deleted = self._connection.write(sql, key, CHUNK)
            self._connection.write("DELETE FROM leaderboards WHERE id = ?", key)


def _columns(board: Leaderboard) -> dict[str, str]:
    names = {"category": board.category, "name": board.name, "goals": json.dumps(board.goals)}
    return names | {"rule": board.rule.to_json()} | rating_columns(board)


_JOBS = (
    "SELECT live.id, live.category, live.name, live.goals, live.rule, live.number,"
    " jobs.model, jobs.parameters, jobs.teams, jobs.carry,"
    " counted_at, race, reason, jobs.revision AS job_revision, error,"
    " (SELECT coalesce(max(sequence), 0) FROM rated JOIN leaderboards AS shadow ON shadow.id = leaderboard"
    "  WHERE shadow.category = live.category AND shadow.shadow_of = live.name) AS races"
    " FROM jobs JOIN leaderboards AS live"
    " ON coalesce(live.number, live.id) = jobs.leaderboard AND live.shadow_of IS NULL"
)


def _job_of(row: sqlite3.Row) -> Job:
    return Job(
        board=leaderboard_of(row),
        start=position_of(row["counted_at"], row["race"]),
        reason=as_text(row["reason"]),
        revision=as_int(row["job_revision"]),
        error=row["error"],
        races=as_int(row["races"]),
    )
