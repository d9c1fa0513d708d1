"""Compares a ledger's ratings with a replay of its stored results, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import filterfalse

from racebot.errors import DamagedRaceError, LedgerError
from racebot.ledger.rows import REBUILD, RESTORE, Leaderboard, RatedRow, Standing
from racebot.ledger.store import Ledger
from racebot.races.change import Change, State
from racebot.standings.carry_over import carried_states, states_to_carry_now
from racebot.standings.counting import FUTURE
from racebot.standings.rater import BATCH, Rater, this_platform

REPAIR = f"run `racebot backfill`, or {RESTORE}"
LAST_BITS = 1e-6
"""Largest relative difference that other hardware or library versions can cause."""


Progress = Callable[[int], None]
"""Called with the number of races compared so far."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A difference between the ledger and a replay. One without a remedy is harmless."""

    text: str
    remedy: str | None = None

    def __str__(self) -> str:
        return self.text


def verify(
    ledger: Ledger, board: Leaderboard, progress: Progress | None = None, now: datetime | None = None
) -> list[Problem]:
    """Replay a leaderboard's stored results and compare with its stored ratings. Writes nothing.

    Args:
        now: races that count later are a problem; by default the current time.

    Returns:
        One problem for each difference; empty if there is none.
    """
    if ledger.jobs.of(board) is not None:
        return [
            Problem("its ratings are out of date until it is rated again", f"start the bot, or {REBUILD}")
        ]
    return _Verification(ledger, board, datetime.now(UTC) if now is None else now).run(progress)


@dataclass(slots=True)
class _Verification:
    """A verification under way.

    Attributes:
        ledger: the ledger.
        board: one of its leaderboards.
        now: the current time.
        problems: the problems found so far.
        platforms: the other platforms that rated some of its races.
        differing: number of races with numeric differences that another platform explains.
        largest: the largest of these differences.
    """

    ledger: Ledger
    board: Leaderboard
    now: datetime
    problems: list[Problem] = field(default_factory=list)
    platforms: Sequence[str] = ()
    differing: int = 0
    largest: float = 0.0

    def run(self, progress: Progress | None) -> list[Problem]:
        self.platforms = sorted(set(self.ledger.ratings.platforms(self.board)) - {this_platform()})
        try:
            carried = carried_states(self.ledger, self.board)
            if carried != states_to_carry_now(self.ledger, self.board):
                self._add("carried-over ratings differ from the standings of its source", REBUILD)
            rater = Rater(self.board, carried, excluded=self.ledger.orders.excluded())
            if self._races(rater, progress):
                self._standings(rater)
        except DamagedRaceError as error:
            self._add(str(error), REPAIR)
        except LedgerError as error:
            self._add(str(error), REBUILD)
        if self.differing:
            elsewhere = "; ".join(each or "an unknown platform" for each in self.platforms)
            self._add(
                f"{self.differing} races differ in the last bits, by at most {self.largest:.1g}: "
                f"they were rated on {elsewhere}, and this is {this_platform()}",
                None,
            )
        return self.problems

    def _races(self, rater: Rater, progress: Progress | None) -> bool:
        """Compare all rated races. Return whether all stored results could be replayed."""
        replayed = set()
        damaged = False
        for number, stored in enumerate(self.ledger.races.of(self.board), start=1):
            if not stored.intact or not self.ledger.races.goal_is_known(stored):
                damaged = True
                name = stored.result.name
                self._add(f"race {name}: the stored result does not match its fingerprint", REPAIR)
            elif self.ledger.orders.amended(stored.result) != stored.result:
                self._add(f"race {stored.result.name}: the stored result ignores an operator's order", REPAIR)
            if stored.counted_at > self.now + FUTURE:
                self._add(f"race {stored.result.name}: counts only on {stored.counted_at:%Y-%m-%d}", REBUILD)
            if damaged:
                continue  # later races would differ, too
            self._race(rater.rate(stored.result))
            replayed.add(stored.result.name)
            if progress is not None and number % BATCH == 0:
                progress(number)
        if damaged:
            return False
        for name in filterfalse(replayed.__contains__, self.ledger.ratings.races_after(self.board, 0)):
            self._add(f"race {name}: rated, but its result is not stored", REBUILD)
        return True

    def _race(self, replayed: RatedRow) -> None:
        """Report how a stored row differs from its replay, unless the difference is harmless."""
        try:
            stored = self.ledger.ratings.get(self.board, replayed.race)
        except LedgerError as error:
            self._add(f"race {replayed.race}: {error}", REBUILD)
            return
        if stored is None:
            self._add(f"race {replayed.race}: stored, but not rated", REBUILD)
            return
        if _agrees(stored, replayed):
            return
        difference = _row_difference(stored, replayed) if self.platforms else math.inf
        if difference <= LAST_BITS:
            self.differing += 1
            self.largest = max(self.largest, difference)
        else:
            self._add(f"race {replayed.race}: the stored changes differ from a replay", REBUILD)

    def _standings(self, rater: Rater) -> None:
        replayed = {s.player: s for s in rater.standings()}
        for standing in self.ledger.standings.all(self.board):
            expected = replayed.pop(standing.player, None)
            if expected is None:
                self._add(f"player {standing.name}: has a standing but no rated race", REBUILD)
            elif expected._replace(name=standing.name, hidden=standing.hidden) != standing and not (
                self.platforms and _standing_difference(expected, standing) <= LAST_BITS
            ):
                self._add(f"player {standing.name}: the standing differs from a replay", REBUILD)
        for player in replayed:
            self._add(f"player {player}: has rated races but no standing", REBUILD)

    def _add(self, text: str, remedy: str | None) -> None:
        self.problems.append(Problem(text, remedy))


def _agrees(stored: RatedRow, replayed: RatedRow) -> bool:
    """Return whether a row equals its replay. Older versions included the limit in the other parts."""
    if len(stored.changes) != len(replayed.changes):
        return False
    changes = (
        new._replace(parts=old.parts)
        if "limit" in dict(new.parts) and "limit" not in dict(old.parts) and _total(old) == _total(new)
        else new
        for old, new in zip(stored.changes, replayed.changes, strict=True)
    )
    return stored == replace(replayed, changes=tuple(changes))


def _total(change: Change) -> int:
    return sum(points for _, points in change.parts)


def _row_difference(stored: RatedRow, replayed: RatedRow) -> float:
    """Return the largest relative difference of two rows' numbers, infinite if anything else differs."""
    if _facts(stored) != _facts(replayed):
        return math.inf
    return max(
        (
            max(_difference(a.before, b.before), _difference(a.after, b.after))
            if abs(a.points_before - b.points_before) <= 1 and abs(a.points_after - b.points_after) <= 1
            else math.inf
            for a, b in zip(stored.changes, replayed.changes, strict=True)
        ),
        default=math.inf,
    )


def _facts(row: RatedRow) -> tuple[object, ...]:
    """Return the values in a row that are the same on every platform."""
    entrants = [(change.player, change.place, change.races_before) for change in row.changes]
    return row.sequence, row.race, row.note, entrants


def _standing_difference(expected: Standing, stored: Standing) -> float:
    alike = expected._replace(
        name=stored.name, hidden=stored.hidden, state=stored.state, rating=stored.rating, points=stored.points
    )
    if alike != stored or abs(expected.points - stored.points) > 1:
        return math.inf
    return max(_difference(expected.state, stored.state), _difference((expected.rating,), (stored.rating,)))


def _difference(a: State, b: State) -> float:
    """Return the largest difference of two states: relative for numbers above 1, absolute below."""
    if len(a) != len(b):
        return math.inf
    return max((abs(x - y) / max(1.0, abs(x), abs(y)) for x, y in zip(a, b, strict=True)), default=0.0)
