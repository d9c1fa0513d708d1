"""Players: their standing on each leaderboard, their races and their opponents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from racebot.ledger.history import PlayedRace
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings.queries.leaderboard import placing_of
from racebot.standings.queries.listing import Listing
from racebot.standings.queries.ranking import RatedPlayer
from racebot.standings.queries.records import extended


@dataclass(frozen=True, slots=True)
class PlayerStanding(RatedPlayer):
    """A player's standing on one leaderboard."""

    category: str
    leaderboard: str
    listed: Annotated[int, Field(description="Number of listed players")]


@dataclass(frozen=True, slots=True)
class StandingWithHistory(PlayerStanding):
    """A player's standing on one leaderboard with their last rated races, newest first."""

    history: Sequence[PlayedRace]


@dataclass(frozen=True, slots=True)
class PlayerReport:
    """A player with their standing and last races on every leaderboard they have raced on."""

    id: str
    name: str
    leaderboards: Sequence[StandingWithHistory]


def player_standing(
    ledger: Ledger, board: Leaderboard, listing: Listing, player: str, *, provisional_races: int = 0
) -> PlayerStanding | None:
    """Return a player's standing on a leaderboard; None if they have not raced there.

    Args:
        provisional_races: a rating after fewer races is provisional.
    """
    standing = ledger.standing(board, player)
    if standing is None:
        return None
    placing = placing_of(ledger, board, standing, listing)
    return PlayerStanding(
        place=placing.place,
        id=standing.player,
        name=standing.name,
        points=standing.points,
        rating=standing.rating,
        state=standing.state,
        races=standing.races,
        finishes=standing.finishes,
        wins=standing.wins,
        last_race_at=standing.last_race_at,
        provisional=standing.races < provisional_races,
        category=board.category,
        leaderboard=board.name,
        listed=placing.listed,
    )


def player_report(
    ledger: Ledger,
    name: str,
    listing: Callable[[Leaderboard], Listing],
    *,
    provisional_races: int = 0,
    limit: int = 20,
) -> PlayerReport:
    """Read a player's standing and last races on every leaderboard.

    Args:
        name: the player's name, in any case, or id.
        listing: which players a leaderboard lists.
        provisional_races: ratings after fewer races are provisional.
        limit: races of each leaderboard.

    Raises:
        NoSuchEntryError: no player, or more than one, has that name.
    """
    player = ledger.players.find(name)
    found = []
    for board in ledger.leaderboards():
        standing = player_standing(
            ledger, board, listing(board), player.id, provisional_races=provisional_races
        )
        if standing is not None:
            history = ledger.pages.last_played(board.key, player.id, limit)
            found.append(extended(StandingWithHistory, standing, history=history))
    return PlayerReport(player.id, player.shown, found)
