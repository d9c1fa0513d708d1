"""Prepares long re-ratings beside the live leaderboard, on their own connections.

A process that is killed meanwhile leaves a shadow leaderboard behind. Lists never show it, and `sweep`
deletes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import Timeout

from racebot.ledger.lock import rebuild_lock, running
from racebot.ledger.rewriting import Difference
from racebot.ledger.rows import RatedRow
from racebot.ledger.shadows import STANDINGS_PIECE, Pause
from racebot.ledger.store import Ledger
from racebot.standings.platforms import this_platform
from racebot.standings.rerating import PreparedRatings, Progress, RerateTask, Rerating
from racebot.telemetry.collector import uncollected

log = logging.getLogger(__name__)

AT_ONCE = 20
"""Most races to rate again inside a transaction, which takes some 20 ms."""
IN_MEMORY = 2000
"""Most races to rate again in memory. More go to a shadow leaderboard."""
CHANGES_PIECE = 1000
"""Number of changes written to a shadow in one transaction: some ten milliseconds."""
ATTEMPTS = 20
"""How often to prepare ratings for one transaction before it runs without preparation."""
LOG_EVERY = 10.0
"""Seconds between log lines about a rebuild under way."""


def no_pause() -> None:
    """Work without pauses."""


class Preparer:
    """Prepares ratings for later transactions on the database at `path`, and holds them until then.

    Args:
        path: the database.
        pause: called often, to let other work go first.
        progress: called with the number of races rated so far.
        at_once: most races to rate again inside a transaction. More must be prepared.
        memory: most races to rate in memory.
        prepares_new: whether to prepare leaderboards that have no rated race yet. Default: if the bot is
            running, because it would have to wait.
    """

    def __init__(
        self,
        path: Path,
        *,
        pause: Pause = no_pause,
        progress: Progress | None = None,
        at_once: int = AT_ONCE,
        memory: int = IN_MEMORY,
        prepares_new: bool | None = None,
    ) -> None:
        self.at_once = at_once
        self.prepares_new = running(path) if prepares_new is None else prepares_new
        self._path = path
        self._pause = pause
        self._progress = progress
        self._memory = memory
        self._prepared: dict[tuple[str, str], PreparedRatings] = {}
        self._lock = rebuild_lock(path)
        self._told_at = time.monotonic()

    def release(self) -> None:
        """Forget what is prepared, and let other processes rebuild."""
        self._prepared.clear()
        self._lock.release(force=True)

    def find(self, ledger: Ledger, task: RerateTask) -> PreparedRatings | None:
        """Return the prepared ratings for exactly this re-rating; None if there are none."""
        prepared = self._prepared.get((task.board.category, task.board.name))
        if prepared is None or prepared.task != task:
            return None
        rerating, board = prepared.rerating, task.board
        # A race that was settled meanwhile may count before the last one prepared, or be one of the edits.
        complete = ledger.count_between(board, task.after, rerating.last) == rerating.races
        settled = [] if board.id is None else ledger.races_after(board, prepared.stored)
        # A race that was deleted meanwhile is missing from a shadow, even if it is stored again.
        whole = prepared.shadow is None or ledger.revision_of(prepared.shadow) == 0
        return prepared if complete and whole and task.edits.keys().isdisjoint(settled) else None

    def prepare(self, task: RerateTask) -> None:
        """Rate races, and keep their ratings for the transaction that needs them."""
        key = (task.board.category, task.board.name)
        self._prepared.pop(key, None)
        with Ledger.open_for_shadows(self._path) as ledger:
            total = ledger.count_between(task.board, task.after)
            if task.sequence > 1 and total + len(task.edits) <= self._memory:
                with ledger.snapshot():
                    prepared: PreparedRatings | None = self._in_memory(ledger, task)
            else:
                prepared = self._in_shadow(ledger, task, total)
        if prepared is not None:
            self._prepared[key] = prepared

    @uncollected()
    def _in_memory(self, ledger: Ledger, task: RerateTask) -> PreparedRatings:
        stored = ledger.rated_count(task.board)
        rerating = Rerating(ledger, task)
        rated: list[RatedRow] = []
        while rows := rerating.rate_batch(ledger, edits=task.edits, pause=self._pause):
            rated += rows
            self._advance(rerating)
        difference = ledger.difference(rerating.board, rated) if rated else Difference(rerating.sequence)
        players = set(difference.players)
        for row in rated:
            if row.race in task.edits:
                players.update(change.player for change in row.changes)
        if difference.appended or rerating.next_sequence != stored + 1:
            players.update(standing.player for standing in rerating.standings(ledger))
        return PreparedRatings(task, rerating, stored, difference, players=players)

    def _in_shadow(self, ledger: Ledger, task: RerateTask, total: int) -> PreparedRatings | None:
        """Rate races into a shadow leaderboard. Return None if the leaderboard changed meanwhile."""
        self._lock.acquire()
        board = task.board
        self._log("leaderboard %s: rating %d races again beside it", board.name, total)
        stored = 0 if board.id is None else ledger.rated_count(board)
        shadow = ledger.add_shadow(board)
        if task.carried:
            ledger.replace_carried(shadow, task.carried)
        if task.sequence > 1:
            ledger.copy_to_shadow(board, shadow, task.sequence, self._pause)
        rerating = Rerating(ledger, task)
        while rows := rerating.rate_batch(ledger, edits=task.edits, pause=self._pause):
            for piece in _pieces(rows):
                with ledger.transaction(lasting=False):
                    ledger.append(shadow, piece, this_platform())
                self._pause()
            self._advance(rerating, total)
            if board.id is not None and ledger.revision_of(board) != task.revision:
                self._log("leaderboard %s: an earlier race changed; starting again", board.name)
                return None
        standings = rerating.standings(ledger)
        for first in range(0, len(standings), STANDINGS_PIECE):
            with ledger.transaction(lasting=False):
                ledger.replace_standings(shadow, standings[first : first + STANDINGS_PIECE])
            self._pause()
        self._log("leaderboard %s: %d races rated again", board.name, rerating.races)
        return PreparedRatings(task, rerating, stored, shadow=shadow)

    def _advance(self, rerating: Rerating, total: int = 0) -> None:
        if self._progress is not None:
            self._progress(rerating.races)
        if total and time.monotonic() - self._told_at > LOG_EVERY:
            self._log(
                "leaderboard %s: %d of %d races rated again", rerating.board.name, rerating.races, total
            )

    def _log(self, text: str, *values: object) -> None:
        """Log the progress, unless a callback shows it."""
        self._told_at = time.monotonic()
        if self._progress is None:
            log.info(text, *values)


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
