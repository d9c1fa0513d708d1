"""Proposes other parameters for leaderboards that use older defaults of racebot, or earlier settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from racebot.ledger.rows import Leaderboard
from racebot.ratings.parameters import ParameterValue
from racebot.standings.plans import Plans


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
