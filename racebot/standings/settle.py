"""Rates race results and stores them: the one path that the worker, the backfill and the import share.

Each race is rated in one transaction: its result, the changes and the standings. Callers add the messages.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from racebot.errors import DamagedRaceError
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import START, Change, Leaderboard, Position, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.rater import current_rater
from racebot.standings.rebuild import update_ratings

log = logging.getLogger(__name__)

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class RatedRace:
    """A race's effect on one leaderboard. `note` says why no rating changed, if none did.

    Messages also show `moves`, new places by user id, below zero for one who fell.
    """

    leaderboard: Leaderboard
    result: RaceResult
    changes: tuple[Change, ...]
    note: str | None = None
    moves: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_team(self) -> bool:
        return self.leaderboard.teams == TeamPolicy.TEAM


@dataclass(frozen=True, slots=True)
class PastRacesReport:
    new: int = 0
    changed: int = 0
    known: int = 0
    skipped: int = 0
    waiting: int = 0
    leaderboards: tuple[Leaderboard, ...] = ()


class Settler:
    """Rates results and stores them. Nothing else writes ratings."""

    def __init__(self, ledger: Ledger, rules: RatingRules) -> None:
        self.ledger = ledger
        self._settings = rules
        self.rules = rules
        """The rules of the settings, with current names in place of earlier names of goals."""
        self.refresh_rules()

    @contextmanager
    def reading(self) -> Generator[Settler]:
        """Yield a settler with the same rules on its own connection, which only reads, for any thread."""
        with Ledger.open_to_read(self.ledger.path) as ledger, ledger.snapshot():
            yield Settler(ledger, self._settings)

    def preview(self, result: RaceResult, only: str | None = None) -> list[RatedRace]:
        """Return the changes that a result would cause if it were recorded now. Writes nothing.

        `only` names the one leaderboard that is wanted.
        """
        self.refresh_rules()
        result = self.ledger.people.amended(result)
        players = sorted(e.user_id for e in result.entrants if e.user_id is not None)
        found = []
        for config in self.rules.configs_to_rate(result):
            board = self._stored_or_new(config, result)
            if only not in {None, board.name}:
                continue
            moment = self._next_moment([] if board.id is None else [board], result.ended_at)
            rater = current_rater(self.ledger, board, players, moment, result.name)
            row = rater.rate(result, self.ledger.races.note(board, result.name))
            found.append(RatedRace(board, result, row.changes, row.note))
        return found

    def settle(self, result: RaceResult, now: datetime) -> bool:
        """Rate a result that counts now, in one transaction. Return whether anything changed.

        A result that is already stored changes nothing, and that of an event's room goes to the event. If a
        different result of the race is stored, or it counts on other leaderboards now, ratings are computed
        again from this race on, or by a rebuild if that takes long.
        """
        with self.ledger.transaction():
            self.refresh_rules()
            if result.recorded:
                self.ledger.cases.remove(result.name)
            if result.name in self.rules.events:
                self.ledger.events.update_room(self.ledger.people.amended(result))
                return False
            result, position, is_known = self._compared(result)
            if is_known:
                return False
            boards, is_changed = self._boards(result), position is not None
            if position is None:
                ended_at = min(result.ended_at, now)
                position = Position(self._next_moment(boards, ended_at), result.name)
            touched = {board.key for board in [*boards, *self.holding(result.name)]}
            before = self.ledger.races.state(result.name)
            corrected = now if before is not None and before[0] != result.fingerprint() else None
            self.ledger.races.save(result, counted_at=position.counted_at, source="live", now=corrected)
            since = dict.fromkeys(touched, position)
            update_ratings(self.ledger, since, is_new=not is_changed)
        if is_changed:
            log.warning("%s: the stored result changed; rated again from this race on", result.name)
        return True

    def rated(self, name: str) -> list[RatedRace]:
        """Return a stored race's effect on each leaderboard that rated it."""
        stored = self.ledger.races.get(name)
        if stored is None:
            return []
        rows = [(board, self.ledger.ratings.get(board, name)) for board in self._boards(stored.result)]
        return [RatedRace(board, stored.result, row.changes, row.note) for board, row in rows if row]

    def withdraw(self, name: str) -> None:
        """Delete a race that no longer counts, also on Discord, and rate the races after it again."""
        with self.ledger.transaction():
            self.ledger.posts.withdraw(name)
            position = self.ledger.races.position(name)
            if position is None:
                return
            boards = self.holding(name)
            self.ledger.races.remove(name)
            update_ratings(self.ledger, {board.key: position for board in boards}, f"without {name}")

    def add_past_races(
        self,
        results: Iterable[RaceResult],
        source: str,
        now: datetime | None = None,
        counted: Collection[str] = (),
    ) -> PastRacesReport:
        """Store past races in one transaction, each at its `ended_at`, and rate from the first new one on.

        Results that do not count, or not yet, are skipped. Nothing is announced.

        Args:
            source: where they come from: `backfill` or `import`.
            now: no race counts after this time; by default the current time.
            counted: names of races that counted before they were exported, and need not wait again.
        """
        latest = datetime.now(UTC) if now is None else now
        new = changed = known = 0
        since: dict[int, Position] = {}
        boards: dict[int, Leaderboard] = {}
        with self.ledger.transaction():
            self.refresh_rules()
            past = sorted(results, key=lambda r: (r.ended_at, r.name))
            if source == "import":  # a file may have a name that the goal had before
                taken = {*self.ledger.races.goals()}  # by a new goal, which has the earlier name of another
                past = [
                    r if (r.category, r.goal) in taken else replace(r, goal=self.rules.current_goal(r))
                    for r in past
                ]
            counts_at = {r.name: self._counts_at(r, has_stood=r.name in counted) for r in past}
            rated = [result for result in past if (at := counts_at[result.name]) and at <= latest]
            waiting = [result for result in past if (at := counts_at[result.name]) and at > latest]
            for result in waiting if source == "backfill" else ():
                self._wait_for(result, latest)
            for given in rated:
                result, position, is_known = self._compared(given)
                if is_known:
                    # The name may be new, and older ledgers lack the discriminators.
                    self.ledger.players.save(result, current=source != "import")
                    known += 1
                    continue
                touched = self._boards(result, rated)
                if position is None:
                    new += 1
                    position = Position(min(result.ended_at, latest), result.name)
                    if position.counted_at == latest:
                        latest += _TICK  # keeps the order of several dates in the future
                    for each in given.entrants if source == "import" else ():
                        if each.penalty and each.user_id and each in result.entrants:
                            facts = given.name, each.user_id, each.penalty_reason or ""
                            order = Order(latest, OrderKind.PENALTY, *facts, amount=each.penalty)
                            self.ledger.orders.add(order)
                else:
                    changed += 1
                    touched += self.holding(result.name)
                self.ledger.races.save(result, counted_at=position.counted_at, source=source)
                boards.update({board.key: board for board in touched})
                for board in touched:
                    since[board.key] = min(position, since.get(board.key, position))
            update_ratings(self.ledger, since, "past races were added")
        left = len(past) - len(rated) - len(waiting)
        return PastRacesReport(new, changed, known, left, len(waiting), tuple(boards.values()))

    def _wait_for(self, result: RaceResult, now: datetime) -> None:
        """Follow a race whose result has to stand first, as the bot does."""
        name, standing, since = result.name, result.fingerprint(), result.ended_at
        if self.ledger.cases.get(name) is None:
            case = CaseRow(name, result.category, since, now, standing=standing, stands_since=since)
            self.ledger.cases.save(case)

    def rebuild(self, board: Leaderboard) -> int:
        """Rate all races of a leaderboard again, at once or by a rebuild. Return the number of rated races.

        Raises the errors of `update_ratings`.
        """
        with self.ledger.transaction():
            update_ratings(self.ledger, {board.key: START}, "asked for by `racebot rebuild`")
            return self.ledger.ratings.count(board)

    def refresh_rules(self) -> None:
        """Give the rules the current names of goals, and the rooms of events."""
        rules = self._settings.with_renamed(self.ledger.races.renamed_goals())
        self.rules = replace(rules, events=self.ledger.events.rooms())

    def current(self, board: Leaderboard) -> Leaderboard:
        """Return a leaderboard as it is stored now: a rebuild may have changed its settings."""
        return self.ledger.leaderboards.get(board.category, board.name) or board

    def _compared(self, given: RaceResult) -> tuple[RaceResult, Position | None, bool]:
        """Return a result in the form to store, the race's position, and whether it is stored already."""
        people, position = self.ledger.people, self.ledger.races.position(given.name)
        result = people.amended(given)
        if position is None:
            return result, None, False
        try:
            stored = self.ledger.races.get(given.name)
        except DamagedRaceError:
            stored = None
        if stored is None or not stored.intact:
            log.warning("%s: the stored result is damaged; replacing it", given.name)
            return result, position, False
        result = people.amended(result.with_accounts_of(stored.result).with_room_of(stored.result))
        if result.fingerprint() != stored.result.fingerprint():
            return result, position, False
        if result.room_facts == stored.result.room_facts:
            return result, position, True
        if self._keeps_boards(result, stored):
            self.ledger.races.save(result, counted_at=stored.counted_at, source=stored.source)
            return result, position, True
        return result, position, False

    def _keeps_boards(self, result: RaceResult, stored: StoredRace) -> bool:
        """Return whether a stored race still counts on the leaderboards that rated it, and on no other."""
        before, now = ({c.name for c in self._configs_now(each)} for each in (stored.result, result))

        def keeps(board: Leaderboard) -> bool:
            rebuild = self.ledger.rebuilds.of(board)
            if rebuild is not None and rebuild.start <= stored.position:  # it may have read the race before
                return (board.name in before) == (board.name in now)
            return (board.name in now) == self.ledger.ratings.has(board, result.name)

        boards = [b for b in self.ledger.leaderboards.all() if b.category == result.category]
        return all(map(keeps, boards))

    def _counts_at(self, result: RaceResult, *, has_stood: bool = False) -> datetime | None:
        """Return from when on a past result counts: at once, or after its grace if it has to stand."""
        at_once = datetime.min.replace(tzinfo=UTC)
        if result.recorded:
            return at_once if self.rules.counts(result) else None
        grace = self.rules.grace(result) if result.final else None
        return None if grace is None else at_once if has_stood else result.ended_at + grace

    def _configs_now(self, result: RaceResult) -> list[LeaderboardConfig]:
        """Return the configurations of the leaderboards on which a result counts now."""
        configs = self.rules.configs_to_rate(result)
        return [config for config in configs if result.recorded or config.rule.finished]

    def _boards(self, result: RaceResult, past: Sequence[RaceResult] = ()) -> list[Leaderboard]:
        """Return the leaderboards on which a result counts now, storing missing ones."""
        configs = self._configs_now(result)
        boards = (self._stored_or_new(config, result, past) for config in configs)
        return [self.ledger.leaderboards.save(board) if board.id is None else board for board in boards]

    def _stored_or_new(
        self, config: LeaderboardConfig, result: RaceResult, past: Sequence[RaceResult] = ()
    ) -> Leaderboard:
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

    def holding(self, race: str) -> list[Leaderboard]:
        """Return the stored leaderboards that a race counts on, or that a rebuild may be rating it on.

        Includes leaderboards that are no longer in the settings.
        """
        category, goal = race.partition("/")[0], self.ledger.races.goal_of(race)

        def holds(board: Leaderboard) -> bool:
            may_count = goal in board.goals or not board.rule.by_goals_alone
            counts = board.category == category and may_count
            waits = counts and self.ledger.rebuilds.of(board) is not None
            return waits or self.ledger.ratings.has(board, race)

        return list(filter(holds, self.ledger.leaderboards.all()))

    def _next_moment(self, boards: Sequence[Leaderboard], ended_at: datetime) -> datetime:
        """Return a time after all races of these leaderboards, so that a race counts when it is recorded."""
        last = filter(None, map(self.ledger.races.last_position, boards))
        return max([ended_at, *(position.counted_at + _TICK for position in last)])
