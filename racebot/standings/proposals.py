"""Proposes other parameters for leaderboards that use older defaults of racebot, or earlier settings.

`effect_of` shows what a proposal would change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """A player's place and points before and after. Equal ratings share a place."""

    name: str
    place_before: int
    place_after: int
    points_before: int
    points_after: int


def effect_of(ledger: Ledger, proposal: Proposal) -> list[Move]:
    """Rate a leaderboard's races as proposed, without storing anything, and return each player's move."""
    before = ledger.standings.all(proposal.stored)
    after = {standing.player: standing for standing in replay(ledger, proposal.proposed)}
    now, then = (sorted(-each.rating for each in standings) for standings in (before, after.values()))

    def move(old: Standing, new: Standing) -> Move:
        places = 1 + bisect_left(now, -old.rating), 1 + bisect_left(then, -new.rating)
        return Move(old.name, *places, old.points, new.points)

    return [move(old, after[old.player]) for old in before if old.player in after]
