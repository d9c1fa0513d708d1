"""Proposes other parameters for leaderboards that use older defaults of racebot, or earlier settings.

`effect_of` shows what a proposal would change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from racebot.ledger.rows import Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.ratings.parameters import ParameterValue
from racebot.standings.counting import Plans
from racebot.standings.rater import replay


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stored leaderboard, and the same leaderboard with another model or other parameters.

    Attributes:
        stored: the leaderboard as it is rated now.
        proposed: the leaderboard with the other model or parameters.
        in_settings: whether the operator's settings say so. The bot then rates the leaderboard again at its
            next start. Otherwise only racebot's defaults have changed.
    """

    stored: Leaderboard
    proposed: Leaderboard
    in_settings: bool = False

    def changed(self) -> list[tuple[str, ParameterValue, ParameterValue]]:
        """Return each parameter that differs, with its values before and after; None if missing."""
        before, after = self.stored.parameters, self.proposed.parameters
        names = dict.fromkeys([*before, *after])
        return [
            (name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
        ]


def proposals(plans: Plans, boards: Sequence[Leaderboard]) -> list[Proposal]:
    """Return proposals for leaderboards that use older defaults of racebot, or earlier settings."""
    found = []
    for board in boards:
        plan = plans.plan_of(board)
        if plan is None:
            continue
        named = board.carry and (board.category, board.carry.source)
        source = next((each for each in boards if (each.category, each.name) == named), None)
        proposed = replace(plan.kept(board.category, board.goals[0], source), id=board.id)
        if (proposed.model, proposed.parameters) != (board.model, board.parameters):
            kept = plan.kept(board.category, board.goals[0], board)
            unchanged = (kept.model, kept.parameters) == (board.model, board.parameters)
            found.append(Proposal(board, proposed, in_settings=not unchanged))
    return found


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


def effect_of(ledger: Ledger, proposal: Proposal, count: int = 10) -> ProposalEffect:
    """Rate a leaderboard's races with the proposed parameters, without storing anything.

    Args:
        count: how many players each part shows.
    """
    before = ledger.standings.all(proposal.stored)
    after = {standing.player: standing for standing in replay(ledger, proposal.proposed)}
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
