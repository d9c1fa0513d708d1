"""The rules for which players a leaderboard lists, and how it scores them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from racebot.ledger.rows import Leaderboard, Standing
from racebot.scoring.rules import Rules
from racebot.settings.model import Settings
from racebot.text.format import exact_time


@dataclass(frozen=True, slots=True)
class Listing:
    """Requirements for a place on a leaderboard. Everybody else is rated, but not listed.

    A listed player has `minimum_finishes`, and at most `inactive_days` between their last race and the
    leaderboard's; 0 lists inactive players. Hidden players are never listed. With `scoring`, there is also a
    table of scores, which orders the leaderboard unless `by_rating` is set.
    """

    minimum_finishes: int = 0
    inactive_days: int = 0
    scoring: Rules | None = None
    by_rating: bool = False

    @property
    def ordering(self) -> Rules | None:
        """Return the rules of the scores that order the leaderboard; None if ratings do."""
        return None if self.by_rating else self.scoring

    def earliest(self, latest: datetime | None) -> str:
        """Return the earliest allowed last race of a listed player, as `exact_time` formats it.

        `latest` is the end of the leaderboard's last race. An empty text, before all times, is no limit.
        """
        return (
            exact_time(latest - timedelta(days=self.inactive_days)) if self.inactive_days and latest else ""
        )

    def includes(self, standing: Standing, latest: datetime | None) -> bool:
        """Return True if a leaderboard whose last race ended at `latest` lists a player."""
        finishes = not standing.hidden and standing.finishes >= self.minimum_finishes
        return finishes and exact_time(standing.last_race_at) >= self.earliest(latest)


def listing_of(settings: Settings, board: Leaderboard) -> Listing:
    """Return which players a leaderboard lists."""
    finishes, days, rules, order = settings.minimum_finishes, settings.inactive_days, None, "score"
    for own in settings.tables_of(board):
        finishes = finishes if own.minimum_finishes is None else own.minimum_finishes
        days = days if own.inactive_days is None else own.inactive_days
        rules, order = own.scoring, own.order_by
        rules = replace(rules, cut=own.cut or rules.cut) if rules else None
    return Listing(finishes, days, rules, by_rating=order == "rating")
