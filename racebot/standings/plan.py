"""Which races count on which leaderboard, and how each leaderboard is rated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from racebot.ledger.rows import Leaderboard
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.parameters import as_json


@dataclass(frozen=True, slots=True)
class LeaderboardPlan:
    """How a leaderboard is to be rated, as the operator set it. Without goals it is a plan for any goal."""

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    teams: TeamPolicy = TeamPolicy.IGNORE
    name: str = ""
    category: str = ""
    goals: tuple[str, ...] = ()
    carry: Mapping[str, Any] | None = None

    def leaderboard(self, category: str, goal: str) -> Leaderboard:
        """The leaderboard that a race of this goal counts for, not stored yet."""
        return Leaderboard(
            category=category,
            name=self.name or goal,
            goals=self.goals or (goal,),
            model=self.model,
            parameters=as_json(registry.create(self.model, self.parameters)),
            teams=self.teams.value,
            carry=None if self.carry is None else dict(self.carry),
        )


@dataclass(frozen=True, slots=True)
class Plans:
    """All that decides which race counts where.

    `named` leaderboards take the goals they list; every other goal gets a leaderboard of its own after
    `default`. `goals` limits, by category, the goals that are rated at all; a category that is not in it
    has all its goals rated.
    """

    default: LeaderboardPlan
    named: tuple[LeaderboardPlan, ...] = ()
    goals: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def leaderboards(self, category: str, goal: str) -> list[Leaderboard]:
        """The leaderboards that a race of this category and goal counts for."""
        if category in self.goals and goal not in self.goals[category]:
            return []
        named = [p for p in self.named if goal in p.goals and p.category in {"", category}]
        if named:
            return [plan.leaderboard(category, goal) for plan in named]
        alone = self.default.leaderboard(category, goal)
        if any(p.name == goal and p.category in {"", category} for p in self.named):
            # A leaderboard of other goals has taken the name.
            alone = replace(alone, name=f"{goal} (goal)")
        return [alone]

    def counts(self, result: RaceResult) -> bool:
        """Whether a result is one that may be rated once it is recorded."""
        return (
            result.countable and not result.hidden and bool(self.leaderboards(result.category, result.goal))
        )
