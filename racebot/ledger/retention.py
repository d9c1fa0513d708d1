"""What the ledger need not keep for ever, and when it goes.

Results, changes and standings stay: ratings are replayed from them. Messages that were delivered or given
up, and races that a backfill fetched before it was abandoned, serve nobody any more after a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from racebot.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Cleared:
    """How much was forgotten."""

    messages: int
    backfills: int

    def __bool__(self) -> bool:
        return bool(self.messages or self.backfills)


def clear_away(ledger: Ledger, *, keep: timedelta, now: datetime) -> Cleared:
    """Forget what has been of no use for longer than `keep`, in one transaction.

    The file does not shrink: SQLite fills the room that is left before it grows.

    Raises:
        LedgerError: the database cannot be written.
    """
    before = now - keep
    with ledger.transaction():
        messages = ledger.outbox.clear(before)
        abandoned = ledger.staging.abandoned(before)
        for category in abandoned:
            ledger.staging.clear(category)
    return Cleared(messages, len(abandoned))
