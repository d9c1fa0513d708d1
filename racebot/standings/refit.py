"""Previews the effect of other parameters on a leaderboard."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass

from racebot.ledger.rows import Standing
from racebot.standings.proposals import Proposal
from racebot.standings.settle import Settler


@dataclass(frozen=True, slots=True)
class Move:
    """A player's place and points before and after."""

    player: str
    name: str
    place_before: int
    place_after: int
    points_before: int
    points_after: int


@dataclass(frozen=True, slots=True)
class ProposalEffect:
    """The effect of a proposal on a leaderboard.

    Attributes:
        before: the first players today, best first.
        after: the first players under the proposal, best first.
        moves: the largest moves, by places and then by points.
    """

    before: tuple[Move, ...]
    after: tuple[Move, ...]
    moves: tuple[Move, ...]


def preview(settler: Settler, proposal: Proposal, count: int = 10) -> ProposalEffect:
    """Rate a leaderboard's races with the proposed parameters, without storing anything.

    Args:
        count: how many players each part shows.
    """
    before = settler.ledger.standings(proposal.stored)
    after = {standing.player: standing for standing in settler.replay.standings(proposal.proposed)}
    places_before, places_after = _places(before), _places(after.values())
    moves = [
        Move(
            player=old.player,
            name=old.name,
            place_before=places_before[old.player],
            place_after=places_after[old.player],
            points_before=old.points,
            points_after=after[old.player].points,
        )
        for old in before
        if old.player in after
    ]
    distance = sorted(
        moves,
        key=lambda m: (-abs(m.place_after - m.place_before), -abs(m.points_after - m.points_before), m.name),
    )
    return ProposalEffect(
        before=tuple(sorted(moves, key=lambda m: m.place_before)[:count]),
        after=tuple(sorted(moves, key=lambda m: m.place_after)[:count]),
        moves=tuple(move for move in distance[:count] if move.place_after != move.place_before),
    )


def _places(standings: Collection[Standing]) -> dict[str, int]:
    """Return each player's place. Equal ratings share a place."""
    falling = sorted(-standing.rating for standing in standings)
    return {standing.player: 1 + bisect_left(falling, -standing.rating) for standing in standings}
