"""Leaderboards: listed players by place, their movement, and the biggest movers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.races.change import Change
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters
from racebot.standings.queries.listing import Listing
from racebot.standings.queries.ranking import ListedPlayer, ListedPlayers, rank
from racebot.standings.queries.records import extended

MOVERS_WINDOW = timedelta(days=28)


@dataclass(frozen=True, slots=True)
class LeaderboardReport:
    """A leaderboard and its listed players by place."""

    leaderboard: str
    category: str
    goals: tuple[str, ...]
    model: str
    parameters: Parameters
    races: int
    minimum_finishes: int
    inactive_days: int
    provisional_races: int
    everybody: Annotated[int, Field(description="Players with a rating, listed or not")]
    last_race_at: datetime | None
    since: Annotated[datetime | None, Field(description="Start of the time that `moved` covers")]
    players: Sequence[ListedPlayer]


@dataclass(frozen=True, slots=True)
class OpenLeaderboard(LeaderboardReport):
    """A leaderboard that reads its players when they are asked for, while the ledger is open."""

    players: ListedPlayers


@dataclass(frozen=True, slots=True)
class Placing:
    """A player's place among the `listed` players; None if the player is not listed."""

    place: int | None
    listed: int


@dataclass(frozen=True, slots=True)
class Mover:
    """A player's points before and after the window of `biggest_movers`."""

    id: str
    name: str
    before: int
    after: int
    change: int


@dataclass(frozen=True, slots=True)
class BoardTotals:
    """The numbers of a leaderboard's listed players and rated races, and when its last race ended.

    `updated_at` is when races were last rated, None if that is unknown.
    """

    listed: int
    races: int
    last_race_at: datetime | None
    updated_at: datetime | None


def open_leaderboard(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    *,
    provisional_races: int = 0,
    at: datetime | None = None,
) -> OpenLeaderboard:
    """Return a leaderboard that reads its players when they are asked for, while the ledger is open.

    Args:
        provisional_races: ratings after fewer races are provisional.
        at: show the leaderboard as it was at this time; as it is now if None.
    """
    sequence = None if at is None else ledger.sequence_until(board, at)
    ranking = rank(ledger, board, listing, sequence)
    return OpenLeaderboard(
        leaderboard=board.name,
        category=board.category,
        goals=board.goals,
        model=board.model,
        parameters=board.parameters,
        races=ledger.rated_count(board) if sequence is None else sequence,
        minimum_finishes=listing.minimum_finishes,
        inactive_days=listing.inactive_days,
        provisional_races=provisional_races,
        everybody=len(ranking.standings.players),
        last_race_at=ranking.latest,
        since=ranking.since,
        players=ListedPlayers(ledger, ranking, provisional_races),
    )


def leaderboard_report(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    *,
    provisional_races: int = 0,
    limit: int | None = None,
    at: datetime | None = None,
) -> LeaderboardReport:
    """Return a leaderboard with its players already read, best first.

    Takes the arguments of `open_leaderboard`, and a limit on the number of players.
    """
    report = open_leaderboard(ledger, board, listing, provisional_races=provisional_races, at=at)
    return replace(extended(LeaderboardReport, report), players=report.players[:limit])


def top_players(
    ledger: Ledger, board: Leaderboard, listing: Listing, limit: int
) -> list[tuple[int, Standing]]:
    """Return the best listed players with their places; equal ratings share one."""
    best = ledger.top(
        board,
        finishes=listing.minimum_finishes,
        since=listing.active_since(ledger.latest_race(board)),
        limit=limit,
    )
    return [(1 + sum(other.rating > standing.rating for other in best), standing) for standing in best]


def new_places(
    ledger: Ledger, board: Leaderboard, listing: Listing, changes: Sequence[Change], *, within: int
) -> dict[str, int]:
    """Return the new places of the players whom a race that is not settled yet will move on a leaderboard.

    Args:
        listing: which players it lists. Players who are not listed before the race are left out.
        changes: the changes of the race.
        within: the last new place to return.

    Returns:
        The places by user id, below zero for a player who falls.
    """
    if board.id is None or not changes:
        return {}
    # The changed players aside, at least `within` others remain.
    best = [standing for _, standing in top_players(ledger, board, listing, within + len(changes))]
    latest = ledger.latest_race(board)
    before = {standing.player: standing.rating for standing in best}
    for change in changes:
        standing = ledger.standing(board, change.player)
        if standing is not None and listing.includes(standing, latest):
            before[change.player] = standing.rating
    model = registry.create(board.model, board.parameters)
    ratings = model.rating(np.array([change.after for change in changes])).tolist()
    after = before | {c.player: r for c, r in zip(changes, ratings, strict=True) if c.player in before}
    moves = {}
    for player in (change.player for change in changes if change.player in before):
        old = 1 + sum(rating > before[player] for rating in before.values())
        new = 1 + sum(rating > after[player] for rating in after.values())
        if new != old and new <= within:
            moves[player] = new if new < old else -new
    return moves


def placing_of(ledger: Ledger, board: Leaderboard, standing: Standing, listing: Listing) -> Placing:
    """Return a player's place on a leaderboard."""
    latest = ledger.latest_race(board)
    above, listed = ledger.listed(
        board,
        finishes=listing.minimum_finishes,
        since=listing.active_since(latest),
        above=standing.rating,
    )
    return Placing(above + 1 if listing.includes(standing, latest) else None, listed)


def board_totals(ledger: Ledger, board: Leaderboard, listing: Listing) -> BoardTotals:
    """Return the size of a leaderboard, much faster than the whole report."""
    return BoardTotals(
        listed_count(ledger, board, listing),
        ledger.rated_count(board),
        ledger.latest_race(board),
        ledger.updated_at(board),
    )


def listed_count(ledger: Ledger, board: Leaderboard, listing: Listing) -> int:
    """Return the number of players that a leaderboard lists."""
    since = listing.active_since(ledger.latest_race(board))
    return ledger.listed(board, finishes=listing.minimum_finishes, since=since)[1]


def biggest_movers(ledger: Ledger, board: Leaderboard, count: int = 5) -> list[Mover]:
    """Return the players whose points changed most in the last weeks, the biggest change first."""
    latest = ledger.latest_race(board)
    if latest is None:
        return []
    spans: dict[str, tuple[int, int]] = {}
    hidden = ledger.orders.hidden()
    for change in ledger.changes_since(board, latest - MOVERS_WINDOW):
        if change.player in hidden:
            continue
        first, _ = spans.get(change.player, (change.points_before, 0))
        spans[change.player] = (first, change.points_after)
    sizes = sorted((abs(last - first) for first, last in spans.values() if last != first), reverse=True)
    least = sizes[:count][-1] if sizes else 1
    moved = [
        Mover(player, standing.name, first, last, last - first)
        for player, (first, last) in spans.items()
        if abs(last - first) >= least and (standing := ledger.standing(board, player)) is not None
    ]
    return sorted(moved, key=lambda mover: (-abs(mover.change), mover.name))[:count]
