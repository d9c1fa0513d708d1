"""Everybody's standings on a leaderboard, now or before any of its races, and the rule for who is listed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter

from racebot.ledger.ratings import LAST
from racebot.ledger.rows import START, Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.scoring.rules import Rules
from racebot.settings.model import Settings
from racebot.standings.rater import standings_before

_RATING, _LAST_RACE = attrgetter("rating"), attrgetter("last_race_at")


@dataclass(frozen=True, slots=True)
class Listing:
    """Requirements for a place on a leaderboard. Everybody else is rated, but not listed.

    A listed player has `minimum_finishes`, and at most `inactive_days` between their last race and the
    leaderboard's; 0 lists inactive players. Hidden players are never listed. With `scoring`, there is also a
    table of scores, which orders the leaderboard unless `by_rating` is set. Ratings after fewer than
    `provisional_races` races are provisional.
    """

    minimum_finishes: int = 0
    inactive_days: int = 0
    scoring: Rules | None = None
    by_rating: bool = False
    provisional_races: int = 0

    @property
    def ordering(self) -> Rules | None:
        """Return the rules of the scores that order the leaderboard; None if ratings do."""
        return None if self.by_rating else self.scoring

    def earliest(self, latest: datetime | None) -> datetime:
        """Return the earliest last race of a listed player, given the leaderboard's last; or long ago."""
        if latest is None or not self.inactive_days:
            return START.counted_at
        return latest - timedelta(days=self.inactive_days)


def listing_of(settings: Settings, board: Leaderboard) -> Listing:
    """Return which players a leaderboard lists."""
    finishes, days, rules, order = settings.minimum_finishes, settings.inactive_days, None, "score"
    for own in settings.tables_of(board):
        if own.minimum_finishes is not None:
            finishes = own.minimum_finishes
        elif own.counts == "finished" and "minimum_finishes" not in settings.model_fields_set:
            finishes = 1
        days = days if own.inactive_days is None else own.inactive_days
        rules, order = own.scoring, own.order_by
        rules = replace(rules, cut=own.cut or rules.cut) if rules else None
    return Listing(finishes, days, rules, order == "rating", settings.provisional_races)


def everybody_before(
    ledger: Ledger,
    board: Leaderboard,
    first: int,
    later: Mapping[str, Standing] | None = None,
    last: int = LAST,
) -> dict[str, Standing]:
    """Return the standings before race `first` of the sequence, given `later` ones: after race `last`."""
    end = min(last, ledger.ratings.count(board))
    if first < 0.8 * end:  # most players have raced since
        return standings_before(ledger, board, first)
    raced = ledger.ratings.racers(board, first, end)
    later = ledger.standings.now(board) if later is None else later
    others = {player: each for player, each in later.items() if player not in raced}
    return others | standings_before(ledger, board, first, raced)


def listed_of(rows: Mapping[str, Standing], listing: Listing, latest: datetime | None) -> list[Standing]:
    """Return the standings that a leaderboard lists if its last race ended at `latest`."""
    earliest, finishes = listing.earliest(latest), listing.minimum_finishes
    active = (row for row in rows.values() if row.finishes >= finishes and row.last_race_at >= earliest)
    return [row for row in active if not row.hidden]


def listed_now(ledger: Ledger, board: Leaderboard, listing: Listing) -> list[Standing]:
    """Return the standings that a leaderboard lists now."""
    rows = ledger.standings.now(board)
    return listed_of(rows, listing, latest_of(rows))


def in_order(ledger: Ledger, rows: Sequence[Standing]) -> list[Standing]:
    """Return standings, best first, then by name as SQLite's NOCASE compares names."""
    times = Counter(map(_RATING, rows))
    names = ledger.people.names(row.player for row in rows if times[row.rating] > 1)
    by_name = [row for row in rows if row.player in names]
    by_name.sort(key=lambda row: (names[row.player].encode().lower(), row.player))
    return sorted([*by_name, *(row for row in rows if row.player not in names)], key=_RATING, reverse=True)


def places_of(rows: Sequence[Standing]) -> dict[float, int]:
    """Return the place of each rating. Equal ratings share the best of their places."""
    return dict(zip(sorted(map(_RATING, rows)), range(len(rows), 0, -1), strict=True))


def place_of(rows: Sequence[Standing]) -> dict[str, int]:
    places = places_of(rows)
    return {row.player: places[row.rating] for row in rows}


def latest_of(rows: Mapping[str, Standing]) -> datetime | None:
    return max(map(_LAST_RACE, rows.values()), default=None)
