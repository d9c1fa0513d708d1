"""Carries out jobs: rates a leaderboard again beside the live one, and then puts it in its place.

The ratings go to a shadow leaderboard in many small transactions, so other processes can write meanwhile.
A process that is killed leaves a shadow behind, which the next process that carries out jobs deletes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import datetime

from racebot.ledger.jobs import Job
from racebot.ledger.leaderboards import CHUNK
from racebot.ledger.lock import rebuild_lock
from racebot.ledger.rows import START
from racebot.ledger.store import Ledger
from racebot.standings.carry_over import sources_first, states_to_carry_now
from racebot.standings.rater import StoredRaces, this_platform
from racebot.standings.updater import update_ratings

log = logging.getLogger(__name__)


def carry_out_jobs(
    ledger: Ledger, clock: Callable[[], datetime], progress: Callable[[Job, int, int], None] = lambda *_: None
) -> dict[str, Exception]:
    """Carry out all jobs of a ledger, one process at a time. Return the errors by leaderboard.

    A failed job stays, with its error, for a later try. `progress` is called with a job, the number of races
    that are rated, and the number of all races.
    """
    errors: dict[str, Exception] = {}
    failed: set[int] = set()
    with rebuild_lock(ledger.path):
        ledger.shadows.remove_hidden()
        while (job := _next(ledger, failed)) is not None:
            try:
                if not _carry_out(ledger, job, progress):
                    log.info("leaderboard %s: an earlier race changed; starting again", job.board.name)
            except Exception as error:  # other leaderboards can be rated all the same
                ledger.jobs.fail(job, str(error) or repr(error), clock())
                errors[job.board.name] = error
                failed.add(job.board.key)
            ledger.shadows.remove_hidden()
        with ledger.transaction():
            ledger.orders.remove_merged_players()
    return errors


def _next(ledger: Ledger, failed: Collection[int]) -> Job | None:
    """Return the next job, sources before their dependants. A dependant of a failed job has to wait, too."""
    jobs = {job.board.key: job for job in ledger.jobs.all()}
    left = {(job.board.category, job.board.name) for job in jobs.values()}
    for board in sources_first(job.board for job in jobs.values()):
        if board.key not in failed and not (board.carry and (board.category, board.carry.source) in left):
            return jobs[board.key]
    return None


def _carry_out(ledger: Ledger, job: Job, progress: Callable[[Job, int, int], None]) -> bool:
    """Rate a leaderboard again. Return False if it must be done again, because earlier races changed."""
    board = job.board
    log.info("leaderboard %s: rating it again: %s", board.name, job.reason)
    with ledger.transaction():
        carried = states_to_carry_now(ledger, board)
        # The source may have been rated again since the job was requested.
        start = job.start if carried == ledger.leaderboards.carried(board) else START
        sequence, after = ledger.ratings.sequence_at(board, start)
        shadow = ledger.shadows.add(board)
        ledger.leaderboards.replace_carried(shadow, carried)
        total = ledger.races.count_between(board, START)
    for first in range(1, sequence, CHUNK):
        ledger.shadows.copy_races(board, shadow, first, min(first + CHUNK, sequence))
    races = StoredRaces(ledger, shadow, sequence, after, ledger.standings.after_changes(shadow))
    progress(job, sequence - 1, total)
    while rows := races.rate_batch():
        with ledger.transaction(lasting=False):
            if not ledger.jobs.is_current(job):
                return False
            ledger.ratings.append(shadow, rows, this_platform())
        progress(job, races.next_sequence - 1, total)
    with ledger.transaction():
        if not ledger.jobs.is_current(job) or states_to_carry_now(ledger, board) != carried:
            return False
        while rows := races.rate_batch():
            ledger.ratings.append(shadow, rows, this_platform())
        ledger.standings.replace(shadow, races.standings())
        ledger.jobs.remove(board)
        placed = ledger.shadows.put_in_place(board, shadow)
        update_ratings(ledger, {placed.key: start}, job.reason, rated={placed.key})
    log.info("leaderboard %s: %d races rated again", board.name, races.next_sequence - sequence)
    return True
