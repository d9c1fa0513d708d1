"""Prepares long re-ratings beside the live leaderboard, on their own connections.

A process that is killed meanwhile leaves a shadow leaderboard behind. Lists never show it, and `sweep`
deletes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from filelock import Timeout

from racebot.ledger.lock import rebuild_lock, running
from racebot.ledger.rewriting import Difference
from racebot.ledger.rows import RatedRow
from racebot.ledger.shadows import STANDINGS_PIECE, Pause
from racebot.ledger.store import Ledger
from racebot.observe.collector import uncollected
from racebot.standings.platforms import this_platform
from racebot.standings.rerating import Prepared, Progress, RatingsDeferred, Rerating, Rerun
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE = 20
"""Most races to rate again inside a transaction, which takes some 20 ms."""
IN_MEMORY = 2000
"""Most races to rate again in memory. More go to a shadow leaderboard."""
CHANGES_PIECE = 1000
"""Number of changes written to a shadow in one transaction: some ten milliseconds."""
ATTEMPTS = 20
"""How often to prepare ratings for one piece of work before it runs without preparation."""
LOG_EVERY = 10.0
"""Seconds between log lines about a rebuild under way."""


def no_pause() -> None:
    """Work without pauses."""


class Preparation:
    """Prepares ratings for the transactions of one settler. Use it as a context manager.

    Args:
        pause: called often, to let other work go first.
        progress: called with the number of races rated so far.
        at_once: most races to rate again without preparation.
        memory: most races to rate in memory.
        prepares_new: whether to prepare leaderboards that have no rated race yet. Default: if the bot is
            running, because it would have to wait.
    """

    def __init__(
        self,
        settler: Settler,
        *,
        pause: Pause = no_pause,
        progress: Progress | None = None,
        at_once: int = AT_ONCE,
        memory: int = IN_MEMORY,
        prepares_new: bool | None = None,
    ) -> None:
        self.at_once = at_once
        self.prepares_new = running(settler.ledger.path) if prepares_new is None else prepares_new
        self._settler = settler
        self.path = settler.ledger.path
        self._pause = pause
        self._progress = progress
        self._memory = memory
        self._prepared: dict[tuple[str, str], Prepared] = {}
        self._lock = rebuild_lock(self.path)
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        self._settler.replay.preparer = self
        return self

    def __exit__(self, *exc: object) -> None:
        self._settler.replay.preparer = None
        self.release()

    def release(self) -> None:
        """Forget what is prepared, and let other processes rebuild."""
        self._prepared.clear()
        self._lock.release(force=True)

    def find(self, ledger: Ledger, rerating: Rerating) -> Prepared | None:
        """Return the prepared ratings for exactly this re-rating; None if there are none."""
        prepared = self._prepared.get((rerating.board.category, rerating.board.name))
        if prepared is None or prepared.rerating != rerating:
            return None
        rerun, board = prepared.rerun, rerating.board
        # A race that was settled meanwhile may count before the last one prepared, or be one of the edits.
        complete = ledger.count_between(board, rerating.after, rerun.last) == rerun.races
        settled = [] if board.id is None else ledger.races_after(board, prepared.stored)
        # A race that was deleted meanwhile is missing from a shadow, even if it is stored again.
        whole = prepared.shadow is None or ledger.revision_of(prepared.shadow) == 0
        return prepared if complete and whole and rerating.edits.keys().isdisjoint(settled) else None

    def prepare(self, rerating: Rerating) -> None:
        """Rate races, and keep the result for the transaction that needs it."""
        key = (rerating.board.category, rerating.board.name)
        self._prepared.pop(key, None)
        with Ledger.open_for_shadows(self.path) as ledger:
            total = ledger.count_between(rerating.board, rerating.after)
            if rerating.sequence > 1 and total + len(rerating.edits) <= self._memory:
                with ledger.snapshot():
                    prepared: Prepared | None = self._in_memory(ledger, rerating)
            else:
                prepared = self._in_shadow(ledger, rerating, total)
        if prepared is not None:
            self._prepared[key] = prepared

    @uncollected()
    def _in_memory(self, ledger: Ledger, rerating: Rerating) -> Prepared:
        stored = ledger.rated_count(rerating.board)
        rerun = Rerun(ledger, rerating)
        rated: list[RatedRow] = []
        while rows := rerun.rate(ledger, edits=rerating.edits, pause=self._pause):
            rated += rows
            self._advance(rerun)
        difference = ledger.difference(rerun.board, rated) if rated else Difference(rerun.sequence)
        players = set(difference.players)
        for row in rated:
            if row.race in rerating.edits:
                players.update(change.player for change in row.changes)
        if difference.appended or rerun.next_sequence != stored + 1:
            players.update(standing.player for standing in rerun.standings(ledger))
        return Prepared(rerating, rerun, stored, difference, players=players)

    def _in_shadow(self, ledger: Ledger, rerating: Rerating, total: int) -> Prepared | None:
        """Rate races into a shadow leaderboard. Return None if the leaderboard changed meanwhile."""
        self._lock.acquire()
        board = rerating.board
        self._log("leaderboard %s: rating %d races again beside it", board.name, total)
        stored = 0 if board.id is None else ledger.rated_count(board)
        shadow = ledger.add_shadow(board)
        if rerating.carried:
            ledger.replace_carried(shadow, rerating.carried)
        if rerating.sequence > 1:
            ledger.copy_to_shadow(board, shadow, rerating.sequence, self._pause)
        rerun = Rerun(ledger, rerating)
        while rows := rerun.rate(ledger, edits=rerating.edits, pause=self._pause):
            for piece in _pieces(rows):
                with ledger.transaction(lasting=False):
                    ledger.append(shadow, piece, this_platform())
                self._pause()
            self._advance(rerun, total)
            if board.id is not None and ledger.revision_of(board) != rerating.revision:
                self._log("leaderboard %s: an earlier race changed; starting again", board.name)
                return None
        standings = rerun.standings(ledger)
        for first in range(0, len(standings), STANDINGS_PIECE):
            with ledger.transaction(lasting=False):
                ledger.replace_standings(shadow, standings[first : first + STANDINGS_PIECE])
            self._pause()
        self._log("leaderboard %s: %d races rated again", board.name, rerun.races)
        return Prepared(rerating, rerun, stored, shadow=shadow)

    def _advance(self, rerun: Rerun, total: int = 0) -> None:
        if self._progress is not None:
            self._progress(rerun.races)
        if total and time.monotonic() - self._told_at > LOG_EVERY:
            self._log("leaderboard %s: %d of %d races rated again", rerun.board.name, rerun.races, total)

    def _log(self, text: str, *values: object) -> None:
        """Log the progress, unless a callback shows it."""
        self._told_at = time.monotonic()
        if self._progress is None:
            log.info(text, *values)


def run(preparation: Preparation, work: Callable[[], T]) -> T:
    """Run transactions that may need long re-ratings, which are prepared without locking the ledger.

    Args:
        preparation: prepares ratings for the settler that `work` uses.
        work: transactions that can be repeated if they are undone.
    """
    try:
        with preparation:
            for _ in range(ATTEMPTS):
                try:
                    return work()
                except RatingsDeferred as deferred:
                    preparation.prepare(deferred.rerating)
        return work()
    finally:
        sweep(preparation.path)


def sweep(path: Path, pause: Pause = no_pause) -> None:
    """Delete what rebuilds left behind in the database at `path`, unless a rebuild is under way."""
    with suppress(Timeout), rebuild_lock(path).acquire(blocking=False), Ledger.open(path) as ledger:
        for leftover in ledger.leftovers():
            ledger.sweep(leftover, pause)


def _pieces(rows: Sequence[RatedRow]) -> Iterator[list[RatedRow]]:
    """Split races into pieces that one short transaction can write."""
    piece: list[RatedRow] = []
    changes = 0
    for row in rows:
        piece.append(row)
        changes += len(row.changes)
        if changes >= CHANGES_PIECE:
            yield piece
            piece, changes = [], 0
    if piece:
        yield piece
