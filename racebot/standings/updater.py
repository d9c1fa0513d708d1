"""Brings stored ratings up to date after stored races, operators' orders or settings have changed.

After a change to a race, its leaderboards are rated again from that race on. A new race comes last, so only
it is rated. If many races must be rated again, the leaderboard gets a job.

A job's ratings go to a shadow leaderboard in many small transactions, so other processes can write meanwhile.
The last one puts the shadow in place. A process that is killed leaves a shadow behind, which the next process
that carries out jobs deletes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from racebot.ledger.leaderboards import CHUNK, Job
from racebot.ledger.lock import rebuild_lock
from racebot.ledger.rows import START, Leaderboard, Position
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.standings.carry_over import sources_first, states_to_carry_now
from racebot.standings.rater import StoredRaces, this_platform

log = logging.getLogger(__name__)

AT_ONCE = 200
"""Most races to rate again inside a transaction, which takes up to half a second. More are left to a job."""


def update_ratings(
    ledger: Ledger,
    since: Mapping[int, Position],
    reason: str,
    *,
    is_new: bool = False,
    rated: Collection[int] = (),
) -> set[int]:
    """Rate leaderboards again from given positions on, sources before their dependants.

    A leaderboard is rebuilt if the states that its players carry over have changed.

    Args:
        since: the position of the first new, changed or removed race, by the key of the leaderboard.
        reason: why, in a few words, for `racebot status`.
        is_new: whether the only change is one new race.
        rated: keys of the leaderboards in `since` that are rated already; only their dependants are not.

    Returns:
        The keys of the leaderboards that keep their old ratings until their job is done.

    Raises:
        DamagedRaceError: a stored result that must be rated is damaged.
        ModelError: a leaderboard carries over from one of another model, or its model cannot carry over.
    """
    waiting = set()
    with ledger.transaction():
        boards = ledger.leaderboards.all()
        starts = {_name(board): since[board.key] for board in boards if board.key in since}
        for board in sources_first(boards):
            if board.key in rated:
                continue
            job = ledger.jobs.of(board)
            start, to_carry = starts.get(_name(board)), None
            if job is None:  # a job looks at the source by itself
                start, to_carry = _start(ledger, board, starts)
            if start is None:
                continue
            sequence, after = ledger.ratings.sequence_at(board, start)
            if job is not None and is_new and ledger.races.count_between(board, start) == 0:
                after = max(after, Position(start.counted_at))  # the job rates the races before it
            elif job is not None:
                ledger.jobs.request(job.board, start, reason)
            if ledger.races.count_between(board, after) <= AT_ONCE:
                if to_carry is not None:
                    ledger.leaderboards.replace_carried(board, to_carry)
                _rate_from(ledger, board, sequence, after)
                starts[_name(board)] = start
                continue
            if job is None:
                ledger.jobs.request(board, start, reason)
            log.info("leaderboard %s: to be rated again in the background: %s", board.name, reason)
            ledger.ratings.withdraw_changes(board, ledger.connection.races_written)
            waiting.add(board.key)
            starts.pop(_name(board), None)
    return waiting


def save_settings(ledger: Ledger, board: Leaderboard, reason: str) -> bool:
    """Store a leaderboard with changed settings, or leave that to a job if it takes long.

    Return whether the settings are stored. The caller must then rate the leaderboard again from its start.
    """
    source = ledger.leaderboards.source(board)
    if (
        ledger.races.count_between(board, START) <= AT_ONCE
        and ledger.jobs.of(board) is None
        and not (source and ledger.jobs.of(source))
    ):
        ledger.leaderboards.save(board)
        return True
    ledger.leaderboards.rename(board, board.name, board.goals)
    ledger.jobs.request(board, START, reason)
    return False


def _start(
    ledger: Ledger, board: Leaderboard, starts: Mapping[tuple[str, str], Position]
) -> tuple[Position | None, dict[str, State] | None]:
    """Return where to start rating a leaderboard, and the states that its players then carry over.

    Each is None if nothing it depends on has changed.
    """
    start = starts.get(_name(board))
    if board.carry is None:
        return start, None
    first = ledger.races.first_position(board)
    changed = starts.get((board.category, board.carry.source))
    source_changed = changed is not None and first is not None and changed < first
    begins = start is not None and (first is None or start <= first)
    if not (source_changed or begins):
        return start, None
    to_carry = states_to_carry_now(ledger, board)
    if to_carry == ledger.leaderboards.carried(board):
        return start, None
    if start != START and ledger.ratings.last_counted(board) is not None:
        text = "leaderboard %s: ratings carried over from %s have changed; rebuilding"
        log.warning(text, board.name, board.carry.source)
    return START, to_carry


def _rate_from(ledger: Ledger, board: Leaderboard, sequence: int, after: Position) -> None:
    """Rate a leaderboard's races after a position, the first of them with this sequence number."""
    latest, earlier = {}, []
    for standing in ledger.standings.before(board, sequence) if sequence > 1 else ():
        latest[standing.player] = standing.last_race_at
        earlier.append(standing._replace(last_race_at=START.counted_at))
    races = StoredRaces(ledger, board, sequence, after, earlier)
    ledger.ratings.truncate(board, sequence)
    while rows := races.rate_batch():
        ledger.ratings.append(board, rows, this_platform())
    standings = races.standings()
    for index, standing in enumerate(standings):
        if standing.last_race_at < latest.get(standing.player, START.counted_at):
            # A race that was removed may have been the player's last.
            last = ledger.standings.last_race_before(board, standing.player, sequence)
            standings[index] = standing._replace(last_race_at=max(last, standing.last_race_at))
    if sequence == 1:
        ledger.standings.remove(board)
    ledger.standings.replace(board, standings)


def _name(board: Leaderboard) -> tuple[str, str]:
    return board.category, board.name


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
            ledger.people.remove_merged_players()
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
