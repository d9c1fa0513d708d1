"""Jobs: leaderboards that a separate process rates again, because that takes too long for one transaction.

A leaderboard has at most one job. Until it is done, the leaderboard keeps its old ratings and settings.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from racebot.ledger.connection import Connection
from racebot.ledger.rows import (
    START,
    Leaderboard,
    Position,
    as_int,
    as_text,
    carry_text,
    leaderboard_of,
    moment_of,
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

    Attributes:
        board: the live leaderboard, with the settings that the job rates it with.
        start: position of the first race to rate again.
        reason: why, in a few words.
        revision: changes with each further request.
        error: why the last try failed, if it did.
        races: number of races that are rated so far.
    """

    board: Leaderboard
    start: Position
    reason: str
    revision: int
    error: str | None
    races: int


class Jobs:
    """Reads and writes the table `jobs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
        self._connection.write(
            "INSERT INTO jobs (leaderboard, model, parameters, teams, carry, counted_at, race, reason)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (leaderboard) DO UPDATE SET model = excluded.model,"
            " parameters = excluded.parameters, teams = excluded.teams, carry = excluded.carry,"
            " counted_at = min(counted_at, excluded.counted_at),"
            " race = CASE WHEN (counted_at, race) <= (excluded.counted_at, excluded.race)"
            " THEN race ELSE excluded.race END,"
            " reason = excluded.reason, revision = revision + 1, error = NULL, tries = 0, not_before = ''",
            self._number(board),
            board.model,
            json.dumps(board.parameters, sort_keys=True),
            board.teams,
            carry_text(board.carry),
            "" if start == START else exact_time(start.counted_at),
            start.race,
            reason,
        )

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
                self._connection.write(
                    "UPDATE jobs SET error = ?, tries = tries + 1, not_before = ? WHERE leaderboard = ?",
                    error,
                    exact_time(now + pause),
                    number,
                )

    def remove(self, board: Leaderboard) -> None:
        """Delete a leaderboard's job."""
        self._connection.write("DELETE FROM jobs WHERE leaderboard = ?", self._number(board))

    def _number(self, board: Leaderboard) -> Any:
        """Return the number of a leaderboard, which stays the same when its id changes."""
        return self._connection.value("SELECT coalesce(number, id) FROM leaderboards WHERE id = ?", board.key)


_SELECT = (
    "SELECT live.id, live.category, live.name, live.goals, live.number,"
    " jobs.model, jobs.parameters, jobs.teams, jobs.carry,"
    " counted_at, race, reason, jobs.revision AS job_revision, error,"
    " (SELECT coalesce(max(sequence), 0) FROM rated JOIN leaderboards AS shadow ON shadow.id = leaderboard"
    "  WHERE shadow.category = live.category AND shadow.shadow_of = live.name) AS races"
    " FROM jobs JOIN leaderboards AS live"
    " ON coalesce(live.number, live.id) = jobs.leaderboard AND live.shadow_of IS NULL"
)


def _job_of(row: sqlite3.Row) -> Job:
    moment = as_text(row["counted_at"])
    return Job(
        board=leaderboard_of(row),
        start=Position(moment_of(moment), as_text(row["race"])) if moment else START,
        reason=as_text(row["reason"]),
        revision=as_int(row["job_revision"]),
        error=row["error"],
        races=as_int(row["races"]),
    )
