"""What the site shows, what people ordered and what is set: from these, the races that count.

The simplest way to say it, without the code under test: nothing is stored, updated or rated here. `counted`
walks through everything that the ledger was told.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from builders import CATEGORY

from racebot.races.result import NO_NAME, Entrant, RaceResult

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
LEAGUE, JOINED, WEEK, TAG = "League", "All categories", "League week", "league race"
PEOPLE = ("Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ivy", "Jo", "Kim", "Lu")
MODELS: dict[str, list[dict[str, float]]] = {
    "thurstone-hurdle": [{"newcomer_spread": 1.65, "level": 0.8}, {"newcomer_spread": 1.4, "level": 0.5}],
    "plackett-luce": [{"dummy": 1.35}, {"dummy": 1.5}],
}


def account(name: str) -> str:
    """Return a site id of sixteen letters and digits."""
    return f"{name:0<16}"


def name_of(player: str) -> str:
    return player.rstrip("0")


@dataclass(frozen=True)
class Season:
    """A named leaderboard for one goal, which carries over from another leaderboard."""

    name: str
    goal: str
    source: str


@dataclass(frozen=True)
class Plan:
    """The settings. Goals have the names that they had when the settings were written."""

    model: str = "thurstone-hurdle"
    variant: int = 0
    joined: tuple[str, ...] = ()
    league: bool = True
    seasons: tuple[Season, ...] = ()

    def boards(self) -> Iterator[dict[str, Any]]:
        """Yield the tables of `racebot.toml`."""
        scored = {"scoring": {"mean_over": "races"}, "cut": 3}
        if self.joined:
            yield {"name": JOINED, "goals": list(self.joined), **scored}
        if self.league:
            rules = {"custom_goals": [WEEK], "goals": list(self.joined), "info": [TAG]}
            yield {"name": LEAGUE, "counts": "finished", "grace": "0 s", **rules, **scored}
        for each in self.seasons:
            carry = {"from": each.source, "factor": 0.8}
            yield {"name": each.name, "goals": [each.goal], "carry_over": carry, **scored}

    @property
    def parameters(self) -> dict[str, float]:
        return MODELS[self.model][self.variant]


@dataclass
class Known:
    """A race as the ledger was told of it last, with the time at which it counts. `goal` is its key."""

    result: RaceResult
    goal: int | None
    counted_at: datetime


@dataclass
class Source:
    """A room or a sheet of an event."""

    result: RaceResult
    goal: int | None


@dataclass
class Event:
    """An event. `decisions` are annulled and restored results: the player, and whether it is annulled."""

    name: str
    board: str
    goal: int
    until: datetime
    sources: dict[str, Source] = field(default_factory=dict)
    decisions: list[tuple[str, bool]] = field(default_factory=list)
    ended_at: datetime = START
    counted_at: datetime | None = None
    """When the event's race counts; None while the event is open."""


@dataclass
class Truth:
    """Everything that the ratings follow from. `goals` has the current name of each goal by its key."""

    goals: list[str] = field(default_factory=lambda: ["Any Orb", "All Orbs", "Season 1", "Season 2"])
    plan: Plan = field(default_factory=Plan)
    earlier: dict[str, str] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    penalties: dict[tuple[str, str], int] = field(default_factory=dict)
    """Microseconds that were added, or 0, by race and player as they were ordered, the last order last."""

    # People

    def kept(self, player: str) -> str:
        """Return the account that a player's results belong to."""
        while player in self.merged:
            player = self.merged[player]
        return player

    def merge(self, old: str, kept: str) -> None:
        self.merged[old] = kept
        if old in self.hidden:
            self.hidden.add(kept)

    def as_one(self, entrants: Iterable[Entrant]) -> tuple[Entrant, ...]:
        """Give merged accounts' results to the kept one, unless several accounts of it raced each other."""
        shown = list(entrants)
        accounts = {e.user_id for e in shown if e.user_id}
        owners = [self.kept(each) for each in accounts]
        found = []
        for e in shown:
            player = e.user_id or ""
            if player and owners.count(self.kept(player)) == 1:
                player = self.kept(player)
            name = NO_NAME if player in self.forgotten else name_of(player)
            found.append(replace(e, user_id=player or None, name=name))
        return tuple(found)

    # Rooms and events

    def penalized(self, race: str, entrants: Iterable[Entrant]) -> tuple[Entrant, ...]:
        """Add to times as the site shows them, or as another race has them, what was ordered for a race."""
        shown = list(entrants)
        ids = {e.user_id for e in shown}
        for (about, player), amount in self.penalties.items():
            owner = player if player in ids else self.kept(player)
            for index, e in enumerate(shown):
                if about == race and e.user_id == owner and e.finished and e.finish_time:
                    site_time = e.finish_time - (e.penalty or 0)
                    reason = "" if owner in self.forgotten else "warped"
                    own = (amount, reason) if amount else (None, None)
                    shown[index] = replace(
                        e, finish_time=site_time + amount, penalty=own[0], penalty_reason=own[1]
                    )
        return tuple(shown)

    def tell(self, result: RaceResult, goal: int | None, counted_at: datetime) -> None:
        """Note a result that the ledger was given. One that it knows keeps its place in the order."""
        before = self.known.get(result.name)
        self.known[result.name] = Known(result, goal, before.counted_at if before else counted_at)

    def event_of(self, room: str) -> Event | None:
        return next((event for event in self.events.values() if room in event.sources), None)

    def race_of(self, event: Event) -> RaceResult:
        """Return the race of an event: each racer's first result that is neither late nor annulled."""
        annulled = {}
        for player, is_annulled in event.decisions:
            annulled[self.kept(player)] = is_annulled
        entrants: dict[str, Entrant] = {}
        seen = set()
        for source in sorted(event.sources.values(), key=lambda s: (s.result.ended_at, s.result.name)):
            started_at = source.result.started_at
            if started_at is not None and started_at > event.until:
                continue
            for entrant in self.penalized(source.result.name, self.as_one(source.result.entrants)):
                player = entrant.user_id or ""
                if player not in seen and not annulled.get(player):
                    entrants[player] = entrant
                seen.add(player)
        goal = self.goals[event.goal]
        given = self.as_one(self.penalized(event.name, entrants.values()))
        return RaceResult(event.name, CATEGORY, goal, event.ended_at, given, recorded=True)

    # What counts

    def goal_boards(self, goal: int) -> list[str]:
        """Return the leaderboards of a goal by its name alone."""
        named = [JOINED] if self._has(self.plan.joined, goal) else []
        named += [each.name for each in self.plan.seasons if self._has([each.goal], goal)]
        return named or [self.goals[goal]]

    def boards_of(self, race: RaceResult, goal: int | None) -> list[str]:
        """Return the leaderboards on which a race of the site counts, whatever was ordered."""
        found = self.goal_boards(goal) if goal is not None and race.recorded else []
        of_league = goal is None or self._has(self.plan.joined, goal)
        if self.plan.league and of_league and race.info == TAG:
            found.append(LEAGUE)
        return found

    def left_out(self, name: str, board: str) -> bool:
        """Return whether orders leave a race out. Only a league that needs no record has races skipped."""
        return name in self.excluded or (board == LEAGUE and name in self.skipped)

    def counted(self, *, all_stored: bool = False) -> dict[str, list[tuple[RaceResult, datetime]]]:
        """Return the races of each leaderboard that has any, in the order in which they count.

        With `all_stored`, those that orders leave out, too.
        """
        found: dict[str, list[tuple[RaceResult, datetime]]] = {}
        for known in self.known.values():
            goal = known.result.goal if known.goal is None else self.goals[known.goal]
            entrants = self.penalized(known.result.name, self.as_one(known.result.entrants))
            race = replace(known.result, goal=goal, entrants=entrants)
            for board in self.boards_of(race, known.goal):
                found.setdefault(board, []).append((race, known.counted_at))
        named = {table["name"] for table in self.plan.boards()}
        for event in self.events.values():
            if event.counted_at is not None and event.board in {*found, *named}:
                found.setdefault(event.board, []).append((self.race_of(event), event.counted_at))
        for board, races in found.items():
            races.sort(key=lambda each: (each[1], each[0].name))
            if not all_stored:
                found[board] = [each for each in races if not self.left_out(each[0].name, board)]
        return found

    def next_moment(self, boards: Iterable[str], ended_at: datetime) -> datetime:
        """Return when a race counts that the ledger sees now: after all that it saw before."""
        stored = self.counted(all_stored=True)
        last = [stored[board][-1][1] + TICK for board in boards if board in stored]
        return max([ended_at, *last])

    def source_of(self, season: Season) -> str:
        """Return the current name of the leaderboard that a season carries over from."""
        own = {JOINED, LEAGUE, *(each.name for each in self.plan.seasons)}
        return season.source if season.source in own else self.current(season.source)

    def current(self, goal: str) -> str:
        """Return the current name of a goal, given one that it had."""
        return self.earlier.get(goal, goal)

    def rename(self, goal: int, name: str) -> None:
        before = self.goals[goal]
        self.earlier = {old: name if now == before else now for old, now in self.earlier.items()}
        self.earlier[before] = name
        self.goals[goal] = name
        for event in self.events.values():
            event.board = name if event.board == before else event.board

    def reuse(self, name: str) -> None:
        """A new goal gets the earlier name of another one, also in the settings."""
        del self.earlier[name]
        self.goals.append(name)

    def _has(self, goals: Iterable[str], goal: int) -> bool:
        return self.goals[goal] in map(self.current, goals)
