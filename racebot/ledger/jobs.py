"""Jobs: leaderboards that a separate process rates again, because that takes too long for one transaction.

A leaderboard has at most one job. Until it is done, the leaderboard keeps its old ratings and settings.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from racebot.ledger.connection import Table
from racebot.ledger.rows import (
    Leaderboard,
    Position,
    as_int,
    as_text,
    leaderboard_of,
    position_of,
    rating_columns,
)
from racebot.text.format import exact_time

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
        return list(map(_job_of, self._connection.rows(f"{_SELECT} ORDER BY category, name")))

    def of(self, board: Leaderboard) -> Job | None:
        """Return a leaderboard's job, or None."""
        row = self._connection.row(f"{_SELECT} WHERE live.id = ?", board.key)
        return None if row is None else _job_of(row)

    def due(self, now: datetime = EVER) -> bool:
        """Return whether there is work: a job whose pause after an error is over, or rows to clear away."""
        return bool(
            self._connection.value(
                "SELECT 1 FROM jobs WHERE not_before <= ?"
                " UNION SELECT 1 FROM leaderboards WHERE shadow_of NOT NULL",
                exact_time(now),
            )
        )

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
            tries = self._connection.value(
                "SELECT tries FROM jobs WHERE leaderboard = ? AND revision = ?", number, job.revision
            )
            if tries is not None:
                pause = min(FIRST_PAUSE * 2 ** min(tries, 10), LONGEST_PAUSE)
                sql = "UPDATE jobs SET error = ?, tries = tries + 1, not_before = ? WHERE leaderboard = ?"
                self._connection.write(sql, error, exact_time(now + pause), number)

    def remove(self, board: Leaderboard) -> None:
        """Delete a leaderboard's job."""
        self._connection.write("DELETE FROM jobs WHERE leaderboard = ?", self._number(board))

    def _number(self, board: Leaderboard) -> Any:
        """Return the number of a leaderboard, which stays the same when its id changes."""
        return self._connection.value("SELECT coalesce(number, id) FROM leaderboards WHERE id = ?", board.key)


_SELECT = (
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
