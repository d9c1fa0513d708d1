"""Work to do: pending races, messages to deliver, and an unfinished backfill.

It is stored in the ledger's database, so that it survives a restart and is written in the same transaction as
the ratings that cause it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from racebot.ledger.connection import Connection
from racebot.ledger.rows import moment_of, text_of
from racebot.races.result import RaceResult

Kind = Literal["chat", "info", "meta"]


class Delivery(StrEnum):
    """The state of a message's delivery to the room."""

    WAITING = "waiting"
    SENT = "sent"
    """Written to the socket, but not confirmed by the site."""
    DELIVERED = "delivered"
    REFUSED = "refused"
    """The site refuses it for good."""
    DROPPED = "dropped"
    """No longer needed, for example because a correction followed."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a race room. The guid keeps it from being delivered twice."""

    race: str
    category: str
    kind: Kind
    guid: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message in the outbox."""

    id: int
    message: Message
    state: Delivery
    created_at: datetime
    updated_at: datetime
    """When the state last changed."""


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
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, text_of(now))

    def save(self, pending: PendingRace) -> None:
        """Add or update a pending race."""
        self._connection.write(
            "INSERT OR REPLACE INTO pending"
            " (race, category, ended_at, next_look, announced_key, corrections, over, misses)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            pending.race,
            pending.category,
            text_of(pending.ended_at),
            text_of(pending.next_look),
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
        return bool(self._connection.rows("SELECT race FROM joined WHERE race = ?", race))

    def keep_quiet(self, race: str) -> None:
        """Store that the bot must not write in a room's chat."""
        self._connection.write("INSERT OR IGNORE INTO quiet (race) VALUES (?)", race)

    def speak_again(self, race: str) -> None:
        """Undo `keep_quiet`."""
        self._connection.write("DELETE FROM quiet WHERE race = ?", race)

    def is_quiet(self, race: str) -> bool:
        """Return whether the bot must not write in a room's chat."""
        return bool(self._connection.rows("SELECT race FROM quiet WHERE race = ?", race))

    def unrecorded_since(self, race: str, now: datetime) -> datetime:
        """Return when a settled race was first seen without its record. Store `now` the first time."""
        self._connection.write(
            "INSERT OR IGNORE INTO unrecorded (race, first_seen) VALUES (?, ?)", race, text_of(now)
        )
        rows = self._connection.rows("SELECT first_seen FROM unrecorded WHERE race = ?", race)
        return moment_of(rows[0]["first_seen"])

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


class Outbox:
    """Messages for race rooms, delivered in the order in which they were queued."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, message: Message, now: datetime) -> None:
        """Queue a message, unless one with its guid is already stored."""
        self._connection.write(
            "INSERT OR IGNORE INTO outbox (race, category, kind, guid, body, state, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?)",
            message.race,
            message.category,
            message.kind,
            message.guid,
            json.dumps(message.body, ensure_ascii=False),
            text_of(now),
            text_of(now),
        )

    def open_for(self, race: str) -> list[OutboxRow]:
        """Return a room's undelivered messages, in order."""
        return self._select("race = ? AND state IN ('waiting', 'sent')", race)

    def open_in(self, category: str) -> list[OutboxRow]:
        """Return a category's undelivered messages, in order."""
        return self._select("category = ? AND state IN ('waiting', 'sent')", category)

    def rooms(self, category: str) -> list[str]:
        """Return the names of a category's races with undelivered messages."""
        rows = self._connection.rows(
            "SELECT DISTINCT race FROM outbox WHERE category = ? AND state IN ('waiting', 'sent')", category
        )
        return [row["race"] for row in rows]

    def length(self, category: str) -> int:
        """Return the number of a category's undelivered messages."""
        rows = self._connection.rows(
            "SELECT count(*) AS n FROM outbox WHERE category = ? AND state IN ('waiting', 'sent')", category
        )
        return next(int(row["n"]) for row in rows)

    def mark(self, row: OutboxRow, state: Delivery, now: datetime, detail: str | None = None) -> None:
        """Store a message's new state."""
        self._connection.write(
            "UPDATE outbox SET state = ?, detail = ?, updated_at = ? WHERE id = ?",
            state.value,
            detail,
            text_of(now),
            row.id,
        )

    def take(self, row: OutboxRow, now: datetime) -> bool:
        """Mark a message as sent, just before sending it. Return False if it was dropped in the meantime."""
        changed = self._connection.write(
            "UPDATE outbox SET state = 'sent', detail = NULL, updated_at = ?"
            " WHERE id = ? AND state IN ('waiting', 'sent')",
            text_of(now),
            row.id,
        )
        return bool(changed)

    def drop_waiting(self, race: str, kind: Kind, now: datetime, detail: str) -> None:
        """Drop a room's messages of one kind that were never sent."""
        self._connection.write(
            "UPDATE outbox SET state = 'dropped', detail = ?, updated_at = ?"
            " WHERE race = ? AND kind = ? AND state = 'waiting'",
            detail,
            text_of(now),
            race,
            kind,
        )

    def of(self, race: str) -> list[OutboxRow]:
        """Return all messages ever queued for a room, in order."""
        return self._select("race = ?", race)

    def clear(self, before: datetime) -> int:
        """Delete messages whose delivery ended before a given time, except those of pending races.

        Returns:
            The number of deleted messages.
        """
        return self._connection.write(
            "DELETE FROM outbox WHERE updated_at < ? AND state NOT IN ('waiting', 'sent')"
            " AND race NOT IN (SELECT race FROM pending)",
            text_of(before),
        )

    def _select(self, where: str, *values: Any) -> list[OutboxRow]:
        rows = self._connection.rows(f"SELECT * FROM outbox WHERE {where} ORDER BY id", *values)  # noqa: S608
        return [
            OutboxRow(
                id=row["id"],
                message=Message(
                    row["race"], row["category"], row["kind"], row["guid"], json.loads(row["body"])
                ),
                state=Delivery(row["state"]),
                created_at=moment_of(row["created_at"]),
                updated_at=moment_of(row["updated_at"]),
            )
            for row in rows
        ]


class Staging:
    """Races that a backfill has fetched but not rated, and the next page to fetch."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def next_page(self, category: str, *, not_before: datetime) -> int:
        """Return the page after the last one stored by a backfill begun since `not_before`, or 1."""
        rows = list(
            self._connection.rows(
                "SELECT next_page FROM backfills WHERE category = ? AND started_at >= ?",
                category,
                text_of(not_before),
            )
        )
        return rows[0]["next_page"] if rows else 1

    def keep(self, category: str, page: int, results: list[RaceResult], now: datetime) -> None:
        """Store a page's races, replacing earlier copies. Page 1 starts a new backfill."""
        if page == 1:
            self.clear(category)
        self._connection.write(
            "INSERT INTO backfills (category, next_page, started_at) VALUES (?, ?, ?)"
            " ON CONFLICT (category) DO UPDATE SET next_page = excluded.next_page",
            category,
            page + 1,
            text_of(now),
        )
        self._connection.write_many(
            "INSERT OR REPLACE INTO fetched (race, category, result) VALUES (?, ?, ?)",
            [(result.name, category, result.to_json()) for result in results],
        )

    def results(self, category: str) -> list[RaceResult]:
        """Return all races stored so far."""
        rows = self._connection.rows("SELECT result FROM fetched WHERE category = ?", category)
        return [RaceResult.from_json(row["result"]) for row in rows]

    def count(self, category: str) -> int:
        """Return the number of races stored so far."""
        rows = self._connection.rows("SELECT count(*) AS n FROM fetched WHERE category = ?", category)
        return int(rows[0]["n"])

    def under_way(self) -> list[tuple[str, int]]:
        """Return the categories with an unfinished backfill, each with its next page."""
        rows = self._connection.rows("SELECT category, next_page FROM backfills ORDER BY category")
        return [(row["category"], row["next_page"]) for row in rows]

    def abandoned(self, before: datetime) -> list[str]:
        """Return the categories with an unfinished backfill begun before a given time."""
        rows = self._connection.rows("SELECT category FROM backfills WHERE started_at < ?", text_of(before))
        return [row["category"] for row in rows]

    def clear(self, category: str) -> None:
        """Delete a category's backfill with all races it fetched."""
        self._connection.write("DELETE FROM backfills WHERE category = ?", category)
        self._connection.write("DELETE FROM fetched WHERE category = ?", category)

    def fully_read_at(self, category: str, now: datetime) -> datetime:
        """Return when the whole list of past races was last read. Store `now` the first time."""
        self._connection.write(
            "INSERT OR IGNORE INTO full_reads (category, read_at) VALUES (?, ?)", category, text_of(now)
        )
        rows = self._connection.rows("SELECT read_at FROM full_reads WHERE category = ?", category)
        return moment_of(rows[0]["read_at"])

    def note_full_read(self, category: str, now: datetime) -> None:
        """Store that the whole list of past races was read."""
        self._connection.write(
            "INSERT INTO full_reads (category, read_at) VALUES (?, ?)"
            " ON CONFLICT (category) DO UPDATE SET read_at = excluded.read_at",
            category,
            text_of(now),
        )
