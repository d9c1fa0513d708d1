"""Snapshot of the worker's state, read from its database by another process."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from racebot.bot import heartbeat
from racebot.ledger import lock
from racebot.ledger.backup import backups, folder_of
from racebot.ledger.store import Ledger
from racebot.standings.plan import Plans, proposals
from racebot.standings.queries import Listing, listed_count


def status(
    ledger: Ledger,
    categories: Iterable[str],
    *,
    rooms_every: float,
    now: datetime,
    plans: Plans | None = None,
) -> dict[str, Any]:
    """Describe the worker, its database, its leaderboards and its open work.

    Args:
        ledger: opened for reading.
        categories: slugs from the settings; those of stored leaderboards are added.
        rooms_every: seconds between two looks of the worker at its categories.
        now: the current time.
        plans: the settings; they show which leaderboards have older defaults.

    Raises:
        LedgerError: the database cannot be read.
    """
    boards = ledger.leaderboards()
    older = {proposal.stored.key for proposal in proposals(plans, boards)} if plans else set()
    slugs = sorted({*categories, *(board.category for board in boards)})
    seen = heartbeat.last_seen(ledger.path)
    copies = backups(folder_of(ledger.path), ledger.path.stem)
    return {
        "worker": {
            "running": lock.running(ledger.path),
            "last_seen": seen and seen.isoformat(timespec="seconds"),
            "seconds_since": seen and round((now - seen).total_seconds(), 1),
            "well": seen is not None and now - seen <= heartbeat.health_timeout(rooms_every),
        },
        "database": {
            "path": str(ledger.path),
            "bytes": sum(part.stat().st_size for part in _files(ledger.path)),
            "last_backup": max((_written_at(copy) for copy in copies), default=None),
            "backups": len(copies),
        },
        "leaderboards": [
            {
                "leaderboard": board.name,
                "category": board.category,
                "model": board.model,
                "newer_defaults": board.key in older,
                "races": ledger.rated_count(board),
                "players": listed_count(ledger, board, Listing()),
                "last_race": last.isoformat() if (last := ledger.latest_race(board)) else None,
            }
            for board in boards
        ],
        "rooms": [race for slug in slugs for race in ledger.pending.joined(slug)],
        "pending": [
            {
                "race": pending.race,
                "ended_at": pending.ended_at.isoformat(timespec="seconds"),
                "announced": pending.announced_key is not None,
                "corrections": pending.corrections,
            }
            for slug in slugs
            for pending in ledger.pending.all(slug)
            if not pending.over
        ],
        "outbox": [
            {
                "race": row.message.race,
                "kind": row.message.kind,
                "state": row.state.value,
                "seconds": round((now - row.created_at).total_seconds(), 1),
            }
            for slug in slugs
            for row in ledger.outbox.open_in(slug)
        ],
        "backfills": [{"category": slug, "page": page} for slug, page in ledger.staging.under_way()],
    }


def _files(database: Path) -> list[Path]:
    """The database and its write-ahead log."""
    named = (database.with_name(database.name + suffix) for suffix in ("", "-wal"))
    return [path for path in named if path.exists()]


def _written_at(copy: Path) -> str:
    return datetime.fromtimestamp(copy.stat().st_mtime, UTC).isoformat(timespec="seconds")
