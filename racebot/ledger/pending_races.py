"""Races that are finished but not settled, and the rooms that the bot has joined or keeps quiet in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from racebot.ledger.connection import Connection
from racebot.ledger.rows import moment_of
from racebot.text.format import exact_time


@dataclass(frozen=True, slots=True)
class PendingRace:
    """A race that has ended but is not settled.

    `announced_key` identifies the provisional changes last announced in its room, and `corrections` counts
    their corrections. `over` marks a race that was cancelled or set to "do not record", which an edit can
    bring back. `misses` counts how many times in a row the site did not find the race.
    """

    race: str
    category: str
    ended_at: datetime
    next_look: datetime
    announced_key: str | None = None
    corrections: int = 0
    over: bool = False
    misses: int = 0


class Pending:
    """Finished races to poll until they are settled or given up."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, race: str) -> PendingRace | None:
        return next(iter(self._select("race = ?", race)), None)

    def all(self, category: str) -> list[PendingRace]:
        """Return a category's pending races, oldest first."""
        return self._select("category = ? ORDER BY ended_at", category)

    def due(self, category: str, now: datetime) -> list[PendingRace]:
        """Return a category's pending races whose next look is due."""
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, exact_time(now))

    def save(self, pending: PendingRace) -> None:
        """Add or update a pending race."""
        self._connection.write(
            "INSERT OR REPLACE INTO pending"
            " (race, category, ended_at, next_look, announced_key, corrections, over, misses)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            pending.race,
            pending.category,
            exact_time(pending.ended_at),
            exact_time(pending.next_look),
            pending.announced_key,
            pending.corrections,
            pending.over,
            pending.misses,
        )

    def remove(self, race: str) -> None:
        self._connection.write("DELETE FROM pending WHERE race = ?", race)

    def join(self, race: str, category: str) -> None:
        """Store that we watch an unfinished race. Once it finishes, it may be missing from every list."""
        self._connection.write("INSERT OR IGNORE INTO joined (race, category) VALUES (?, ?)", race, category)

    def leave(self, race: str) -> None:
        """Undo `join`."""
        self._connection.write("DELETE FROM joined WHERE race = ?", race)

    def joined(self, category: str) -> list[str]:
        """Return a category's unfinished races that we watch."""
        rows = self._connection.rows("SELECT race FROM joined WHERE category = ?", category)
        return [row["race"] for row in rows]

    def is_joined(self, race: str) -> bool:
        """Return whether we watch this race as an unfinished one."""
        return bool(self._connection.value("SELECT 1 FROM joined WHERE race = ?", race))

    def keep_quiet(self, race: str) -> None:
        """Store that the bot must not write in a room's chat."""
        self._connection.write("INSERT OR IGNORE INTO quiet (race) VALUES (?)", race)

    def speak_again(self, race: str) -> None:
        """Undo `keep_quiet`."""
        self._connection.write("DELETE FROM quiet WHERE race = ?", race)

    def is_quiet(self, race: str) -> bool:
        """Return whether the bot must not write in a room's chat."""
        return bool(self._connection.value("SELECT 1 FROM quiet WHERE race = ?", race))

    def unrecorded_since(self, race: str, now: datetime) -> datetime:
        """Return when a settled race was first seen without its record. Store `now` the first time."""
        self._connection.write(
            "INSERT OR IGNORE INTO unrecorded (race, first_seen) VALUES (?, ?)", race, exact_time(now)
        )
        return moment_of(self._connection.value("SELECT first_seen FROM unrecorded WHERE race = ?", race))

    def forget_unrecorded(self, race: str) -> None:
        """Forget when a race was first seen without its record."""
        self._connection.write("DELETE FROM unrecorded WHERE race = ?", race)

    def _select(self, where: str, *values: Any) -> list[PendingRace]:
        rows = self._connection.rows(f"SELECT * FROM pending WHERE {where}", *values)  # noqa: S608 - `where` is ours
        return [
            PendingRace(
                race=row["race"],
                category=row["category"],
                ended_at=moment_of(row["ended_at"]),
                next_look=moment_of(row["next_look"]),
                announced_key=row["announced_key"],
                corrections=row["corrections"],
                over=bool(row["over"]),
                misses=row["misses"],
            )
            for row in rows
        ]
