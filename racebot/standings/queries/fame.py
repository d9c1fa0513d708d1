"""The hall of fame of a leaderboard: the highest ratings ever, the biggest upsets, the longest streaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from racebot.ledger.careers import Peak, Streak
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings.queries.rivals import Upset, upsets

SHOWN = 10
"""Entries of each list."""


@dataclass(frozen=True, slots=True)
class HallOfFame:
    """Records of a leaderboard, each list best first, with one peak and one streak for each player."""

    peaks: Sequence[Peak]
    streaks: Sequence[Streak]
    upsets: Sequence[Upset]


def hall_of_fame(ledger: Ledger, board: Leaderboard, *, settled: int) -> HallOfFame:
    """Read the records of a leaderboard.

    Args:
        settled: number of earlier races from which a player's ratings and wins count.
    """
    return HallOfFame(
        peaks=ledger.careers.peaks(board.key, settled=settled, limit=SHOWN),
        streaks=ledger.careers.streaks(board.key, SHOWN),
        upsets=upsets(ledger, board, settled=settled, limit=SHOWN),
    )
