"""Operators' orders, which forget, hide or merge players and exclude races from the ratings.

The ledger keeps every order with its date and reason. The last one about a player or race applies.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from racebot.ledger.connection import LedgerTable
from racebot.ledger.outbox import Posts
from racebot.ledger.rows import moment_of, read


class OrderKind(StrEnum):
    FORGET = "forget"
    HIDE = "hide"
    UNHIDE = "unhide"
    MERGE = "merge"
    EXCLUDE = "exclude"
    INCLUDE = "include"
    SKIP = "skip"
    COUNT = "count"
    EVENT_CREATE = "event create"
    EVENT_ADD = "event add"
    EVENT_CLOSE = "event close"
    EVENT_REOPEN = "event reopen"
    EVENT_REMOVE = "event remove"
    ANNUL = "annul"
    RESTORE = "restore"
    PENALTY = "penalty"


@dataclass(frozen=True, slots=True)
class Order:
    """One order about a player's id or a race's name. `target` is the account that a merge keeps.

    `by_player` says whether players gave it about themselves, in chat. An event's order has its name as the
    subject, and the room, sheet or player as its `target`. A penalty has the race as its subject, the player
    as its `target`, and an `amount` of microseconds. `author` is the moderator who gave it in chat.
    """

    given_at: AwareDatetime
    kind: OrderKind
    subject: str
    target: str | None
    reason: str
    by_player: bool = False
    author: str = ""
    amount: int | None = None


class Orders(LedgerTable):
    """The orders of a ledger. Write them in the transaction that also carries them out."""

    def all(self) -> list[Order]:
        """Return all orders ever given, oldest first."""
        return read(Order, self._connection.rows("SELECT * FROM orders ORDER BY id"))

    def last(self) -> int:
        """Return the number of the last order, 0 if there is none."""
        return int(self._connection.value("SELECT coalesce(max(id), 0) FROM orders"))

    def add(self, order: Order) -> None:
        Posts(self._connection).refresh(order.subject)
        self._connection.save("orders", "id", [asdict(order)])

    def under(self, kind: OrderKind) -> set[str]:
        """Return the races that are excluded, or skipped."""
        sql = "SELECT race FROM excluded_races WHERE kind = ?"
        return {row[0] for row in self._connection.rows(sql, kind.value)}

    def last_in_chat(self, race: str) -> datetime | None:
        """Return when the last order on where a race counts was given in chat, or None.

        Orders of chat carry the site's time, those of the shell the machine's, which may be ahead.
        """
        sql = (
            "SELECT max(given_at) FROM orders WHERE author <> ''"
            " AND ((subject = ?1 AND kind IN ('skip', 'count')) OR (target = ?1 AND kind = 'event add'))"
        )
        given_at = self._connection.value(sql, race)
        return given_at and moment_of(given_at)

    def races_since(self, number: int) -> list[str]:
        """Return the races that orders after this number are about, or the rooms."""
        sql = (
            "SELECT DISTINCT iif(kind = 'penalty', subject, coalesce(target, subject)) FROM orders"
            " WHERE id > ? AND kind IN"
            " ('exclude', 'include', 'skip', 'count', 'penalty', 'event add', 'event remove')"
        )
        return [row[0] for row in self._connection.rows(sql, number)]

    def last_of_event(self, room: str) -> Order | None:
        """Return the last order by which a room joined or left an event, or its event closed or reopened."""
        sql = (
            "SELECT * FROM orders WHERE (target = ?1 AND kind IN ('event add', 'event remove'))"
            " OR (kind IN ('event close', 'event reopen')"
            " AND subject = (SELECT event FROM event_sources WHERE name = ?1)) ORDER BY id DESC LIMIT 1"
        )
        return next(iter(read(Order, self._connection.rows(sql, room))), None)
