"""Rates stored races again: from a changed race on, or all races of a leaderboard.

Ratings are a function of the stored results, the operator's stored orders and the settings, so they can
be computed again. After a change to a race, its leaderboard is rated again from that race on, starting from
the states before it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import filterfalse
from typing import Protocol

from racebot.ledger.connection import Interrupted, never
from racebot.ledger.rows import START, Leaderboard, Position, RatedRow, Standing
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.standings.carry_over import (
    carried_states,
    sources_first,
    states_to_carry,
    states_to_carry_now,
)
from racebot.standings.platforms import this_platform
from racebot.standings.rater import Rater
from racebot.standings.rerating import Prepared, Progress, RatingsDeferred, Rerating, Rerun

log = logging.getLogger(__name__)

_AFTER_ALL = datetime.max.replace(tzinfo=UTC)


class Preparer(Protocol):
    """Holds prepared ratings (`racebot.standings.prepare`).

    Attributes:
        at_once: most races to rate again inside a transaction. More must be prepared.
        prepares_new: whether to prepare leaderboards that have no rated race yet.
    """

    at_once: int
    prepares_new: bool

    def find(self, ledger: Ledger, rerating: Rerating) -> Prepared | None:
        """Return the prepared ratings for exactly this re-rating, None if there are none."""


class Replay:
    """Keeps a ledger's ratings consistent with its stored results and the settings.

    Args:
        ledger: the ledger. Its stored results have the operator's orders applied.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.preparer: Preparer | None = None
        """Prepares long re-ratings. Without it, they run inside their transaction."""
        self.interrupted: Interrupted = never
        """Asked during long writes: whether to undo them, because other work is waiting."""

    def update(
        self,
        since: Mapping[int, Position],
        *,
        wanted: str | None = None,
        progress: Progress | None = None,
        at_once: bool = False,
    ) -> dict[int, RatedRow]:
        """Rate leaderboards again from given positions on, sources before their dependants.

        A leaderboard is rebuilt if the states that its players carry over have changed. Long re-ratings may
        give a leaderboard another id.

        Args:
            since: the position of the first new, changed or removed race, by the key of the leaderboard.
            wanted: the name of a race whose rows to return.
            progress: called while races are rated.
            at_once: rate inside this transaction, however long it takes.

        Returns:
            The rows of the `wanted` race by the key that their leaderboard had before.

        Raises:
            DamagedRaceError: a stored result that must be rated is damaged.
            ModelError: a leaderboard carries over from one of another model, or its model cannot carry over.
            RatingsDeferred: there is a preparer, and it must first prepare ratings.
            WriteInterrupted: `interrupted` returned True.
        """
        rows = {}
        with self._ledger.transaction():
            boards = self._ledger.leaderboards()
            starts = {_name(board): since[board.key] for board in boards if board.key in since}
            for board in sources_first(boards):
                start = self._start(board, starts)
                if start is not None:
                    starts[_name(board)] = start
                    row = self._rate_from(board, start, wanted, progress, at_once)
                    if row is not None:
                        rows[board.key] = row
        return rows

    def rebuild(self, board: Leaderboard, progress: Progress | None = None) -> int:
        """Rate all races of a leaderboard again, and its dependants if that changes them.

        Returns:
            The number of races on the leaderboard.

        Raises:
            DamagedRaceError, ModelError: as for `update`.
        """
        with self._ledger.transaction():
            self.update({board.key: START}, progress=progress)
            rebuilt = self._ledger.leaderboard(board.category, board.name)
            return 0 if rebuilt is None else self._ledger.rated_count(rebuilt)

    def rater(self, board: Leaderboard, players: Iterable[str], moment: datetime) -> Rater:
        """Return a rater with these players' current standings, for a race that would count at `moment`."""
        first = None if board.id is None else self._ledger.first_position(board)
        carried = (
            states_to_carry(self._ledger, board, moment)
            if first is None
            else carried_states(self._ledger, board)
        )
        rater = Rater(board, carried, excluded=self._ledger.orders.excluded())
        if board.id is not None:
            found = (self._ledger.standing(board, player) for player in players)
            rater.load(standing for standing in found if standing is not None)
        return rater

    def states(self, board: Leaderboard, players: Sequence[str]) -> list[tuple[State, bool]]:
        """Return each player's state before the next race, and whether the player has raced here."""
        rater = self.rater(board, players, _AFTER_ALL)
        return [rater.state(player) for player in players]

    def standings(self, board: Leaderboard) -> list[Standing]:
        """Return the standings that a leaderboard's stored races lead to. Stores nothing."""
        rater = Rater(
            board, states_to_carry_now(self._ledger, board), excluded=self._ledger.orders.excluded()
        )
        for stored in self._ledger.races_of(board):
            stored.require_intact()
            rater.add(stored.result)
        return rater.standings()

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
        self,
        board: Leaderboard,
        start: Position,
        wanted: str | None,
        progress: Progress | None,
        at_once: bool,
    ) -> RatedRow | None:
        """Rate a leaderboard's races from a position on. Return the row of the `wanted` race, if any."""
        ledger = self._ledger
        sequence, after = ledger.sequence_at(board, start)
        carried, excluded = carried_states(ledger, board), ledger.orders.excluded()
        preparer = None if at_once else self.preparer
        is_new = preparer is not None and ledger.last_counted(board) is None
        if (
            preparer is None
            or ledger.count_between(board, after) <= preparer.at_once
            or (is_new and not preparer.prepares_new)
        ):
            return self._rate_now(
                Rerun(ledger, Rerating(board, sequence, after, carried, excluded)), wanted, progress
            )
        rerating = Rerating(
            replace(board, id=None) if is_new else board,  # only this transaction may have stored a new one
            sequence,
            after,
            carried,
            excluded,
            ledger.revision_of(board),
            edits={name: ledger.race(name) for name in ledger.races_written},
        )
        prepared = preparer.find(ledger, rerating)
        if prepared is None:
            raise RatingsDeferred(rerating)
        return self._apply(prepared, board, wanted)

    def _rate_now(self, rerun: Rerun, wanted: str | None, progress: Progress | None) -> RatedRow | None:
        """Rate and write a leaderboard's remaining races. Return the row of the `wanted` race, if any."""
        ledger, board = self._ledger, rerun.board
        found = None
        while rows := rerun.rate(ledger):
            ledger.apply(board, ledger.difference(board, rows), this_platform())
            found = next((row for row in rows if row.race == wanted), found)
            if progress is not None:
                progress(rerun.races)
        ledger.truncate(board, rerun.next_sequence)
        if rerun.sequence == 1:
            ledger.remove_standings(board)
        ledger.replace_standings(board, rerun.standings(ledger))
        return found

    def _apply(self, prepared: Prepared, board: Leaderboard, wanted: str | None) -> RatedRow | None:
        """Write prepared ratings, and rate the races that were settled meanwhile."""
        ledger, rerun, since = self._ledger, prepared.rerun, prepared.since
        players, target = set(prepared.players), prepared.shadow or board
        while rows := rerun.rate(ledger):  # reads live rows, so before anything is written
            since += rows
        if prepared.difference is not None:
            ledger.apply(board, prepared.difference, this_platform(), self.interrupted)
        if since:
            difference = ledger.difference(target, since)
            players |= {change.player for row in since for change in row.changes}
            ledger.apply(target, difference, this_platform(), self.interrupted)
        if prepared.shadow is None:
            ledger.truncate(board, rerun.next_sequence)
        moved = rerun.standings(ledger, players)
        if prepared.shadow is None:
            kept = list(filter(rerun.kept_last_race, moved))
            ledger.move_standings(target, kept, self.interrupted)
            moved = list(filterfalse(rerun.kept_last_race, moved))
        ledger.replace_standings(target, moved, self.interrupted)
        if prepared.shadow is not None:
            target = ledger.take_over(board, prepared.shadow)
        return None if wanted is None else ledger.rated_race(target, wanted)


def _name(board: Leaderboard) -> tuple[str, str]:
    return board.category, board.name
