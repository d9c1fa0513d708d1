"""From a race result to the ledger: the one path that the worker, the backfill and the import share.

A result becomes an outcome, the leaderboard's model rates it, and the ledger keeps the changes, all in
one transaction with the messages that tell of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from racebot.errors import ModelError
from racebot.ledger.queue import Message
from racebot.ledger.rows import Leaderboard, RatedRow, Standing, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.change import Change, State
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.standings.plan import LeaderboardPlan, Plans, proposals
from racebot.standings.rater import Tally

log = logging.getLogger(__name__)


_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Rated:
    """What a race does on one leaderboard. `note` says why nothing changed, if nothing did."""

    leaderboard: Leaderboard
    result: RaceResult
    changes: tuple[Change, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What a merge of past races did."""

    new: int = 0
    changed: int = 0
    known: int = 0
    skipped: int = 0
    leaderboards: tuple[Leaderboard, ...] = ()


class Settler:
    """Rates results and keeps the ledger; all writing of ratings goes through here."""

    def __init__(self, ledger: Ledger, plans: Plans) -> None:
        self.ledger = ledger
        self.plans = plans

    def preview(self, result: RaceResult) -> list[Rated]:
        """What a result would do if it were recorded now. Writes nothing."""
        result = self.ledger.orders.amended(result)
        rated = []
        for plan in self.plans.plans_for(result.category, result.goal):
            board = self.ledger.leaderboard(result.category, plan.name) or self._new(
                plan, result.category, result.goal
            )
            rated.append(self._rate_on(board, result))
        return rated

    def states(self, board: Leaderboard, players: Sequence[str]) -> list[tuple[State, bool]]:
        """Each player's state on a leaderboard as a next race would find it, and whether a race gave it."""
        tally = self._loaded(board, players)
        return [tally.state(player) for player in players]

    def settle(
        self,
        result: RaceResult,
        messages: Callable[[list[Rated]], Iterable[Message]],
        now: datetime,
    ) -> list[Rated] | None:
        """Rate a recorded result and queue what is to be said of it, in one transaction.

        A result that the ledger already holds is left alone. One that differs from what it holds, as the
        site's administrators can cause, has its leaderboards rebuilt.

        Args:
            result: a recorded result.
            messages: called inside the transaction with what was rated; makes the outbox messages.
            now: for the outbox rows.

        Returns:
            What was rated, or None where there was nothing to do.
        """
        with self.ledger.transaction():
            stored = self.ledger.race(result.name)
            result = self._known(result, stored)
            if stored is not None:
                if stored.fingerprint == result.fingerprint():
                    self.ledger.pending.remove(result.name)  # a backfill may have been first
                    return None
                log.warning("%s: the recorded result changed; rebuilding its leaderboards", result.name)
            boards = self._boards(result)
            self.ledger.save_race(result, counted_at=self._next_moment(boards, result), source="live")
            if stored is None:
                rated = [self._append(board, result) for board in boards]
            else:
                for board in {b.key: b for b in [*self.holding(result.name), *boards]}.values():
                    self.rebuild(board)
                rated = [self._stored(board, result) for board in boards]
            for message in messages(rated):
                self.ledger.outbox.put(message, now)
            self.ledger.pending.remove(result.name)
        return rated

    def withdraw(self, name: str) -> None:
        """Forget a race that the ledger holds but the site no longer counts, and rebuild without it."""
        with self.ledger.transaction():
            stored = self.ledger.race(name)
            if stored is None:
                return
            log.warning("%s: no longer recorded; rebuilding its leaderboards without it", name)
            boards = self.holding(name)
            self.ledger.remove_race(name)
            for board in boards:
                self.rebuild(board)

    def merge(self, results: Iterable[RaceResult], source: str) -> MergeReport:
        """Take past races into the ledger in one transaction, each at its `ended_at`.

        Leaderboards are continued where all new races come after those they hold, and rebuilt otherwise.
        Results that are not recorded or do not count are skipped. Nothing is said in any room.
        """
        new = changed = known = skipped = 0
        fresh: dict[int, list[RaceResult]] = {}
        rebuild: set[int] = set()
        boards: dict[int, Leaderboard] = {}
        with self.ledger.transaction():
            for given in sorted(results, key=lambda r: (r.ended_at, r.name)):
                if not given.recorded or not self.plans.counts(given):
                    skipped += 1
                    continue
                stored = self.ledger.race(given.name)
                result = self._known(given, stored)
                if stored is not None and stored.fingerprint == result.fingerprint():
                    self.ledger.players.see(result)  # older ledgers lack the discriminators
                    known += 1
                    continue
                touched = self._boards(result)
                if stored is not None:
                    touched += self.holding(result.name)
                boards.update({board.key: board for board in touched})
                self.ledger.save_race(result, counted_at=result.ended_at, source=source)
                if stored is None:
                    new += 1
                    for board in touched:
                        fresh.setdefault(board.key, []).append(result)
                else:
                    changed += 1
                    rebuild.update(board.key for board in touched)
            for key, board in boards.items():
                last = self.ledger.last_counted(board)
                if key in rebuild or (last is not None and fresh[key][0].ended_at <= last):
                    self.rebuild(board)
                else:
                    self._extend(board, fresh[key])
        return MergeReport(new, changed, known, skipped, tuple(boards.values()))

    def apply_plans(self) -> list[Leaderboard]:
        """Bring stored leaderboards in line with the settings.

        Leaderboards whose settings changed are rebuilt, new ones start with the races that are already
        stored, and those whose goals now count elsewhere are dropped. Where the settings leave the model or
        a parameter open, a leaderboard keeps what it has, even if racebot's defaults have changed since.

        Returns:
            The leaderboards that were rated again.
        """
        rebuilt = []
        with self.ledger.transaction():
            for board in self.ledger.leaderboards():
                plan = self.plans.plan_of(board)
                if plan is None:
                    # If no plan covers its goals, they are no longer rated, and past ratings stay.
                    if any(self.plans.plans_for(board.category, goal) for goal in board.goals):
                        log.warning("leaderboard %s: no longer in the settings; dropped", board.name)
                        self.ledger.remove_leaderboard(board)
                    continue
                planned = plan.kept(board.category, board.goals[0], board)
                if replace(planned, id=board.id) != board:
                    log.warning(
                        "leaderboard %s: settings changed (%s); rebuilding", board.name, planned.model
                    )
                    rebuilt.append(self.ledger.save_leaderboard(planned))
                    self.rebuild(rebuilt[-1])
            for proposal in proposals(self.plans, self.ledger.leaderboards()):
                log.info(
                    "leaderboard %s: racebot has newer defaults; `racebot refit` shows their effect",
                    proposal.stored.name,
                )
            missing = [(p, *goal) for goal in self.ledger.goals() for p in self.plans.plans_for(*goal)]
            # Those that carry over come last: what they carry over from must be there.
            for plan, category, goal in sorted(missing, key=lambda each: each[0].carry is not None):
                if self.ledger.leaderboard(category, plan.name) is None:
                    log.info("leaderboard %s: new, begun with the stored races", plan.name)
                    rebuilt.append(self.ledger.save_leaderboard(self._new(plan, category, goal)))
                    self.rebuild(rebuilt[-1])
        return rebuilt

    def rebuild(self, board: Leaderboard) -> int:
        """Rate a leaderboard's races anew from the stored results; returns how many there are.

        Raises:
            ModelError: it carries over from a leaderboard of another model, or its model cannot carry over.
        """
        with self.ledger.transaction():
            self.ledger.replace_carried(board, self._brought(board))
            tally = self._tally(board)
            rows = (tally.add(stored.result) for stored in self.ledger.races_of(board))
            self.ledger.replace(board, rows, tally.standings())
        return self.ledger.rated_count(board)

    def replayed(self, board: Leaderboard) -> list[Standing]:
        """Rate a leaderboard's stored races with its model and parameters, storing nothing."""
        tally = Tally(board, self._brought(board), why_excluded=self.ledger.orders.why_excluded)
        for stored in self.ledger.races_of(board):
            tally.add(stored.result)
        return list(tally.standings())

    def verify(self, board: Leaderboard) -> list[str]:
        """Replay a leaderboard's stored results and compare with what is stored, to the last bit.

        Returns:
            One line for each difference; empty if the ledger is right.
        """
        problems = []
        tally = self._tally(board)
        rows = self.ledger.rated_rows(board)
        waiting: dict[str, RatedRow] = {}  # in a ledger that is right, one row at a time
        for stored in self.ledger.races_of(board):
            name = stored.result.name
            if stored.result.fingerprint() != stored.fingerprint:
                problems.append(f"race {name}: the stored result does not match its fingerprint")
            row = tally.add(stored.result)
            while name not in waiting and (rated := next(rows, None)) is not None:
                waiting[rated.race] = rated
            kept = waiting.pop(name, None)
            if kept is None:
                problems.append(f"race {name}: stored, but not rated")
            elif not _agrees(kept, row):
                problems.append(f"race {name}: the stored changes differ from a replay")
        left = [*waiting, *(row.race for row in rows)]
        problems += [f"race {name}: rated, but its result is not stored" for name in left]
        replayed = {s.player: s for s in tally.standings()}
        for standing in self.ledger.standings(board):
            expected = replayed.pop(standing.player, None)
            if expected is None:
                problems.append(f"player {standing.name}: has a standing that no race explains")
            elif replace(expected, name=standing.name, hidden=standing.hidden) != standing:
                problems.append(f"player {standing.name}: the standing differs from a replay")
        problems += [f"player {player}: has no standing, though races gave one" for player in replayed]
        return problems

    def rate_again(self, boards: Iterable[Leaderboard]) -> list[Leaderboard]:
        """Rebuild leaderboards, those that carry over last; returns them."""
        rated = sorted(boards, key=lambda board: board.carry is not None)
        for board in rated:
            self.rebuild(board)
        return rated

    def holding(self, race: str) -> list[Leaderboard]:
        """The stored leaderboards that a race counts on, whether or not the settings still name them."""
        return [b for b in self.ledger.leaderboards() if self.ledger.rated_race(b, race) is not None]

    # Inside

    def _known(self, result: RaceResult, stored: StoredRace | None) -> RaceResult:
        """A result with the accounts that the ledger knows, as the operator's orders have it."""
        amended = self.ledger.orders.amended(result)
        if stored is None:
            return amended
        return self.ledger.orders.amended(amended.with_accounts_of(stored.result))

    def _boards(self, result: RaceResult) -> list[Leaderboard]:
        """The stored leaderboards of a result's goal, made where they are missing."""
        return [
            self.ledger.leaderboard(result.category, plan.name)
            or self._begin(self._new(plan, result.category, result.goal))
            for plan in self.plans.plans_for(result.category, result.goal)
        ]

    def _new(self, plan: LeaderboardPlan, category: str, goal: str) -> Leaderboard:
        """A leaderboard that is not stored yet. A new season takes over the parameters of its source."""
        source = None if plan.carry is None else self.ledger.leaderboard(category, plan.carry["from"])
        return plan.kept(category, goal, source)

    def _begin(self, planned: Leaderboard) -> Leaderboard:
        board = self.ledger.save_leaderboard(planned)
        self.ledger.replace_carried(board, self._brought(board))
        return board

    def _tally(self, board: Leaderboard, *, next_sequence: int = 1) -> Tally:
        carried = self.ledger.carried(board) if board.carry is not None and board.id is not None else {}
        why_excluded = self.ledger.orders.why_excluded
        return Tally(board, carried, next_sequence=next_sequence, why_excluded=why_excluded)

    def _brought(self, board: Leaderboard) -> dict[str, State]:
        """What players bring from the leaderboard that this one carries over from, as it stands now."""
        if board.carry is None:
            return {}
        arguments = dict(board.carry)
        name = arguments.pop("from")
        source = self.ledger.leaderboard(board.category, name)
        if source is None:
            log.warning("leaderboard %s: there is no %s to carry over from yet", board.name, name)
            return {}
        model = registry.create(board.model, board.parameters)
        if source.model != board.model or not isinstance(model, Carries):
            raise ModelError(
                f"leaderboard {board.name!r} cannot carry over from {name!r}: they are rated by "
                f"{board.model} and {source.model}, and must be by one model that can"
            )
        standings = self.ledger.standings(source)
        if not standings:
            return {}
        states = model.carried(np.array([s.state for s in standings]), **arguments)
        return {s.player: tuple(row.tolist()) for s, row in zip(standings, states, strict=True)}

    def _next_moment(self, boards: Sequence[Leaderboard], result: RaceResult) -> datetime:
        """A moment after all that the leaderboards hold: a race recorded late counts when it is recorded."""
        last = [moment for board in boards if (moment := self.ledger.last_counted(board)) is not None]
        return max([result.ended_at, *(moment + _TICK for moment in last)])

    def _rate_on(self, board: Leaderboard, result: RaceResult) -> Rated:
        players = [e.user_id for e in result.entrants if e.user_id is not None]
        row = self._loaded(board, players).add(result)
        return Rated(board, result, row.changes, row.note)

    def _loaded(self, board: Leaderboard, players: Iterable[str], *, next_sequence: int = 1) -> Tally:
        """A tally that holds these players' standings."""
        tally = self._tally(board, next_sequence=next_sequence)
        if board.id is not None:
            tally.load(s for p in players if (s := self.ledger.standing(board, p)) is not None)
        return tally

    def _append(self, board: Leaderboard, result: RaceResult) -> Rated:
        self._extend(board, [result])
        return self._stored(board, result)

    def _extend(self, board: Leaderboard, results: Sequence[RaceResult]) -> None:
        players = {e.user_id for result in results for e in result.entrants if e.user_id is not None}
        tally = self._loaded(board, sorted(players), next_sequence=self.ledger.next_sequence(board))
        rows = [tally.add(result) for result in results]
        self.ledger.append(board, rows, tally.standings())

    def _stored(self, board: Leaderboard, result: RaceResult) -> Rated:
        row = self.ledger.rated_race(board, result.name)
        return Rated(board, result, row.changes if row else (), row.note if row else None)


def _agrees(stored: RatedRow, replayed: RatedRow) -> bool:
    """Whether a row equals its replay. Rows of earlier versions hold a limit inside the other parts."""
    if len(stored.changes) != len(replayed.changes):
        return False
    changes = (
        replace(new, parts=old.parts)
        if "limit" in dict(new.parts) and "limit" not in dict(old.parts) and _total(old) == _total(new)
        else new
        for old, new in zip(stored.changes, replayed.changes, strict=True)
    )
    return stored == replace(replayed, changes=tuple(changes))


def _total(change: Change) -> int:
    return sum(points for _, points in change.parts)
