"""What is still to be done: races to look after, messages to deliver, a backfill under way.

All of it lives in the ledger's database, so that it is written in the same transaction as the ratings
it belongs to and survives a restart.
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
    """Where a message is on its way to the room."""

    WAITING = "waiting"
    SENT = "sent"
    """Written to the socket; whether it arrived is not known yet."""
    DELIVERED = "delivered"
    REFUSED = "refused"
    """The site does not take it and never will."""
    DROPPED = "dropped"
    """It no longer needs saying, for instance because a correction followed."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something to be said in a race room, with the guid that keeps it from being said twice."""

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
    """When the message got its state."""


@dataclass(frozen=True, slots=True)
class PendingRace:
    """A race that ended and is not settled yet.

    `announced_key` identifies the provisional changes last announced in its room, and `corrections` counts
    how often they were corrected. `over` marks a race that was cancelled or set to "do not record", which an
    edit can bring back. `misses` counts how often in a row the site had no such race.
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
    """Finished races to look after until they are settled or can never be."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, race: str) -> PendingRace | None:
        return next(iter(self._select("race = ?", race)), None)

    def all(self, category: str) -> list[PendingRace]:
        """A category's pending races, oldest first."""
        return self._select("category = ? ORDER BY ended_at", category)

    def due(self, category: str, now: datetime) -> list[PendingRace]:
        """Those that it is time to look at."""
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, text_of(now))

    def save(self, pending: PendingRace) -> None:
        """Add a race, or write its row again."""
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
        """Note an unfinished race that is watched: once it is finished no list may show it."""
        self._connection.write("INSERT OR IGNORE INTO joined (race, category) VALUES (?, ?)", race, category)

    def leave(self, race: str) -> None:
        """Forget what `join` noted."""
        self._connection.write("DELETE FROM joined WHERE race = ?", race)

    def joined(self, category: str) -> list[str]:
        """Unfinished races that were being watched."""
        rows = self._connection.rows("SELECT race FROM joined WHERE category = ?", category)
        return [row["race"] for row in rows]

    def is_joined(self, race: str) -> bool:
        """Whether this one was being watched unfinished."""
        return bool(self._connection.rows("SELECT race FROM joined WHERE race = ?", race))

    def keep_quiet(self, race: str) -> None:
        """Note that nothing is to be said in a room."""
        self._connection.write("INSERT OR IGNORE INTO quiet (race) VALUES (?)", race)

    def speak_again(self, race: str) -> None:
        """Forget what `keep_quiet` noted."""
        self._connection.write("DELETE FROM quiet WHERE race = ?", race)

    def is_quiet(self, race: str) -> bool:
        """Whether `keep_quiet` was noted."""
        return bool(self._connection.rows("SELECT race FROM quiet WHERE race = ?", race))

    def unrecorded_since(self, race: str, now: datetime) -> datetime:
        """Return when a settled race was first seen without its record, which is now the first time."""
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
    """Messages for race rooms, delivered in the order in which they were put in."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, message: Message, now: datetime) -> None:
        """Queue a message; one whose guid is already known is left alone."""
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
        """What is still to be delivered in a room, in order."""
        return self._select("race = ? AND state IN ('waiting', 'sent')", race)

    def open_in(self, category: str) -> list[OutboxRow]:
        """What is still to be delivered in a category, in order."""
        return self._select("category = ? AND state IN ('waiting', 'sent')", category)

    def rooms(self, category: str) -> list[str]:
        """Names of the races that have something still to be delivered."""
        rows = self._connection.rows(
            "SELECT DISTINCT race FROM outbox WHERE category = ? AND state IN ('waiting', 'sent')", category
        )
        return [row["race"] for row in rows]

    def length(self, category: str) -> int:
        """How many messages are still to be delivered."""
        rows = self._connection.rows(
            "SELECT count(*) AS n FROM outbox WHERE category = ? AND state IN ('waiting', 'sent')", category
        )
        return next(int(row["n"]) for row in rows)

    def mark(self, row: OutboxRow, state: Delivery, now: datetime, detail: str | None = None) -> None:
        """Note how far a message has come."""
        self._connection.write(
            "UPDATE outbox SET state = ?, detail = ?, updated_at = ? WHERE id = ?",
            state.value,
            detail,
            text_of(now),
            row.id,
        )

    def take(self, row: OutboxRow, now: datetime) -> bool:
        """Note a message as sent, right before it is; False where it was given up since it was read."""
        changed = self._connection.write(
            "UPDATE outbox SET state = 'sent', detail = NULL, updated_at = ?"
            " WHERE id = ? AND state IN ('waiting', 'sent')",
            text_of(now),
            row.id,
        )
        return bool(changed)

    def drop_waiting(self, race: str, kind: Kind, now: datetime, detail: str) -> None:
        """Give up messages of one kind that were never sent."""
        self._connection.write(
            "UPDATE outbox SET state = 'dropped', detail = ?, updated_at = ?"
            " WHERE race = ? AND kind = ? AND state = 'waiting'",
            detail,
            text_of(now),
            race,
            kind,
        )

    def of(self, race: str) -> list[OutboxRow]:
        """Every message ever queued for a room, in order."""
        return self._select("race = ?", race)

    def clear(self, before: datetime) -> int:
        """Forget messages that were done with before a moment, unless their race is still looked after.

        Returns:
            How many there were.
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
    """Races that a backfill has fetched but not rated yet, and the page to ask for next."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def next_page(self, category: str, *, not_before: datetime) -> int:
        """Where to go on: 1, or the page after the last one kept by a backfill begun since `not_before`."""
        rows = list(
            self._connection.rows(
                "SELECT next_page FROM backfills WHERE category = ? AND started_at >= ?",
                category,
                text_of(not_before),
            )
        )
        return rows[0]["next_page"] if rows else 1

    def keep(self, category: str, page: int, results: list[RaceResult], now: datetime) -> None:
        """Keep a page's races; a race fetched again replaces the earlier copy. Page 1 starts afresh."""
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
        """All races kept so far."""
        rows = self._connection.rows("SELECT result FROM fetched WHERE category = ?", category)
        return [RaceResult.from_json(row["result"]) for row in rows]

    def count(self, category: str) -> int:
        """How many races are kept so far."""
        rows = self._connection.rows("SELECT count(*) AS n FROM fetched WHERE category = ?", category)
        return int(rows[0]["n"])

    def under_way(self) -> list[tuple[str, int]]:
        """Categories whose backfill was begun and not ended, with the page to ask for next."""
        rows = self._connection.rows("SELECT category, next_page FROM backfills ORDER BY category")
        return [(row["category"], row["next_page"]) for row in rows]

    def abandoned(self, before: datetime) -> list[str]:
        """Categories whose backfill was begun before a moment and never came to its end."""
        rows = self._connection.rows("SELECT category FROM backfills WHERE started_at < ?", text_of(before))
        return [row["category"] for row in rows]

    def clear(self, category: str) -> None:
        """Forget a category's backfill with all that it fetched."""
        self._connection.write("DELETE FROM backfills WHERE category = ?", category)
        self._connection.write("DELETE FROM fetched WHERE category = ?", category)
