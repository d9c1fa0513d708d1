"""Proposes other parameters for leaderboards that use older defaults of racebot, or earlier settings.

`effect_of` shows what a proposal would change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from racebot.ledger.rows import Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.ratings import registry
from racebot.ratings.parameters import ParameterValue, as_json
from racebot.standings.counting import RatingRules
from racebot.standings.rebuild import replay


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stored leaderboard, and the same leaderboard with another model or other parameters.

    If it is `in_settings`, the operator's settings say so, and the bot rates the leaderboard again at its
    next start. Otherwise only racebot's defaults have changed.
    """

    stored: Leaderboard
    proposed: Leaderboard
    in_settings: bool = False

    def changed(self) -> list[tuple[str, ParameterValue, ParameterValue]]:
        """Return each parameter that differs, with its values before and after; None if missing."""
        before, after = self.stored.parameters, self.proposed.parameters
        pairs = ((name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after]))
        return [(name, old, new) for name, old, new in pairs if old != new]


def proposals(rules: RatingRules, boards: Sequence[Leaderboard]) -> list[Proposal]:
    """Return proposals for leaderboards that use older defaults of racebot, or earlier settings."""
    found = []
    for board in boards:
        config = rules.config_of(board)
        if config is None:
            continue
        named = board.carry and (board.category, board.carry.source)
        source = next((each for each in boards if (each.category, each.name) == named), None)
        proposed = replace(config.kept(board.category, board.first_goal, source), id=board.id)
        if proposed.model == board.model:
            own = config.own_parameters(board)
            proposed = replace(proposed, parameters={**proposed.parameters, **own})
        stored = as_json(registry.create(board.model, board.parameters))  # with parameters that are new since
        if (proposed.model, proposed.parameters) != (board.model, stored):
            kept = config.kept(board.category, board.first_goal, board)
            unchanged = (kept.model, kept.parameters) == (board.model, board.parameters)
            found.append(Proposal(board, proposed, in_settings=not unchanged))
    return found


@dataclass(frozen=True, slots=True)
class Move:
    """A player's place and points before and after."""

    name: str
    place_before: int
    place_after: int
    points_before: int
    points_after: int


@dataclass(frozen=True, slots=True)
class ProposalEffect:
    """The first players today and under the proposal, and the largest moves, by places and then by points."""

    before: list[Move]
    after: list[Move]
    moves: list[Move]


def effect_of(ledger: Ledger, proposal: Proposal, count: int = 10) -> ProposalEffect:
    """Rate a leaderboard's races as proposed, without storing anything, and show `count` players a part."""
    before = ledger.standings.all(proposal.stored)
    after = {standing.player: standing for standing in replay(ledger, proposal.proposed)}
    places_before, places_after = _places(before), _places(after.values())
    moves = [
        Move(old.name, places_before[key], places_after[key], old.points, after[key].points)
        for old in before
        if (key := old.player) in after
    ]

    def distance(move: Move) -> tuple[int, int, str]:
        places, points = move.place_after - move.place_before, move.points_after - move.points_before
        return -abs(places), -abs(points), move.name

    farthest = sorted(moves, key=distance)[:count]
    return ProposalEffect(
        before=sorted(moves, key=attrgetter("place_before"))[:count],
        after=sorted(moves, key=attrgetter("place_after"))[:count],
        moves=[move for move in farthest if move.place_after != move.place_before],
    )


def _places(standings: Collection[Standing]) -> dict[str, int]:
    """Return each player's place. Equal ratings share a place."""
    falling = sorted(-standing.rating for standing in standings)
    return {standing.player: 1 + bisect_left(falling, -standing.rating) for standing in standings}
