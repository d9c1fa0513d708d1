"""Rates race results and stores them: the one path that the worker, the backfill and the import share.

Each race is rated in one transaction: its result, the changes and the standings. Callers add the messages.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from racebot.errors import DamagedRaceError
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import START, Change, Leaderboard, Position
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import HIDDEN_ID, HIDDEN_NAME, RaceResult
from racebot.standings.counting import TICK, Boards, RatingRules
from racebot.standings.rater import current_rater
from racebot.standings.rebuild import update_ratings

log = logging.getLogger(__name__)


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
        self.boards = Boards(ledger, rules)

    @property
    def rules(self) -> RatingRules:
        return self.boards.rules

    @contextmanager
    def reading(self) -> Generator[Settler]:
        """Yield a settler with the same rules on its own connection, which only reads, for any thread."""
        with Ledger.open_to_read(self.ledger.path) as ledger, ledger.snapshot():
            yield Settler(ledger, self.boards.given)

    def preview(self, result: RaceResult, only: str | None = None) -> list[RatedRace]:
        """Return the changes on all leaderboards, or `only` one, if it were recorded now. Writes nothing."""
        self.boards.refresh()
        result = self.ledger.people.amended(result)
        players = sorted(e.user_id for e in result.entrants if e.user_id is not None)
        found = []
        for config in self.rules.configs_to_rate(result):
            board = self.boards.stored_or_new(config, result)
            if only not in {None, board.name}:
                continue
            moment = self.boards.next_moment([] if board.id is None else [board], result.ended_at)
            rater = current_rater(self.ledger, board, players, moment, result.name)
            row = rater.rate_next(result, self.ledger.races.note(board, result.name))
            found.append(RatedRace(board, result, row.changes, row.note))
        return sorted(found, key=lambda each: each.leaderboard.name)

    def settle(self, result: RaceResult, now: datetime) -> bool:
        """Rate a result that counts now, in one transaction. Return whether anything changed.

        A result that is already stored changes nothing, and that of an event's room goes to the event. If a
        different result of the race is stored, or it counts on other leaderboards now, ratings are computed
        again from this race on, or by a rebuild if that takes long.
        """
        with self.ledger.transaction():
            self.boards.refresh()
            if result.recorded:
                self.ledger.cases.remove(result.name)
            if result.name not in self.rules.events:
                return self._settle(result, now)
            self.ledger.events.update_room(result.name, result)
            return False

    def rated(self, name: str, unsettled: RaceResult | None = None) -> list[RatedRace]:
        """Return a stored race's effect on each leaderboard that rated it, or that of an unsettled result."""
        stored = self.ledger.races.get(name)
        if stored is None:
            return [] if unsettled is None else self.preview(unsettled)
        rows = self.ledger.ratings.of_race(name)
        return [RatedRace(board, stored.result, row.changes, row.note) for board, row in rows]

    def has(self, result: RaceResult) -> bool:
        """Return whether a result is stored, with the orders about it applied. Stores what its room shows."""
        return self._compared(result)[2]

    def withdraw(self, name: str) -> None:
        """Delete a race that no longer counts, also on Discord, and rate the races after it again."""
        with self.ledger.transaction():
            self.ledger.posts.withdraw(name)
            position = self.ledger.races.position(name)
            if position is None:
                return
            boards = self.boards.holding(name)
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
            self.boards.refresh()
            past = sorted(results, key=lambda r: (r.ended_at, r.name))
            if source == "import":
                past = [replace(each, goal=self.rules.current_goal(each)) for each in past]
            rated, waiting = self._counting(past, counted, latest)
            if source == "backfill":
                self._follow(waiting, latest)
            for given in rated:
                result, position, is_known = self._compared(given)
                if is_known:
                    # The name may be new, and older ledgers lack the discriminators.
                    self.ledger.players.save(result, current=source != "import")
                    known += 1
                    continue
                touched = self.boards.save_counting(result, rated, boards.values())
                if position is None:
                    new += 1
                    position = Position(min(result.ended_at, latest), result.name)
                    if position.counted_at == latest:
                        latest += TICK  # keeps the order of several dates in the future
                    if source == "import":
                        self._repeat_orders(given, result, latest)
                else:
                    changed += 1
                    touched += self.boards.holding(result.name)
                self.ledger.races.save(result, counted_at=position.counted_at, source=source)
                boards.update({board.key: board for board in touched})
                for board in touched:
                    since[board.key] = min(position, since.get(board.key, position))
            update_ratings(self.ledger, since, "past races were added")
        return PastRacesReport(
            new=new,
            changed=changed,
            known=known,
            skipped=len(past) - len(rated) - len(waiting),
            waiting=len(waiting),
            leaderboards=tuple(boards.values()),
        )

    def _counting(
        self, past: Sequence[RaceResult], counted: Iterable[str], latest: datetime
    ) -> tuple[list[RaceResult], list[RaceResult]]:
        """Return past races that count by now, and those that will if they stand: no order skips them."""
        stood = {*counted, *filter(self.ledger.races.has, (r.name for r in past))}
        skipped = self.ledger.orders.under(OrderKind.SKIP)
        rated, waiting = list[RaceResult](), list[RaceResult]()
        for result in past:
            at = self._counts_at(result, has_stood=result.name in stood)
            if at is not None and at <= latest:
                rated.append(result)
            elif at is not None and result.name not in skipped:
                waiting.append(result)
        return rated, waiting

    def _follow(self, waiting: Iterable[RaceResult], now: datetime) -> None:
        """Add cases for races that have to stand, as the bot does, so that it goes on with them."""
        for result in waiting:
            if self.ledger.cases.get(result.name) is None:
                category, at, standing = result.category, result.ended_at, result.fingerprint()
                case = CaseRow(result.name, category, at, now, standing=standing, stands_since=at)
                self.ledger.cases.save(case)

    def _repeat_orders(self, given: RaceResult, result: RaceResult, now: datetime) -> None:
        """Give the orders of which a race in a file shows the effect: hidden players, and penalties."""
        for each in given.entrants:
            alias = (each.user_id or "") if each.name == HIDDEN_NAME else ""
            if alias.startswith(HIDDEN_ID) and not self.ledger.people.is_hidden(alias):
                self.ledger.orders.add(Order(now, OrderKind.HIDE, alias, None, "imported"))
            if each.penalty and each.user_id and each in result.entrants:
                kind, why = OrderKind.PENALTY, each.penalty_reason or ""
                order = Order(now, kind, given.name, each.user_id, why, amount=each.penalty)
                self.ledger.orders.add(order)

    def rebuild(self, board: Leaderboard) -> None:
        """Rate all races of a leaderboard again, at once or by a rebuild. Raise as `update_ratings` does."""
        update_ratings(self.ledger, {board.key: START}, "asked for by `racebot rebuild`")

    def current(self, board: Leaderboard) -> Leaderboard:
        """Return a leaderboard as it is stored now: a rebuild may have changed its settings."""
        return self.ledger.leaderboards.get(board.category, board.name) or board

    def _settle(self, given: RaceResult, now: datetime) -> bool:
        result, position, is_known = self._compared(given)
        if is_known:
            return False
        boards, is_new = self.boards.save_counting(result), position is None
        if position is None:
            position = Position(self.boards.next_moment(boards, min(result.ended_at, now)), result.name)
        touched = {board.key for board in [*boards, *self.boards.holding(result.name)]}
        self.ledger.races.save(result, counted_at=position.counted_at, source="live", now=now)
        since = dict.fromkeys(touched, position)
        update_ratings(self.ledger, since, is_new=is_new)
        return True

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
        is_known = result.room_facts == stored.result.room_facts
        if not is_known and self.boards.keeps_boards(result, stored):
            self.ledger.races.save(result, counted_at=stored.counted_at, source=stored.source)
            is_known = True
        return result, position, is_known

    def _counts_at(self, result: RaceResult, *, has_stood: bool = False) -> datetime | None:
        """Return from when on a past result counts: at once, or after its grace if it has to stand."""
        at_once = datetime.min.replace(tzinfo=UTC)
        if result.recorded:
            return at_once if self.rules.counts(result) else None
        grace = self.rules.grace(result) if result.final else None
        return None if grace is None else at_once if has_stood else result.ended_at + grace
