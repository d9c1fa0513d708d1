"""Checks on all cores that a leaderboard's stored ratings agree with its stored results.

Stored changes hold the states before and after each race, so ranges of races can be replayed independently:
each starts from the stored states before it, which must be the states after the range before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from racebot.ledger.ratings import StoredRow, change_values
from racebot.ledger.rows import START, Leaderboard, Position, RatedRow, Standing, StoredRace
from racebot.ledger.store import Ledger
from racebot.standings.carry_over import carried_states, states_to_carry_now
from racebot.standings.rater import Rater
from racebot.standings.rerating import BATCH, Progress

RANGE = 2500
"""Number of races to replay in one process."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Range:
    """Races of a leaderboard, by sequence number; `after` is the position of the race before the first."""

    first: int
    last: int
    after: Position


@dataclass(frozen=True, slots=True)
class _Replayed:
    """Players' standings before their first race of a range, as stored, and after the range, as replayed.

    The later standings count only the finishes, wins and ends of races in the range.
    """

    before: list[Standing]
    after: list[Standing]


def agrees(
    ledger: Ledger,
    board: Leaderboard,
    progress: Progress | None = None,
    *,
    size: int = RANGE,
    jobs: int = -1,
) -> bool:
    """Return whether all stored ratings of a leaderboard agree with a replay, to the last bit.

    Args:
        ledger: the ledger.
        board: one of its leaderboards.
        progress: called with the number of races replayed so far.
        size: number of races to replay at a time.
        jobs: number of processes; -1 for one per core.

    Raises:
        LedgerError: a stored row cannot be read.
    """
    from racebot.study.cores import cores, spread  # noqa: PLC0415 - joblib takes long to import

    count = ledger.rated_count(board)
    if count != ledger.count_between(board, START):
        return False
    if carried_states(ledger, board) != states_to_carry_now(ledger, board):
        return False
    ranges = []
    after = START
    for first in range(1, count + 1, size):
        last = min(first + size - 1, count)
        ranges.append(_Range(first, last, after))
        found = ledger.position_of(board, last)
        if found is None:
            return False
        after = found
    known: dict[str, Standing] = {}
    with cores(jobs):
        calls = [(ledger.path, board.key, part) for part in ranges]
        for part, replayed in zip(ranges, spread(_replayed, calls), strict=True):
            if replayed is None or not _joined(known, replayed):
                return False
            if progress is not None:
                progress(part.last)
    return known == {
        standing.player: replace(standing, name="", hidden=False) for standing in ledger.standings(board)
    }


def _joined(known: dict[str, Standing], replayed: _Replayed) -> bool:
    """Add a range to the standings after earlier ranges. Return whether its first states equal them."""
    for before in replayed.before:
        earlier = known.get(before.player)
        if (earlier is None) != (not before.races):
            return False
        if earlier is not None and (earlier.state, earlier.points, earlier.races) != (
            before.state,
            before.points,
            before.races,
        ):
            return False
    for after in replayed.after:
        earlier = known.get(after.player)
        if earlier is not None:
            after = replace(  # noqa: PLW2901
                after,
                finishes=earlier.finishes + after.finishes,
                wins=earlier.wins + after.wins,
                last_race_at=max(earlier.last_race_at, after.last_race_at),
            )
        known[after.player] = after
    return True


def _replayed(path: Path, key: int, part: _Range) -> _Replayed | None:
    """Replay a range of races. Return None if anything differs from what is stored."""
    with Ledger.open_to_read(path) as ledger:
        board = next(each for each in ledger.leaderboards() if each.key == key)
        rater = Rater(
            board, carried_states(ledger, board), next_sequence=part.first, excluded=ledger.orders.excluded()
        )
        before = ledger.first_standings(board, part.first, part.last)
        raced = [standing for standing in before if standing.races]
        if raced:
            ratings = rater.model.rating(np.array([standing.state for standing in raced])).tolist()
            rater.load(
                replace(standing, rating=rating, last_race_at=_LONG_AGO)
                for standing, rating in zip(raced, ratings, strict=True)
            )
        after = part.after
        for first in range(part.first, part.last + 1, BATCH):
            last = min(first + BATCH - 1, part.last)
            races = list(ledger.races_of(board, after, last - first + 1))
            if not all(map(partial(_is_sound, ledger), races)):
                return None
            rows = [rater.add(race.result) for race in races]
            if list(ledger.stored_rows(board, first, last)) != list(map(_as_stored, rows)):
                return None
            after = races[-1].position
    players = {standing.player for standing in before}
    return _Replayed(before, rater.standings(players))


def _is_sound(ledger: Ledger, race: StoredRace) -> bool:
    """Return whether a stored result is intact and follows the operator's orders."""
    return race.intact and ledger.goal_is_known(race) and ledger.orders.amended(race.result) == race.result


def _as_stored(row: RatedRow) -> StoredRow:
    return StoredRow(row.sequence, row.race, row.note, tuple(map(change_values, row.changes)))
