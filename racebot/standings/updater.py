"""Brings stored ratings up to date after stored races, operators' orders or settings have changed.

Ratings are a function of these three, so they can be computed again. After a change to a race, its
leaderboards are rated again from that race on, starting from the states before it. A new race is the simplest
case: it comes last, and only it is rated.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import filterfalse

from racebot.ledger.connection import Interrupted, never
from racebot.ledger.rows import START, Leaderboard, Position
from racebot.ledger.store import Ledger
from racebot.standings.carry_over import carried_states, sources_first, states_to_carry_now
from racebot.standings.platforms import this_platform
from racebot.standings.prepare import Preparer
from racebot.standings.rerating import PreparedRatings, Progress, RatingsDeferred, RerateTask, Rerating

log = logging.getLogger(__name__)


class RatingUpdater:
    """Keeps a ledger's ratings consistent with its stored races.

    Args:
        ledger: the ledger. Its stored results have the operator's orders applied.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.preparer: Preparer | None = None
        """Prepares long re-ratings. Without it, they run inside their transaction."""
        self.interrupted: Interrupted = never
        """Asked during long writes: whether to undo them, because other work is waiting."""

    @contextmanager
    def prepared_by(self, preparer: Preparer) -> Generator[Preparer]:
        """Let `preparer` prepare the long re-ratings of the block's transactions."""
        self.preparer = preparer
        try:
            yield preparer
        finally:
            self.preparer = None
            preparer.release()

    def update(
        self, since: Mapping[int, Position], *, progress: Progress | None = None, at_once: bool = False
    ) -> None:
        """Rate leaderboards again from given positions on, sources before their dependants.

        A leaderboard is rebuilt if the states that its players carry over have changed. Long re-ratings may
        give a leaderboard another id.

        Args:
            since: the position of the first new, changed or removed race, by the key of the leaderboard.
            progress: called while races are rated.
            at_once: rate inside this transaction, however long it takes.

        Raises:
            DamagedRaceError: a stored result that must be rated is damaged.
            ModelError: a leaderboard carries over from one of another model, or its model cannot carry over.
            RatingsDeferred: there is a preparer, and it must first prepare ratings.
            WriteInterrupted: `interrupted` returned True.
        """
        with self._ledger.transaction():
            boards = self._ledger.leaderboards()
            starts = {_name(board): since[board.key] for board in boards if board.key in since}
            for board in sources_first(boards):
                start = self._start(board, starts)
                if start is not None:
                    starts[_name(board)] = start
                    self._rate_from(board, start, progress, None if at_once else self.preparer)

    def _start(self, board: Leaderboard, starts: Mapping[tuple[str, str], Position]) -> Position | None:
        """Return where to start rating a leaderboard; None if nothing it depends on has changed."""
        start = starts.get(_name(board))
        if board.carry is None:
            return start
        first = self._ledger.first_position(board)
        changed = starts.get((board.category, board.carry.source))
        source_changed = changed is not None and first is not None and changed < first
        begins = start is not None and (first is None or start <= first)
        if not (source_changed or begins):
            return start
        to_carry = states_to_carry_now(self._ledger, board)
        if to_carry == self._ledger.carried(board):
            return start
        if start != START and self._ledger.last_counted(board) is not None:
            log.warning(
                "leaderboard %s: ratings carried over from %s have changed; rebuilding",
                board.name,
                board.carry.source,
            )
        self._ledger.replace_carried(board, to_carry)
        return START

    def _rate_from(
        self, board: Leaderboard, start: Position, progress: Progress | None, preparer: Preparer | None
    ) -> None:
        """Rate a leaderboard's races from a position on, and store the ratings."""
        ledger = self._ledger
        sequence, after = ledger.sequence_at(board, start)
        task = RerateTask(board, sequence, after, carried_states(ledger, board), ledger.orders.excluded())
        is_new = ledger.last_counted(board) is None
        if (
            preparer is None
            or ledger.count_between(board, after) <= preparer.at_once
            or (is_new and not preparer.prepares_new)
        ):
            self._rate_now(task, progress)
            return
        task = replace(
            task,
            board=replace(board, id=None) if is_new else board,  # this transaction may have stored it
            revision=ledger.revision_of(board),
            edits={name: ledger.race(name) for name in ledger.races_written},
        )
        prepared = preparer.find(ledger, task)
        if prepared is None:
            raise RatingsDeferred(task)
        self._write_prepared(prepared, board)

    def _rate_now(self, task: RerateTask, progress: Progress | None) -> None:
        """Rate a leaderboard's races, and write them batch by batch."""
        ledger, board = self._ledger, task.board
        rerating = Rerating(ledger, task)
        while rows := rerating.rate_batch(ledger):
            ledger.apply(board, ledger.difference(board, rows), this_platform())
            if progress is not None:
                progress(rerating.races)
        ledger.truncate(board, rerating.next_sequence)
        if task.sequence == 1:
            ledger.remove_standings(board)
        ledger.replace_standings(board, rerating.standings(ledger))

    def _write_prepared(self, prepared: PreparedRatings, board: Leaderboard) -> None:
        """Write prepared ratings, and rate the races that were settled meanwhile."""
        ledger, rerating, since = self._ledger, prepared.rerating, prepared.since
        players, target = set(prepared.players), prepared.shadow or board
        while rows := rerating.rate_batch(ledger):  # reads live rows, so before anything is written
            since += rows
        if prepared.difference is not None:
            ledger.apply(board, prepared.difference, this_platform(), self.interrupted)
        if since:
            difference = ledger.difference(target, since)
            players |= {change.player for row in since for change in row.changes}
            ledger.apply(target, difference, this_platform(), self.interrupted)
        if prepared.shadow is None:
            ledger.truncate(board, rerating.next_sequence)
        moved = rerating.standings(ledger, players)
        if prepared.shadow is None:
            kept = list(filter(rerating.kept_last_race, moved))
            ledger.move_standings(target, kept, self.interrupted)
            moved = list(filterfalse(rerating.kept_last_race, moved))
        ledger.replace_standings(target, moved, self.interrupted)
        if prepared.shadow is not None:
            ledger.take_over(board, prepared.shadow)


def _name(board: Leaderboard) -> tuple[str, str]:
    return board.category, board.name
