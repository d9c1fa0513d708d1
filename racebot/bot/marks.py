"""Reads from the ledger which new places and unranked players a message marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from racebot.chat.rating_message import Marks
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import new_places
from racebot.queries.listing import Listing
from racebot.standings.settle import RatedRace

MARKED_PLACES = 20
"""Places of a leaderboard within which messages mark a player's move."""


def marks_by_board(
    ledger: Ledger,
    rated: Sequence[RatedRace],
    listing: Callable[[Leaderboard], Listing] | None,
    *,
    settled: bool = False,
) -> dict[str, Marks]:
    """Return the marks of a race's message, by leaderboard.

    Args:
        ledger: the ledger that holds the leaderboards.
        rated: the changes on each leaderboard.
        listing: returns which players a leaderboard lists; None for no marks.
        settled: whether the standings include the race already. New places are not marked then.
    """
    if listing is None:
        return {}
    return {
        each.leaderboard.name: _marks(ledger, each, listing(each.leaderboard), settled=settled)
        for each in rated
    }


def _marks(ledger: Ledger, rated: RatedRace, listing: Listing, *, settled: bool) -> Marks:
    board = rated.leaderboard
    before, after = set(), set()
    for change in rated.changes:
        standing = ledger.standing(board, change.player) if board.id is not None else None
        known, finished = standing.finishes if standing else 0, change.place is not None
        if known - (settled and finished) < listing.minimum_finishes:
            before.add(change.player)
        if known + (not settled and finished) < listing.minimum_finishes:
            after.add(change.player)
    moves = {} if settled else new_places(ledger, board, listing, rated.changes, within=MARKED_PLACES)
    return Marks(moves, unranked=frozenset(after), unranked_before=frozenset(before))
