"""Races that the bot follows: one row for each, with what must outlive the process."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from racebot.ledger.connection import Connection
from racebot.ledger.rows import moment_of
from racebot.text.format import exact_time


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One race that the bot follows. Times are by the site's clock.

    Attributes:
        race: the race, `category/slug`.
        category: its category.
        ended_at: when it ended; None before.
        next_look: when to poll it next, until it is recorded; None if it is watched only, or settled.
        misses: how many times in a row the site did not find it.
        over: whether it was cancelled or set to "do not record", which an edit can undo.
        quiet: whether a moderator asked for quiet in its room.
        ordered_at: when a moderator last ordered quiet or its end; None before.
        unrecorded_since: since when the site shows the settled race without its record.
    """

    race: str
    category: str
    ended_at: datetime | None = None
    next_look: datetime | None = None
    misses: int = 0
    over: bool = False
    quiet: bool = False
    ordered_at: datetime | None = None
    unrecorded_since: datetime | None = None


class Cases:
    """The races that the bot follows."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, race: str) -> CaseRow | None:
        return next(iter(self._select("race = ?", race)), None)

    def polled(self, category: str) -> list[CaseRow]:
        """Return a category's ended races that are polled until they are recorded, oldest first."""
        return self._select("category = ? AND next_look NOT NULL ORDER BY ended_at", category)

    def due(self, category: str, now: datetime) -> list[CaseRow]:
        """Return a category's races whose next look is due."""
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, exact_time(now))

    def unfinished(self, category: str) -> list[CaseRow]:
        """Return a category's races that the bot watched and that have not ended."""
        return self._select("category = ? AND ended_at IS NULL", category)

    def save(self, row: CaseRow) -> None:
        """Add or replace a race's row."""
        values = [getattr(row, each.name) for each in fields(row)]
        self._connection.write(
            "INSERT OR REPLACE INTO cases"
            " (race, category, ended_at, next_look, misses, over, quiet, ordered_at, unrecorded_since)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(exact_time(value) if isinstance(value, datetime) else value for value in values),
        )

    def remove(self, race: str) -> None:
        self._connection.write("DELETE FROM cases WHERE race = ?", race)

    def _select(self, where: str, *values: Any) -> list[CaseRow]:
        rows = self._connection.rows(f"SELECT * FROM cases WHERE {where}", *values)  # noqa: S608 - `where` is ours
        return [
            CaseRow(
                race=row["race"],
                category=row["category"],
                ended_at=_moment(row["ended_at"]),
                next_look=_moment(row["next_look"]),
                misses=row["misses"],
                over=bool(row["over"]),
                quiet=bool(row["quiet"]),
                ordered_at=_moment(row["ordered_at"]),
                unrecorded_since=_moment(row["unrecorded_since"]),
            )
            for row in rows
        ]


def _moment(text: str | None) -> datetime | None:
    return None if text is None else moment_of(text)
