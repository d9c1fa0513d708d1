"""Which races count on which leaderboard, and how each leaderboard is rated."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from racebot.ledger.rows import Carry, Leaderboard
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters, ParameterValue, as_json

log = logging.getLogger(__name__)

NO_FORFEITS = {"level": -1.0}
"""Parameters of a new leaderboard of thurstone-hurdle if nobody gave up in its past races."""
NO_FORFEITS_FROM = 100
"""Fewest past entrants, all of whom finished, to start with `NO_FORFEITS`."""
MOVE_NO_RATING = ("odds_scale", "odds_doubt", "odds_by_finish", "finish_level", "finish_width")
"""Parameters that are fitted to a leaderboard's races without asking."""
FUTURE = timedelta(days=1)
"""A race that counts later than this from now has a wrong date. Clocks that go ahead a little do no harm."""


@dataclass(frozen=True, slots=True)
class LeaderboardConfig:
    """How to rate a leaderboard, as the operator set it. One without goals fits any goal.

    `model_is_set` is False if the operator did not choose the model. `teams` is None if they did not choose
    that: teams are then rated if the model can. A leaderboard keeps the defaults it began with (`kept`), so
    that an upgrade never changes a running season.
    """

    model: str
    parameters: Parameters = field(default_factory=dict)
    teams: TeamPolicy | None = None
    name: str = ""
    category: str = ""
    goals: tuple[str, ...] = ()
    carry: Carry | None = None
    model_is_set: bool = True

    def leaderboard(self, category: str, goal: str) -> Leaderboard:
        """Return the leaderboard for this goal with today's defaults. It is not stored."""
        model = registry.create(self.model, self.parameters)
        teams = self.teams or (TeamPolicy.TEAM if model.rates_teams else TeamPolicy.IGNORE)
        return Leaderboard(
            category=category,
            name=self.name or goal,
            goals=self.goals or (goal,),
            model=self.model,
            parameters=as_json(model),
            teams=teams.value,
            carry=self.carry,
        )

    def kept(self, category: str, goal: str, earlier: Leaderboard | None) -> Leaderboard:
        """Return the leaderboard for this goal, taking settings that are not set from `earlier`.

        That is the stored leaderboard itself, or the one that a new season carries over from.
        """
        planned = self.leaderboard(category, goal)
        left_open = not (self.model_is_set or self.parameters)
        if earlier is None or not (left_open or earlier.model == planned.model):
            return planned
        given = {name: planned.parameters[name] for name in self.parameters}
        kept = replace(planned, model=earlier.model, parameters={**earlier.parameters, **given})
        return kept if self.teams else replace(kept, teams=earlier.teams)

    def begun(
        self, category: str, goal: str, source: Leaderboard | None, races: Iterable[RaceResult]
    ) -> Leaderboard:
        """Return a new leaderboard for this goal, given the one that it carries over from and past races."""
        board = self.kept(category, goal, source)
        if board.model != "thurstone-hurdle" or self.carry or NO_FORFEITS.keys() & self.parameters.keys():
            return board
        own = (race for race in races if race.category == category and race.goal in board.goals)
        finished = [entrant.finished for race in own for entrant in race.entrants]
        if len(finished) < NO_FORFEITS_FROM or not all(finished):
            return board
        text = "leaderboard %s: all %d past entrants finished, so it starts with %s"
        log.info(text, board.name, len(finished), NO_FORFEITS)
        return replace(board, parameters={**board.parameters, **NO_FORFEITS})

    def own_parameters(self, board: Leaderboard) -> dict[str, ParameterValue]:
        """Return a stored leaderboard's parameters that come from its races, not from racebot's defaults."""
        own = set(MOVE_NO_RATING)
        if NO_FORFEITS.items() <= board.parameters.items():
            own |= NO_FORFEITS.keys()
        return {n: v for n, v in board.parameters.items() if n in own and n not in self.parameters}


@dataclass(frozen=True, slots=True)
class RatingRules:
    """Which races count on which leaderboard.

    `named` leaderboards rate the goals they list; every other goal gets its own leaderboard from `default`.
    `goals` limits the rated goals by category; without an entry, all of a category's goals are rated.
    `renamed` has the current names of goals by category and earlier name.
    """

    default: LeaderboardConfig
    named: tuple[LeaderboardConfig, ...] = ()
    goals: Mapping[str, frozenset[str]] = field(default_factory=dict)
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def configs_for(self, category: str, goal: str) -> list[LeaderboardConfig]:
        """Return the configurations, each with its name, for a race of this category and goal."""
        current = self.renamed.get(category, {})
        goal = current.get(goal, goal)  # a room shows the earlier name until its next change
        if category in self.goals and goal not in self.goals[category]:
            return []
        named = [
            replace(config, goals=goals)
            for config in self.named
            if config.category in {"", category}
            and goal in (goals := tuple(dict.fromkeys(current.get(each, each) for each in config.goals)))
        ]
        if named:
            return named
        return [replace(self.default, name=self.default_name(category, goal))]

    def default_name(self, category: str, goal: str) -> str:
        """Return the name of a goal's own leaderboard: the goal's, unless a named leaderboard has it."""
        taken = any(p.name == goal and p.category in {"", category} for p in self.named)
        return f"{goal} (goal)" if taken else goal

    def leaderboards(self, category: str, goal: str) -> list[Leaderboard]:
        """Return the leaderboards, with today's defaults, for a race of this category and goal."""
        return [config.leaderboard(category, goal) for config in self.configs_for(category, goal)]

    def config_of(self, board: Leaderboard) -> LeaderboardConfig | None:
        """Return the configuration of a stored leaderboard, or None if the settings no longer name it."""
        configs = (config for goal in board.goals for config in self.configs_for(board.category, goal))
        return next((config for config in configs if config.name == board.name), None)

    def with_renamed(self, renamed: Mapping[str, Mapping[str, str]]) -> RatingRules:
        """Return these rules with the current names of goals, by category and earlier name."""

        def present(category: str, goal: str) -> str:
            chosen = [renamed.get(category, {})] if category else renamed.values()
            return next((names[goal] for names in chosen if goal in names), goal)

        own = {config.name for config in self.named}
        named = tuple(
            config
            if config.carry is None or config.carry.source in own
            else replace(
                config, carry=replace(config.carry, source=present(config.category, config.carry.source))
            )
            for config in self.named
        )
        goals = {c: frozenset(present(c, goal) for goal in chosen) for c, chosen in self.goals.items()}
        return replace(self, named=named, goals=goals, renamed=renamed)

    def counts(self, result: RaceResult) -> bool:
        """Return whether this result can be rated once it is recorded."""
        return result.countable and not result.hidden and bool(self.configs_for(result.category, result.goal))
