"""Retention: deletes old messages and abandoned backfills.

Results, changes and standings stay, because ratings are replayed from them. Messages that were delivered or
dropped, and races fetched by an abandoned backfill, are useless after a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from racebot.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Cleared:
    """The numbers of messages and backfills deleted."""

    messages: int
    backfills: int

    def __bool__(self) -> bool:
        return bool(self.messages or self.backfills)


def clear_away(ledger: Ledger, *, keep: timedelta, now: datetime) -> Cleared:
    """Delete messages and abandoned backfills older than `keep`, in one transaction.

    The file does not shrink, but SQLite reuses the space before it grows.

    Raises:
        LedgerError: the database cannot be written.
    """
    before = now - keep
    with ledger.transaction():
        messages = ledger.outbox.clear(before)
        abandoned = ledger.backfills.abandoned(before)
        for category in abandoned:
            ledger.backfills.clear(category)
    return Cleared(messages, len(abandoned))
