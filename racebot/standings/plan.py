"""Which races count on which leaderboard, and how each leaderboard is rated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from racebot.errors import SettingsError
from racebot.ledger.rows import Carry, Leaderboard
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.ratings.parameters import as_json
from racebot.text.parse import did_you_mean


@dataclass(frozen=True, slots=True)
class LeaderboardPlan:
    """How to rate a leaderboard, as the operator set it. A plan without goals fits any goal.

    `model_is_set` is False if the operator did not choose the model. A leaderboard keeps the defaults it
    began with (`kept`), so that an upgrade never changes a running season.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    teams: TeamPolicy = TeamPolicy.IGNORE
    name: str = ""
    category: str = ""
    goals: tuple[str, ...] = ()
    carry: Carry | None = None
    model_is_set: bool = True

    def leaderboard(self, category: str, goal: str) -> Leaderboard:
        """Return the leaderboard for this goal with today's defaults. It is not stored."""
        return Leaderboard(
            category=category,
            name=self.name or goal,
            goals=self.goals or (goal,),
            model=self.model,
            parameters=as_json(registry.create(self.model, self.parameters)),
            teams=self.teams.value,
            carry=self.carry,
        )

    def kept(self, category: str, goal: str, earlier: Leaderboard | None) -> Leaderboard:
        """Return the leaderboard for this goal, taking settings that are not set from `earlier`.

        Args:
            category: slug of the category.
            goal: the goal's name.
            earlier: the stored leaderboard itself, or the one that a new season carries over from.
        """
        planned = self.leaderboard(category, goal)
        left_open = not (self.model_is_set or self.parameters)
        if earlier is None or not (left_open or earlier.model == planned.model):
            return planned
        given = {name: planned.parameters[name] for name in self.parameters}
        return replace(planned, model=earlier.model, parameters={**earlier.parameters, **given})


@dataclass(frozen=True, slots=True)
class Plans:
    """Which races count on which leaderboard.

    `named` leaderboards rate the goals they list; every other goal gets its own leaderboard from `default`.
    `goals` limits the rated goals by category; without an entry, all of a category's goals are rated.
    """

    default: LeaderboardPlan
    named: tuple[LeaderboardPlan, ...] = ()
    goals: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def plans_for(self, category: str, goal: str) -> list[LeaderboardPlan]:
        """Return the plans, each with its name, for a race of this category and goal."""
        if category in self.goals and goal not in self.goals[category]:
            return []
        named = [p for p in self.named if goal in p.goals and p.category in {"", category}]
        if named:
            return named
        taken = any(p.name == goal and p.category in {"", category} for p in self.named)
        return [replace(self.default, name=f"{goal} (goal)" if taken else goal)]

    def leaderboards(self, category: str, goal: str) -> list[Leaderboard]:
        """Return the leaderboards, with today's defaults, for a race of this category and goal."""
        return [plan.leaderboard(category, goal) for plan in self.plans_for(category, goal)]

    def plan_of(self, board: Leaderboard) -> LeaderboardPlan | None:
        """Return the plan of a stored leaderboard, or None if the settings no longer name it."""
        plans = (plan for goal in board.goals for plan in self.plans_for(board.category, goal))
        return next((plan for plan in plans if plan.name == board.name), None)

    def with_renamed(self, renamed: Mapping[str, Mapping[str, str]]) -> Plans:
        """Return these plans with the current names of goals.

        Args:
            renamed: earlier and current names of goals, by category.
        """

        def present(category: str, goal: str) -> str:
            chosen = [renamed.get(category, {})] if category else renamed.values()
            return next((names[goal] for names in chosen if goal in names), goal)

        own = {plan.name for plan in self.named}
        named = tuple(
            replace(
                plan,
                goals=tuple(dict.fromkeys(present(plan.category, goal) for goal in plan.goals)),
                carry=None
                if plan.carry is None
                else plan.carry
                if plan.carry.source in own
                else replace(plan.carry, source=present(plan.category, plan.carry.source)),
            )
            for plan in self.named
        )
        goals = {c: frozenset(present(c, goal) for goal in chosen) for c, chosen in self.goals.items()}
        return replace(self, named=named, goals=goals)

    def counts(self, result: RaceResult) -> bool:
        """Return whether this result can be rated once it is recorded."""
        return result.countable and not result.hidden and bool(self.plans_for(result.category, result.goal))


@dataclass(frozen=True, slots=True)
class CarryProblem:
    """A leaderboard that cannot carry over from its source."""

    leaderboard: str
    reason: str


def carry_problems(plans: Plans) -> list[CarryProblem]:
    """Find leaderboards that carry over from themselves, or whose models cannot carry over.

    A source without a plan counts as a goal's leaderboard; `unknown_sources` checks those.
    """
    carrying = (plan for plan in plans.named if plan.carry is not None)
    return [CarryProblem(plan.name, reason) for plan in carrying if (reason := _carry_problem(plans, plan))]


def unknown_sources(
    plans: Plans, boards: Collection[Leaderboard], goals: Collection[str] = ()
) -> list[CarryProblem]:
    """Find sources that are neither in the settings nor stored: a misspelt name, or a season not rated yet.

    Args:
        plans: the settings.
        boards: all stored leaderboards.
        goals: the goals that the categories have now; their leaderboards may have no races yet.
    """
    found = []
    for plan in plans.named:
        known = {board.name for board in boards if plan.category in {"", board.category}} | set(goals)
        if plan.carry is None or plan.carry.source in known or _named_source(plans, plan) is not None:
            continue
        hint = did_you_mean(plan.carry.source, [*known, *(p.name for p in plans.named if p is not plan)])
        found.append(
            CarryProblem(
                plan.name,
                f"there is no leaderboard {plan.carry.source!r}{hint}: correct the name, or import that "
                "season first",
            )
        )
    return found


def require_sources(plans: Plans, boards: Collection[Leaderboard], goals: Collection[str] = ()) -> None:
    """Check that each leaderboard that carries over has a source.

    Args:
        plans, boards, goals: as for `unknown_sources`.

    Raises:
        SettingsError: a source is unknown; one line for each.
    """
    if found := unknown_sources(plans, boards, goals):
        raise SettingsError(*(f"leaderboard {p.leaderboard!r}: carry_over: {p.reason}" for p in found))


def _carry_problem(plans: Plans, plan: LeaderboardPlan) -> str | None:
    chain = [plan]
    while (source := _named_source(plans, chain[-1])) is not None:
        if source in chain:
            loop = " from ".join(repr(each.name) for each in [*chain, source])
            return f"it would carry over from itself ({loop})"
        chain.append(source)
    name = plan.carry.source if plan.carry else ""
    source = chain[1] if len(chain) > 1 else replace(plans.default, name=name)
    model = plan.model if plan.model_is_set or plan.parameters else source.model
    for name, key in ((source.name, source.model), (plan.name, model)):
        if not isinstance(registry.create(key), Carries):
            return f"{name!r} is rated by {key}, which cannot carry over"
    if len(chain) > 1 and model != source.model:
        return f"{source.name!r} is rated by {source.model} and this one by {model}: use one model for both"
    return None


def _named_source(plans: Plans, plan: LeaderboardPlan) -> LeaderboardPlan | None:
    """Return the plan of the leaderboard that this one carries over from, None if it has none."""
    if plan.carry is None:
        return None
    shared = {"", plan.category}
    return next(
        (
            each
            for each in plans.named
            if each.name == plan.carry.source and (not plan.category or each.category in shared)
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stored leaderboard, and the same leaderboard with another model or other parameters."""

    stored: Leaderboard
    proposed: Leaderboard

    def changed(self) -> list[tuple[str, Any, Any]]:
        """Return each parameter that differs, with its values before and after; None if missing."""
        before, after = self.stored.parameters, self.proposed.parameters
        names = dict.fromkeys([*before, *after])
        return [
            (name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
        ]


def proposals(plans: Plans, boards: Sequence[Leaderboard]) -> list[Proposal]:
    """Return proposals for leaderboards that use older defaults of racebot.

    Args:
        plans: the settings.
        boards: all stored leaderboards.
    """
    found = []
    for board in boards:
        plan = plans.plan_of(board)
        if plan is None:
            continue
        source = None if board.carry is None else _source(board, boards)
        proposed = replace(plan.kept(board.category, board.goals[0], source), id=board.id)
        if (proposed.model, proposed.parameters) != (board.model, board.parameters):
            found.append(Proposal(board, proposed))
    return found


def _source(board: Leaderboard, boards: Iterable[Leaderboard]) -> Leaderboard | None:
    """Return the leaderboard that this one carries over from, or None."""
    name = board.carry.source if board.carry else None
    return next((b for b in boards if b.name == name and b.category == board.category), None)
