"""Seasons that ended. An end is never stored: it follows from a leaderboard's `until` and the time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from racebot.ledger.rows import Leaderboard, moment_of
from racebot.ledger.store import Ledger
from racebot.races.rooms import RoomRule
from racebot.text.format import exact_time

SETTLES = timedelta(days=1)
"""Shortest time after a season's end for its last races to finish, and to be recorded."""


class Correction(NamedTuple):
    """A race of a final season that was recorded, corrected or left out by an order at a later time."""

    race: str
    at: datetime


def final_from(rule: RoomRule) -> datetime | None:
    """Return when a season becomes final, None without an end: once its last races have settled.

    It is a midnight in UTC, so that pages can be kept for a day.
    """
    until, settles = rule.until, max(SETTLES, rule.grace)
    if until is None or until > datetime.max.replace(tzinfo=UTC) - settles - 2 * SETTLES:
        return None
    settled = (until + settles).astimezone(UTC)
    midnight = settled.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == settled else midnight + timedelta(days=1)


def final_since(board: Leaderboard, now: datetime) -> datetime | None:
    """Return since when a season is final, None if it is not final at this time."""
    moment = final_from(board.rule)
    return moment if moment is not None and moment <= now else None


def corrections(ledger: Ledger, board: Leaderboard, final: datetime) -> list[Correction]:
    """Return the races of a season that changed since it was final, the latest first."""
    kinds = ["exclude", "include", *(["skip", "count"] if board.rule.finished else [])]
    rows = ledger.connection.rows(
        "SELECT race, max(coalesce(corrected_at, counted_at), coalesce(max(given_at), '')) AS moment"
        " FROM rated JOIN races ON races.name = race"
        " LEFT JOIN orders ON subject = race AND kind IN (SELECT value FROM json_each(?))"
        " WHERE leaderboard = ? GROUP BY race HAVING moment > ? ORDER BY moment DESC, race",
        json.dumps(kinds),
        board.key,
        exact_time(final),
    )
    return [Correction(row["race"], moment_of(row["moment"])) for row in rows]
