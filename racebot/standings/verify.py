"""Compares a ledger's ratings with a replay of its stored results, to the last bit."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import filterfalse, islice

from racebot.errors import DamagedRaceError, LedgerError
from racebot.ledger.rows import REBUILD, RESTORE, Leaderboard, RatedRow, Standing, State, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.events import Event
from racebot.races.result import RaceResult
from racebot.standings.rater import Rater, states_to_carry_now, this_platform

REPAIR = f"run `racebot backfill`, or {RESTORE}"
REPAIR_EVENT = "run `racebot event reopen` and `racebot event close`"
AT_ONCE = 20
"""Races to read, rate and compare at a time. Those read with one that cannot be read are not compared."""
LAST_BITS = 1e-6
"""Largest relative difference that other hardware or library versions can cause."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A difference between the ledger and a replay. One without a remedy is harmless."""

    text: str
    remedy: str | None = None


def verify(
    ledger: Ledger, board: Leaderboard, progress: Callable[[int], None] = lambda races: None
) -> list[Problem]:
    """Replay a leaderboard's stored results, and return how its stored ratings differ. Writes nothing.

    `progress` is called with the number of races compared so far.
    """
    if ledger.rebuilds.of(board) is not None:
        text = "its ratings are out of date until it is rated again"
        return [Problem(text, f"start the bot, or {REBUILD}")]
    elsewhere = sorted(set(ledger.ratings.platforms(board)) - {this_platform()})
    allowed = LAST_BITS if elsewhere else -math.inf
    explained: list[float] = []
    problems = []
    try:
        for problem in _problems(ledger, board, progress, allowed, explained):
            problems.append(problem)  # noqa: PERF402 - those before an error count, too
    except DamagedRaceError as error:
        problems.append(Problem(str(error), REPAIR))
    except LedgerError as error:
        problems.append(Problem(str(error), REBUILD))
    if explained:
        others = "; ".join(each or "an unknown platform" for each in elsewhere)
        text = f"{len(explained)} races differ in the last bits, by at most {max(explained):.1g}: "
        problems.append(Problem(f"{text}they were rated on {others}, and this is {this_platform()}"))
    return problems


def _problems(
    ledger: Ledger,
    board: Leaderboard,
    progress: Callable[[int], None],
    allowed: float,
    explained: list[float],
) -> Iterator[Problem]:
    """Yield all problems, and collect differences of races up to `allowed` in `explained` instead."""
    carried = ledger.leaderboards.carried(board)
    if carried != states_to_carry_now(ledger, board):
        yield Problem("carried-over ratings differ from the standings of its source", REBUILD)
    rater = Rater(board, carried)
    events = {event.name: event for event in ledger.events.all()}
    replayed, damaged = set(), False
    races = ledger.races.of(board)
    while batch := list(islice(races, AT_ONCE)):
        sound: list[StoredRace] = []
        for stored in batch:
            if not stored.intact:
                damaged = True
                text = f"race {stored.result.name}: the stored result does not match its fingerprint"
                yield Problem(text, REPAIR)
            else:
                yield from _ignored_order(ledger, events.get(stored.result.name), stored.result)
            if not damaged:  # later races would differ, too
                sound.append(stored)
        for row in [rater.rate_next(each.result, each.note) for each in sound]:
            replayed.add(row.race)
            if not ledger.ratings.holds(board, row):
                yield from _unlike_replay(ledger, board, row, allowed, explained)
        progress(len(replayed))
    if not damaged:
        for name in filterfalse(replayed.__contains__, ledger.ratings.races(board)):
            yield Problem(f"race {name}: rated, but its result is not stored", REBUILD)
        yield from _standing_problems(ledger, board, rater, allowed)


def _ignored_order(ledger: Ledger, event: Event | None, result: RaceResult) -> Iterator[Problem]:
    """Yield a problem if a race is not what orders, or the sources of its event, make of it."""
    if ledger.people.amended(result) != result:
        yield Problem(f"race {result.name}: the stored result ignores an operator's order", REPAIR)
    elif event is not None and result != ledger.events.combined(event):
        yield Problem(f"race {result.name}: the stored result differs from the event's sources", REPAIR_EVENT)


def _unlike_replay(
    ledger: Ledger, board: Leaderboard, row: RatedRow, allowed: float, explained: list[float]
) -> Iterator[Problem]:
    """Yield a problem if the stored changes of a race differ from a replay by more than is allowed."""
    try:
        stored = ledger.ratings.get(board, row.race)
    except LedgerError as error:
        yield Problem(f"race {row.race}: {error}", REBUILD)
        return
    difference = math.inf if stored is None else _row_difference(stored, row)
    if stored is None:
        yield Problem(f"race {row.race}: stored, but not rated", REBUILD)
    elif stored != row and difference > allowed:
        yield Problem(f"race {row.race}: the stored changes differ from a replay", REBUILD)
    elif stored != row:
        explained.append(difference)


def _standing_problems(ledger: Ledger, board: Leaderboard, rater: Rater, allowed: float) -> Iterator[Problem]:
    standings = {standing.player: standing for standing in rater.standings()}
    for shown in ledger.standings.all(board):
        expected = standings.pop(shown.player, None)
        if expected is None:
            yield Problem(f"player {shown.name}: has a standing but no rated race", REBUILD)
            continue
        expected = expected._replace(name=shown.name, hidden=shown.hidden)
        if expected != shown and _standing_difference(expected, shown) > allowed:
            yield Problem(f"player {shown.name}: the standing differs from a replay", REBUILD)
    for player in standings:
        yield Problem(f"player {player}: has rated races but no standing", REBUILD)


def _row_difference(stored: RatedRow, replayed: RatedRow) -> float:
    """Return the largest relative difference of two rows' numbers, infinite if anything else differs."""
    same = replace(stored, changes=()) == replace(replayed, changes=())
    if not same or len(stored.changes) != len(replayed.changes):
        return math.inf
    differences = [0.0 if stored.changes else math.inf]
    for a, b in zip(stored.changes, replayed.changes, strict=True):
        points = max(abs(a.points_before - b.points_before), abs(a.points_after - b.points_after))
        alike = (a.player, a.place, a.races_before) == (b.player, b.place, b.races_before)
        states = max(_difference(a.before, b.before), _difference(a.after, b.after))
        differences.append(states if alike and points <= 1 else math.inf)
    return max(differences)


def _standing_difference(expected: Standing, stored: Standing) -> float:
    alike = expected._replace(state=stored.state, rating=stored.rating, points=stored.points)
    if alike != stored or abs(expected.points - stored.points) > 1:
        return math.inf
    return max(_difference(expected.state, stored.state), _difference((expected.rating,), (stored.rating,)))


def _difference(a: State, b: State) -> float:
    """Return the largest difference of two states: relative for numbers above 1, absolute below."""
    if len(a) != len(b):
        return math.inf
    return max((abs(x - y) / max(1.0, abs(x), abs(y)) for x, y in zip(a, b, strict=True)), default=0.0)
