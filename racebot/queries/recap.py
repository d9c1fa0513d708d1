"""Summaries of a leaderboard: a season with its podium and records, and places over time.

The end of a season is never stored: it follows from a leaderboard's `until` and the time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from racebot.ledger.rows import Leaderboard, NamedPlayer
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers, leaderboard_report
from racebot.queries.races import RaceRow, races_numbered
from racebot.queries.records import Record, hall_of_fame
from racebot.queries.scores import league
from racebot.queries.standings import Listing
from racebot.races.rooms import RoomRule

SETTLES = timedelta(days=1)
"""Shortest time after a season's end for its last races to finish, and to be recorded."""


@dataclass(frozen=True, slots=True)
class PodiumPlace:
    """A player on the podium. `total` is the points, or the score if scores order the leaderboard.

    `wins` is None if scores do. Equal players share a place.
    """

    place: int
    player: NamedPlayer
    total: float
    races: int
    wins: int | None


@dataclass(frozen=True, slots=True)
class Recap:
    """The facts of a season, without hidden players. Equal players share one; a fact without a race is empty.

    `span` are the first race and the last one that changed ratings.
    """

    races: int
    podium: Sequence[PodiumPlace]
    span: tuple[RaceRow, RaceRow] | None
    upsets: Sequence[Record]
    most_races: Sequence[Record]
    streaks: Sequence[Record]
    closest: Sequence[Record]
    fastest: Mapping[str, Sequence[Record]]


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


def recap(ledger: Ledger, board: Leaderboard, listing: Listing) -> Recap:
    """Return the facts of a season. Upsets count after a player's provisional races."""
    report = leaderboard_report(ledger, board, listing)
    fame = hall_of_fame(ledger, board, settled=listing.provisional_races)
    sql = "SELECT min(sequence), max(sequence) FROM changes WHERE leaderboard = ?"
    ((first, last),) = ledger.connection.rows(sql, board.key)
    found = races_numbered(ledger, board.key, [first, last])
    return Recap(
        races=report.races,
        podium=podium(ledger, board, listing, report.players),
        span=(found[first], found[last]) if found else None,
        upsets=fame.upsets[:1],
        most_races=_first(fame.races),
        streaks=_first(fame.streaks),
        closest=_first(fame.closest),
        fastest={goal: _first(times) for goal, times in fame.times.items()},
    )


def _first(records: Sequence[Record]) -> list[Record]:
    return [each for each in records if each.rank == 1]


def places_over_time(
    ledger: Ledger,
    board: Leaderboard,
    listed: ListedPlayers,
    players: Collection[str],
    moments: Sequence[datetime],
) -> dict[str, list[int | None]]:
    """Return the places of some players at each moment, among the players who are listed now.

    A place is None before a player's first race. Equal points share a place.
    """
    samples = np.array([ledger.ratings.sequence_until(board, moment) for moment in moments])
    row_of = {row.player: number for number, row in enumerate(listed.rows)}
    changed = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? AND sequence > ? ORDER BY sequence",
        board.key,
        int(samples[0]),
    )
    changes = [each for each in changed if each["player"] in row_of]
    points = np.full((len(listed.rows), len(moments)), np.nan)
    points[:, 0] = [row.points for row in listed.rows]
    if changes:
        sequences, raced, before, after, races_before = zip(*changes, strict=True)
        rows = np.array([row_of[player] for player in raced])
        _, first = np.unique(rows, return_index=True)
        at_first = np.where(np.array(races_before)[first] > 0, np.array(before)[first], np.nan)
        points[rows[first], 0] = at_first
        columns = np.searchsorted(samples, sequences)
        shown = columns < len(moments)
        points[rows[shown], columns[shown]] = np.array(after)[shown]  # of several, the last
    for column in range(1, len(moments)):
        missing = np.isnan(points[:, column])
        points[missing, column] = points[missing, column - 1]
    found = {}
    for player in players:
        own = points[row_of[player]]
        places = np.where(np.isnan(own), 0, 1 + (points > own).sum(0))
        found[player] = [place or None for place in places.tolist()]
    return found


def podium(ledger: Ledger, board: Leaderboard, listing: Listing, listed: ListedPlayers) -> list[PodiumPlace]:
    """Return the players on the first three places, as the leaderboard orders its listed players."""
    if listing.ordering is not None:
        racers = league(ledger, board, listing.ordering).standings
        return [
            PodiumPlace(each.place, NamedPlayer(each.id, each.name), total.score, total.entered, None)
            for each in racers
            if each.place <= 3
            for total in [each.total]
        ]
    rows = [row for row in listed.rows if listed.places[row.rating] <= 3]
    return [
        PodiumPlace(each.place, NamedPlayer(each.id, each.name), each.points, each.races, each.wins)
        for each in listed.chosen(rows)
    ]
