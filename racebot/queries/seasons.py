"""Seasons that ended. An end is never stored: it follows from a leaderboard's `until` and the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from racebot.ledger.rows import Leaderboard

SETTLES = timedelta(days=1)
"""Time after a season's end for its last races to finish, and to be recorded or stand for their grace."""


def ended(board: Leaderboard, now: datetime) -> bool:
    """Return whether no race that starts now counts on a leaderboard any more."""
    return board.rule.until is not None and board.rule.until <= now


def final_from(until: datetime | None) -> datetime | None:
    """Return when a season becomes final by its end, None without one: the first midnight after `SETTLES`.

    It is midnight in UTC, so that pages can be kept for a day.
    """
    if until is None or until > datetime.max.replace(tzinfo=UTC) - 3 * SETTLES:
        return None
    settled = (until + SETTLES).astimezone(UTC)
    midnight = settled.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == settled else midnight + timedelta(days=1)


def final_since(board: Leaderboard, now: datetime) -> datetime | None:
    """Return since when a season is final, None if it is not final at this time."""
    moment = final_from(board.rule.until)
    return moment if moment is not None and moment <= now else None
