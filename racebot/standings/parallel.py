"""Checks on all cores that a leaderboard's stored ratings agree with its stored results.

Stored changes hold the states before and after each race, so ranges of races can be replayed independently:
each starts from the stored states before it, which must be the states after the range before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from racebot.ledger.rows import START, Leaderboard, Position, Standing, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.change import Change
from racebot.ratings.model import FloatArray
from racebot.standings.carry_over import carried_states, states_to_carry_now
from racebot.standings.rater import Rater
from racebot.standings.rerating import BATCH, Progress
from racebot.telemetry.collector import uncollected

RANGE = 2500
"""Number of races to replay in one process."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Races of a leaderboard, by sequence number; `after` is the position of the race before the first."""

    first: int
    last: int
    after: Position


class _Replayed(NamedTuple):
    """The n players of a range, and their standings as rows of `_columns`.

    `before` is stored with their first changes of the range, and zero for players without earlier races.
    `after` is replayed; its finishes, wins and last races are those in the range.
    """

    players: list[str]
    before: FloatArray
    after: FloatArray


def replay_agrees(
    ledger: Ledger,
    board: Leaderboard,
    progress: Progress | None = None,
    *,
    size: int = RANGE,
    jobs: int = -1,
) -> bool:
    """Return whether all stored ratings of a leaderboard agree with a replay, to the last bit.

    Args:
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
    stored = ledger.standings(board)
    number = {standing.player: index for index, standing in enumerate(stored)}
    expected = _columns(stored)
    known = np.zeros_like(expected)
    calls = [(ledger.path, board.key, part) for part in ranges]
    with cores(jobs):
        for part, replayed in zip(ranges, spread(_replayed, calls), strict=True):
            if replayed is None or not number.keys() >= set(replayed.players):
                return False
            rows = [number[player] for player in replayed.players]
            earlier, later = known[rows], replayed.after
            if not np.array_equal(earlier[:, _IN_CHANGES], replayed.before[:, _IN_CHANGES]):
                return False
            later[:, _COUNTED] += earlier[:, _COUNTED]
            later[:, _LAST] = np.maximum(later[:, _LAST], earlier[:, _LAST])
            known[rows] = later
            if progress is not None:
                progress(part.last)
    return np.array_equal(known, expected)


@uncollected()
def _replayed(path: Path, key: int, part: _Range) -> _Replayed | None:
    """Replay a range of races. Return None if anything differs from what is stored."""
    before: dict[str, Standing] = {}
    with Ledger.open_to_read(path) as ledger:
        board = next(each for each in ledger.leaderboards() if each.key == key)
        rater = Rater(
            board, carried_states(ledger, board), next_sequence=part.first, excluded=ledger.orders.excluded()
        )
        after = part.after
        for first in range(part.first, part.last + 1, BATCH):
            last = min(first + BATCH - 1, part.last)
            races = list(ledger.races_of(board, after, last - first + 1))
            rows = ledger.rated_rows(board, first, last)
            if len(races) != len(rows) or not all(map(partial(_is_sound, ledger), races)):
                return None
            for race, row in zip(races, rows, strict=True):
                new = [_standing_before(change) for change in row.changes if change.player not in before]
                before.update((standing.player, standing) for standing in new)
                rater.load(standing for standing in new if standing.races)
                if rater.rate(race.result) != row:
                    return None
            after = races[-1].position
    players = sorted(before)
    earlier = _columns([before[player] for player in players])
    earlier[earlier[:, _RACES] == 0.0] = 0.0
    return _Replayed(players, earlier, _columns(rater.standings()))


def _columns(standings: Sequence[Standing]) -> FloatArray:
    """Return standings as rows of numbers, which travel between processes faster than objects."""
    return np.array(
        [
            (s.finishes, s.wins, s.last_race_at.timestamp(), s.rating, s.points, s.races, *s.state)
            for s in standings
        ]
    )


_COUNTED, _LAST, _IN_CHANGES, _RACES = slice(0, 2), 2, slice(4, None), 5
"""Columns: the counts of results, the last race, what changes hold too, and of that the number of races."""


def _standing_before(change: Change) -> Standing:
    """Return what a change tells about the player's standing before it."""
    return Standing(
        change.player, change.before, 0.0, change.points_before, change.races_before, 0, 0, START.counted_at
    )


def _is_sound(ledger: Ledger, race: StoredRace) -> bool:
    """Return whether a stored result is intact and follows the operator's orders."""
    return race.intact and ledger.goal_is_known(race) and ledger.orders.amended(race.result) == race.result
