"""Which races count on which leaderboard, and how each is rated."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from racebot.ledger.rows import Leaderboard, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.events import is_event
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.races.rooms import BY_GOALS, Carry, Room, RoomReason, RoomRule, Verdict
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters, as_json
from racebot.settings.model import NO_GOAL, Settings
from racebot.text.parse import did_you_mean

log = logging.getLogger(__name__)

TICK = timedelta(microseconds=1)

FEW_FORFEITS = {"level": -1.0}
"""Parameters of a new leaderboard of thurstone-hurdle if hardly anybody gave up in its past races."""
FEW_FORFEITS_FROM = 100  # fewest past entrants to start with `FEW_FORFEITS`
FEW = 0.02  # share of the past entrants: with fewer who did not finish, it starts with `FEW_FORFEITS`
MOVE_NO_RATING = (
    *("odds_scale", "odds_doubt", "odds_by_finish"),
    *("performance_scale", "performance_doubt", "finish_level", "finish_width"),
)
"""Parameters that are fitted to a leaderboard's races without asking."""


@dataclass(frozen=True, slots=True)
class LeaderboardConfig:
    """How to rate a leaderboard, as the operator set it. One without goals or a rule fits any goal.

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
    rule: RoomRule = BY_GOALS

    def leaderboard(self, category: str, goal: str) -> Leaderboard:
        """Return the leaderboard for this goal with today's defaults. It is not stored."""
        model = registry.create(self.model, self.parameters)
        teams = self.teams or (TeamPolicy.TEAM if model.rates_teams else TeamPolicy.IGNORE)
        return Leaderboard(
            category=category,
            name=self.name or goal,
            goals=self.goals or ((goal,) if self.rule.by_goals_alone else ()),
            model=self.model,
            parameters=as_json(model),
            teams=teams.value,
            carry=self.carry,
            rule=self.rule,
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
        if board.model != "thurstone-hurdle" or self.carry or FEW_FORFEITS.keys() & self.parameters.keys():
            return board
        finished = [entrant.finished for race in filter(board.holds, races) for entrant in race.entrants]
        total, out = len(finished), finished.count(False)
        if total < FEW_FORFEITS_FROM or out >= FEW * total:
            return board
        text = "leaderboard %s: %d of %d past entrants did not finish, so it starts with %s"
        log.info(text, board.name, out, total, FEW_FORFEITS)
        return replace(board, parameters={**board.parameters, **FEW_FORFEITS})


@dataclass(frozen=True, slots=True)
class RatingRules:
    """Which races count on which leaderboard.

    `named` leaderboards rate the rooms they choose; every goal that none of them lists gets its own
    leaderboard from `default`. `goals` limits the rated goals by category; without an entry, all of a
    category's goals are rated, and with an empty one, only those of named leaderboards. Rooms that are
    chosen by more than their goal are not limited. `renamed` has the current names of goals by category and
    earlier name.
    """

    default: LeaderboardConfig
    named: tuple[LeaderboardConfig, ...] = ()
    goals: Mapping[str, frozenset[str]] = field(default_factory=dict)
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    events: Mapping[str, str] = field(default_factory=dict)
    """The rooms that belong to an event, and so do not count by themselves, each with the event's race."""

    def configs_for_goal(self, category: str, goal: str) -> list[LeaderboardConfig]:
        """Return the configurations, each with its name, that a goal has by its name alone."""
        goal = self.renamed.get(category, {}).get(goal, goal)
        limit = self.goals.get(category)
        if limit and goal not in limit:
            return []
        chosen = [
            config
            for config in self.named_in(category)
            if config.rule.by_goals_alone and goal in config.goals
        ]
        if chosen or (limit is not None and goal not in limit):
            return chosen
        ended = (c for c in self.named_in(category) if replace(c.rule, until=None).by_goals_alone)
        if any(goal in config.goals for config in ended):  # the season has an end: do not begin another
            return []
        return [replace(self.default, name=self.default_name(category, goal))]

    def named_in(self, category: str) -> list[LeaderboardConfig]:
        """Return the named configurations for a category, with the current names of its goals."""
        current = self.renamed.get(category, {})
        return [
            replace(config, goals=tuple(dict.fromkeys(current.get(each, each) for each in config.goals)))
            for config in self.named
            if config.category in {"", category}
        ]

    def configs_for(self, room: Room) -> list[LeaderboardConfig]:
        """Return the configurations, each with its name, that choose a room."""
        return [config for config, verdict in self.verdicts(room) if verdict.counts]

    def verdicts(self, room: Room) -> list[tuple[LeaderboardConfig, Verdict]]:
        """Return the named configurations for a room, with why each chooses it or not, and its goal's own."""
        anything: Any = room
        current = replace(anything, goal=self.current_goal(room))
        by_goal = [] if room.custom_goal else self.configs_for_goal(room.category, room.goal)
        found = [(config, Verdict(RoomReason.MATCHES)) for config in by_goal]
        for config in self.named_in(room.category):
            if config not in by_goal:
                verdict = config.rule.judge(current, config.goals)
                if verdict.counts and config.rule.by_goals_alone:  # it has only events, or `goals` limit it
                    reason = RoomReason.NOT_RATED if config.goals else RoomReason.NOT_LISTED
                    verdict = Verdict(reason, current.goal, self.goals.get(room.category, ()))
                found.append((config, verdict))
        event = self.events.get(room.name)
        part = Verdict(RoomReason.EVENT, event) if event else None
        return [(config, part if part and verdict.counts else verdict) for config, verdict in found]

    def needs_no_record(self, room: Room) -> bool:
        return any(config.rule.finished for config in self.configs_for(room))

    def lacks_opener(self, room: Room) -> bool:
        """Return whether a leaderboard depends on who opened a room, and the room's data does not say it."""
        return any(verdict.reason is RoomReason.OPENER_UNKNOWN for _, verdict in self.verdicts(room))

    def listed_rooms(self, category: str) -> list[str]:
        """Return the rooms of a category that leaderboards list by name."""
        rooms = (room for config in self.named_in(category) for room in config.rule.rooms)
        return [room for room in dict.fromkeys(rooms) if room.startswith(f"{category}/")]

    def needs_list(self, category: str) -> bool:
        """Return whether races other than those listed by name may count in a category."""
        is_open = self.goals.get(category) != frozenset()
        return is_open or not all(c.rule.lists_only(c.goals) for c in self.named_in(category))

    def current_goal(self, room: Room) -> str:
        """Return the current name of a room's goal: it shows the earlier one until its next change."""
        names = {} if room.custom_goal else self.renamed.get(room.category, {})
        return names.get(room.goal, room.goal)

    def default_name(self, category: str, goal: str) -> str:
        """Return the name of a goal's own leaderboard: the goal's, unless a named leaderboard has it."""
        taken = any(p.name == goal and p.category in {"", category} for p in self.named)
        return f"{goal} (goal)" if taken else goal

    def leaderboards(self, room: Room) -> list[Leaderboard]:
        """Return the leaderboards, with today's defaults, that choose a room."""
        return [config.leaderboard(room.category, room.goal) for config in self.configs_for(room)]

    def config_of(self, board: Leaderboard) -> LeaderboardConfig | None:
        """Return the configuration of a stored leaderboard, or None if the settings no longer name it."""
        configs = [config for goal in board.goals for config in self.configs_for_goal(board.category, goal)]
        configs += [p for p in self.named_in(board.category) if not (p.rule.by_goals_alone and board.goals)]
        return next((config for config in configs if config.name == board.name), None)

    def with_renamed(self, renamed: Mapping[str, Mapping[str, str]]) -> RatingRules:
        """Return these rules with the current names of goals, by category and earlier name."""

        def present(category: str, goal: str) -> str:
            chosen = [renamed.get(category, {})] if category else renamed.values()
            return next((names[goal] for names in chosen if goal in names), goal)

        def now(config: LeaderboardConfig) -> LeaderboardConfig:
            if (carry := config.carry) is None or carry.source in own:
                return config
            return replace(config, carry=replace(carry, source=present(config.category, carry.source)))

        own = {config.name for config in self.named}
        goals = {c: frozenset(present(c, goal) for goal in chosen) for c, chosen in self.goals.items()}
        return replace(self, named=tuple(map(now, self.named)), goals=goals, renamed=renamed)

    def configs_to_rate(self, result: RaceResult) -> list[LeaderboardConfig]:
        """Return the configurations by which a result counts, or will once it is recorded."""
        if result.hidden:
            return []
        if result.leaderboard is not None:
            configs = self.named_in(result.category) + self.configs_for_goal(result.category, result.goal)
            return [config for config in configs if config.name == result.leaderboard][:1]
        return [config for config in self.configs_for(result) if config.rule.finished or result.countable]

    def counts(self, result: RaceResult) -> bool:
        """Return whether this result can be rated, at once or when it is recorded."""
        return bool(self.configs_to_rate(result))

    def grace(self, result: RaceResult) -> timedelta | None:
        """Return how long a result must stand to count without a record; None if it needs one."""
        rules = (config.rule for config in self.configs_to_rate(result))
        return max((rule.grace for rule in rules if rule.finished), default=None)


class Boards:
    """The leaderboards of a ledger on which results count, by the rules of the settings."""

    def __init__(self, ledger: Ledger, given: RatingRules) -> None:
        self.ledger, self.given, self.rules = ledger, given, given
        self.refresh()

    def refresh(self) -> None:
        """Give the rules the current names of goals, and the rooms of events."""
        rules = self.given.with_renamed(self.ledger.races.renamed_goals())
        self.rules = replace(rules, events=self.ledger.events.rooms())

    def configs_now(self, result: RaceResult) -> list[LeaderboardConfig]:
        """Return the configurations of the leaderboards on which a result counts now."""
        configs = self.rules.configs_to_rate(result)
        return [config for config in configs if result.recorded or config.rule.finished]

    def save_counting(
        self, result: RaceResult, past: Sequence[RaceResult] = (), known: Collection[Leaderboard] = ()
    ) -> list[Leaderboard]:
        """Return the leaderboards on which a result counts now, storing those missing here and in `known`."""
        stored, configs = {(each.category, each.name): each for each in known}, self.configs_now(result)
        keys = ((config, (result.category, config.name)) for config in configs)
        boards = (stored.get(key) or self.stored_or_new(config, result, past) for config, key in keys)
        return [self.ledger.leaderboards.save(board) if board.id is None else board for board in boards]

    def stored_or_new(
        self, config: LeaderboardConfig, result: RaceResult, past: Sequence[RaceResult] = ()
    ) -> Leaderboard:
        """Return a configuration's stored leaderboard, or a new one that is not stored yet."""
        stored = self.ledger.leaderboards.get(result.category, config.name)
        return stored or self.new_leaderboard(config, result.category, result.goal, past)

    def new_leaderboard(
        self, config: LeaderboardConfig, category: str, goal: str, past: Iterable[RaceResult]
    ) -> Leaderboard:
        """Return a leaderboard that is not stored yet. A new season keeps the parameters of its source."""
        source = None if config.carry is None else self.ledger.leaderboards.get(category, config.carry.source)
        return config.begun(category, goal, None if source is None else self.settings_of(source), past)

    def settings_of(self, board: Leaderboard) -> Leaderboard:
        """Return a stored leaderboard with the settings that it has once its rebuild is done."""
        rebuild = self.ledger.rebuilds.of(board)
        return board if rebuild is None else rebuild.board

    def keeps_boards(self, result: RaceResult, stored: StoredRace) -> bool:
        """Return whether a stored race still counts on the leaderboards that rated it, and on no other."""
        before, now = ({c.name for c in self.configs_now(each)} for each in (stored.result, result))

        def keeps(board: Leaderboard) -> bool:
            rebuild = self.ledger.rebuilds.of(board)
            if rebuild is not None and rebuild.start <= stored.position:  # it may have read the race before
                return (board.name in before) == (board.name in now)
            return (board.name in now) == self.ledger.ratings.has(board, result.name)

        boards = self.ledger.leaderboards.all()
        return all(keeps(board) for board in boards if board.category == result.category)

    def holding(self, race: str) -> list[Leaderboard]:
        """Return the stored leaderboards that a race counts on, or that a rebuild may be rating it on.

        Includes leaderboards that are no longer in the settings.
        """
        category, goal = race.partition("/")[0], self.ledger.races.goal_of(race)

        def holds(board: Leaderboard) -> bool:
            may_count = is_event(race) or goal in board.goals or not board.rule.by_goals_alone
            counts = board.category == category and may_count
            waits = counts and self.ledger.rebuilds.of(board) is not None
            return waits or self.ledger.ratings.has(board, race)

        return list(filter(holds, self.ledger.leaderboards.all()))

    def next_moment(self, boards: Sequence[Leaderboard], ended_at: datetime) -> datetime:
        """Return a time after all races of these leaderboards, so that a race counts when it is recorded."""
        last = filter(None, map(self.ledger.races.last_position, boards))
        return max([ended_at, *(position.counted_at + TICK for position in last)])


def rating_rules(settings: Settings) -> RatingRules:
    """Return which races count on which leaderboard, and how each is rated."""
    is_set = "model" in settings.model_fields_set
    goals = {
        each.slug: frozenset(goal for goal in each.goals if each.goals != [NO_GOAL])
        for each in settings.all_categories()
        if each.goals
    }
    named = tuple(
        LeaderboardConfig(
            *settings.rating_of(board),
            name=board.name,
            category=board.category,
            goals=tuple(board.goals),
            rule=board.rule(),
            carry=board.carry_over,
            model_is_set=is_set or board.model is not None,
        )
        for board in settings.leaderboards
    )
    default = LeaderboardConfig(settings.model, settings.parameters, settings.team_races, model_is_set=is_set)
    return RatingRules(default, named, goals)


def planned_boards(settings: Settings) -> list[Leaderboard]:
    """Return the leaderboards that the settings name for each category. They may have no race yet."""
    rules, slugs = rating_rules(settings), settings.slugs()
    named = [(slug, config) for slug in slugs for config in rules.named_in(slug)]
    return [config.leaderboard(slug, next(iter(config.goals), "")) for slug, config in named]


def unknown_sources(
    rules: RatingRules, boards: Collection[Leaderboard], goals: Collection[str] = ()
) -> list[str]:
    """Name sources that are neither in the settings nor stored: a misspelt name, or a season not rated yet.

    Args:
        boards: all stored leaderboards.
        goals: the goals that the categories have now; their leaderboards may have no races yet.
    """
    found = []
    for config in rules.named:
        own = config.category
        known = {board.name for board in boards if own in {"", board.category}} | set(goals)
        others = (each for each in rules.named if each is not config)
        known |= {each.name for each in others if "" in {own, each.category} or each.category == own}
        if config.carry is not None and config.carry.source not in known:
            source = f"{config.carry.source!r}{did_you_mean(config.carry.source, known)}"
            problem = f"leaderboard {config.name!r}: carry_over: there is no leaderboard {source}"
            found.append(f"{problem}: correct the name, or import that season first")
    return found
