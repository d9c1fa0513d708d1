"""Everybody's standings on a leaderboard, now or before any of its races, and the rule for who is listed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter

import numpy as np

from racebot.ledger.rows import START, Leaderboard, Standing, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.ratings import registry
from racebot.scoring.rules import Rules
from racebot.settings.model import Settings

_COUNTED = (
    "SELECT player, state_after, points_after, races_before + 1, finishes, wins, sequence FROM ("
    "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins"
    "  FROM changes INDEXED BY changes_by_player WHERE leaderboard = ?1 AND sequence < ?2 GROUP BY player"
    " ) AS last CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1"
)
"""Reads standings before a race of the sequence, each with the number of the player's last race."""
# With one min(), the other columns are of its row: https://www.sqlite.org/lang_select.html#bareagg
_UNDONE = (
    "SELECT player, state_before, points_before, races_before, count(place), sum(place IS 1), ("
    "  SELECT max(sequence) FROM changes AS earlier INDEXED BY changes_by_player"
    "  WHERE leaderboard = ?1 AND player = changes.player AND sequence < ?2"
    " ), min(sequence) FROM changes"
    " WHERE leaderboard = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY player"
)
"""Reads the same, but the finishes and wins since then, of all who have raced since, up to another race."""
_RATING, _LAST_RACE = attrgetter("rating"), attrgetter("last_race_at")


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

    def earliest(self, latest: datetime | None) -> datetime:
        """Return the earliest allowed last race of a listed player; long ago without a limit.

        `latest` is the end of the leaderboard's last race.
        """
        if latest is None or not self.inactive_days:
            return START.counted_at
        return latest - timedelta(days=self.inactive_days)

    def includes(self, standing: Standing, latest: datetime | None) -> bool:
        """Return True if a leaderboard whose last race ended at `latest` lists a player."""
        finishes = not standing.hidden and standing.finishes >= self.minimum_finishes
        return finishes and standing.last_race_at >= self.earliest(latest)


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
    return Listing(finishes, days, rules, by_rating=order == "rating")


def standings_before(
    ledger: Ledger,
    board: Leaderboard,
    first: int,
    last: int | None = None,
    after: Mapping[str, Standing] | None = None,
) -> dict[str, Standing]:
    """Return the standings before race `first` of the sequence.

    Args:
        last: the number of a later race, that of the last one by default.
        after: everybody's standings after that race.
    """
    last = ledger.ratings.count(board) if last is None else last
    undoes = last - first < last / 6  # then undoing the last races takes less time than counting the first
    if undoes:
        after = ledger.standings.now(board) if after is None else after
        rows = ledger.connection.rows(_UNDONE, board.key, first, last)
    else:
        after, rows = {}, ledger.connection.rows(_COUNTED, board.key, first)
    undone = {row[0] for row in rows}
    before = {player: row for player, row in after.items() if player not in undone}
    rows = [row for row in rows if row[6] is not None]
    if not rows:
        return before
    ends, states = _ends(ledger, board, {row[0]: row[6] for row in rows}), states_of([row[1] for row in rows])
    ratings = registry.create(board.model, board.parameters).rating(np.array(states)).tolist()
    for row, state, rating in zip(rows, states, ratings, strict=True):
        player, _, points, races, finishes, wins, *_ = row
        if undoes:
            finishes, wins = after[player].finishes - finishes, after[player].wins - wins
        before[player] = Standing(player, state, rating, points, races, finishes, wins, ends[player])
    return before


def _ends(ledger: Ledger, board: Leaderboard, lasts: Mapping[str, int]) -> dict[str, datetime]:
    """Return when the last of each player's races ended, up to the race with the number in `lasts`."""
    rows = ledger.connection.rows(
        "SELECT sequence, ended_at, ended_at < counted_at FROM json_each(?2) AS wanted"
        " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
        " CROSS JOIN races ON races.name = race",
        board.key,
        json.dumps(sorted(set(lasts.values()))),
    )
    ends = {row[0]: moment_of(row[1]) for row in rows}
    # A race counts from its end, or later if recorded late. Only then may an earlier one end later.
    late = {row[0] for row in rows if row[2]}
    again = ledger.connection.rows(
        "SELECT wanted.key, max(ended_at) FROM json_each(?2) AS wanted"
        " CROSS JOIN changes INDEXED BY changes_by_player"
        "  ON changes.leaderboard = ?1 AND player = wanted.key AND sequence <= wanted.value"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = race"
        " GROUP BY wanted.key",
        board.key,
        json.dumps({player: last for player, last in lasts.items() if last in late}),
    )
    found = {player: ends[last] for player, last in lasts.items()}
    return found | {player: moment_of(ended_at) for player, ended_at in again}


def listed_of(
    rows: Mapping[str, Standing], listing: Listing, hidden: set[str], latest: datetime | None
) -> list[Standing]:
    """Return the standings that a leaderboard lists if its last race ended at `latest`."""
    earliest, finishes = listing.earliest(latest), listing.minimum_finishes
    return [
        row
        for row in rows.values()
        if row.finishes >= finishes and row.last_race_at >= earliest and row.player not in hidden
    ]


def listed_now(ledger: Ledger, board: Leaderboard, listing: Listing) -> list[Standing]:
    """Return the standings that a leaderboard lists now."""
    rows = ledger.standings.now(board)
    return listed_of(rows, listing, ledger.people.hidden(), latest_of(rows))


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
