"""Brings stored ratings up to date after stored races, operators' orders or settings have changed.

After a change to a race, its leaderboards are rated again from that race on. A new race comes last, so only
it is rated. Ratings are computed in memory, and replace the stored ones in one transaction. If that takes
long, they are computed from a snapshot, so that other processes can write meanwhile: the leaderboard gets a
rebuild, which `carry_out_rebuilds` carries out.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime

from racebot.errors import DamagedRaceError
from racebot.ledger.leaderboards import Rebuild
from racebot.ledger.rows import START, Leaderboard, Position, RatedRow, Standing, State
from racebot.ledger.store import Ledger
from racebot.standings.rater import Rater, standings_before, states_to_carry_now, this_platform

log = logging.getLogger(__name__)

LONGEST = 0.5
"""Seconds that rating again may take inside the transaction of a change. More is left to a rebuild."""
SECONDS_PER_RACE = 0.0025  # an estimate for leaderboards that this process has not rated yet
BATCH = 100  # number of stored races to read and rate at a time, which limits memory

_measured: dict[tuple[str, str], float] = {}
"""Seconds per race when leaderboards were last rated, by category and name."""


def update_ratings(
    ledger: Ledger,
    since: Mapping[int, Position],
    reason: str = "",
    *,
    is_new: bool = False,
    rated: Collection[int] = (),
) -> set[int]:
    """Rate leaderboards again from given positions on, sources before their dependants.

    A leaderboard is rated from its start if the states that its players carry over have changed, and gets a
    rebuild if a stored result is damaged.

    Args:
        since: the position of the first new, changed or removed race, by the key of the leaderboard.
        reason: why, in a few words, for `racebot status`; by default, that the first race changed.
        is_new: whether the only change is one new race.
        rated: keys of the leaderboards in `since` that are rated already; only their dependants are not.

    Returns:
        The keys of the leaderboards that keep their old ratings until their rebuild is done.

    Raises:
        ModelError: a leaderboard carries over from one of another model, or its model cannot carry over.
    """
    waiting = set()
    with ledger.transaction():
        boards = ledger.leaderboards.all()
        starts = {_name(board): since[board.key] for board in boards if board.key in since}
        for board in sources_first(boards):
            if board.key in rated:
                continue
            rebuild = ledger.rebuilds.of(board)
            start, to_carry = starts.get(_name(board)), None
            if rebuild is None:  # a rebuild looks at the source by itself
                start, to_carry = _start(ledger, board, starts)
            if start is None:
                continue
            again = RatedAgain(ledger, board, start, to_carry)
            why = reason or f"the result of {start.race} changed"
            # An event that was reopened and closed again may still be rated at its earlier position.
            is_rated = rebuild is not None and is_new and ledger.ratings.has(board, start.race)
            is_last = is_new and not is_rated and ledger.races.count(board, start) == 0
            if rebuild is not None and is_last:
                again.leave_out_races_before(start.counted_at)  # the rebuild rates them
            elif rebuild is not None:
                ledger.rebuilds.request(rebuild.board, start, why)
            with suppress(DamagedRaceError):  # the rebuild waits for the right result, and names the race
                if not is_rated and fits(board, again.left()):
                    again.catch_up()
                    again.store()
                    starts[_name(board)] = start
                    continue
            if rebuild is None:
                ledger.rebuilds.request(board, start, why)
            log.info("leaderboard %s: to be rated again in the background: %s", board.name, why)
            ledger.ratings.rate_later(board, ledger.connection.races_written)
            waiting.add(board.key)
            starts.pop(_name(board), None)
    return waiting


def save_settings(ledger: Ledger, board: Leaderboard, reason: str) -> bool:
    """Store a leaderboard with changed settings, or leave that to a rebuild if it takes long or must fail.

    Return whether the settings are stored. The caller must then rate the leaderboard again from its start.
    """
    source = ledger.leaderboards.source(board)
    waits = ledger.rebuilds.of(board) or (source and ledger.rebuilds.of(source))
    with suppress(DamagedRaceError):
        if not waits and fits(board, ledger.races.count(board)):
            for stored in ledger.races.of(board):
                stored.require_intact()
            ledger.leaderboards.save(board)
            return True
    ledger.leaderboards.rename(board, board.name, board.goals)
    ledger.rebuilds.request(board, START, reason)
    return False


def carry_out_rebuilds(
    ledger: Ledger, progress: Callable[[Rebuild, int, int], None] = lambda *_: None
) -> dict[str, Exception]:
    """Carry out all rebuilds of a ledger. Return the errors by leaderboard.

    A failed rebuild stays, with its error, for a later try. `progress` is called with a rebuild, the number
    of races that are rated, and the number of races to rate.
    """
    errors: dict[str, Exception] = {}
    failed: set[int] = set()
    while (rebuild := _next(ledger, failed)) is not None:
        try:
            if not _carry_out(ledger, rebuild, progress):
                log.info("leaderboard %s: an earlier race changed; starting again", rebuild.board.name)
        except Exception as error:  # other leaderboards can be rated all the same
            ledger.rebuilds.fail(rebuild, str(error) or repr(error))
            errors[rebuild.board.name] = error
            failed.add(rebuild.board.key)
    return errors


def sources_first(boards: Iterable[Leaderboard]) -> list[Leaderboard]:
    """Sort leaderboards so that each comes after the one that it carries over from."""
    named = {(board.category, board.name): board for board in boards}

    def depth(board: Leaderboard, most: int = len(named)) -> int:
        source = named.get((board.category, board.carry.source)) if board.carry is not None else None
        return 0 if source is None or most == 0 else 1 + depth(source, most - 1)

    return sorted(named.values(), key=depth)


def fits(board: Leaderboard, races: int) -> bool:
    """Return whether races of a leaderboard can be rated inside a transaction. A new race always is."""
    return races <= 1 or races * _measured.get(_name(board), SECONDS_PER_RACE) <= LONGEST


class RatedAgain:
    """A leaderboard's races from one of them on, rated again in memory.

    Args:
        start: the position of the first race to rate.
        carried: the states that players carry over into the leaderboard; None if they have not changed.
    """

    def __init__(
        self, ledger: Ledger, board: Leaderboard, start: Position, carried: Mapping[str, State] | None = None
    ) -> None:
        self._ledger, self._board, self._carried = ledger, board, carried
        self._sequence, self._last = ledger.ratings.sequence_at(board, start)
        now = ledger.leaderboards.carried(board) if carried is None else carried
        self._rater = Rater(board, now, next_sequence=self._sequence)
        self._rows: list[RatedRow] = []
        self._unrated: dict[str, Standing] = {}
        self._known: set[str] = set()
        if self._sequence > 1:
            self._load(None)

    def left(self) -> int:
        return self._ledger.races.count(self._board, self._last)

    def leave_out_races_before(self, moment: datetime) -> None:
        """Rate only the races that count from a time on."""
        self._last = max(self._last, Position(moment))

    def catch_up(self, progress: Callable[[int], None] = lambda _: None) -> None:
        """Rate all stored races that are not rated yet. A further call rates those stored since.

        Raise `DamagedRaceError` if a stored result does not match its fingerprint.
        """
        started, before = time.monotonic(), len(self._rows)
        while races := list(self._ledger.races.of(self._board, self._last, limit=BATCH)):
            for stored in races:
                stored.require_intact()
            players = {e.user_id for stored in races for e in stored.result.entrants if e.user_id}
            if self._sequence > 1:
                if before:  # races stored since the first call may have changed their standings
                    self._load(players - self._known)
                self._rater.load(self._ledger.standings.of(self._board, players - self._known))
                self._known |= players
            self._rows += [self._rater.rate_next(stored.result, stored.note) for stored in races]
            self._last = races[-1].position
            progress(len(self._rows))
        if (rated := len(self._rows) - before) >= BATCH:
            _measured[_name(self._board)] = (time.monotonic() - started) / rated

    def standings(self) -> list[Standing]:
        """Return the standings of all loaded players. A player without any race left has zero races."""
        rated = {standing.player: standing for standing in self._rater.standings()}
        return list((self._unrated | rated).values())

    def store(self) -> None:
        """Replace the stored ratings from the first race on."""
        ledger, board, standings = self._ledger, self._board, self.standings()
        with ledger.transaction():
            if self._carried is not None:
                ledger.leaderboards.replace_carried(board, self._carried)
            ledger.ratings.truncate(board, self._sequence)
            ledger.ratings.append(board, self._rows, this_platform())
            ledger.standings.replace(board, standings, every=self._sequence == 1)

    def _load(self, players: Collection[str] | None) -> None:
        """Begin with the standings before the first race, of these players or of all who have raced since."""
        raced = self._ledger.ratings.racers(self._board, self._sequence)
        raced = raced if players is None else raced.intersection(players)
        earlier = standings_before(self._ledger, self._board, self._sequence, raced)
        self._known |= raced
        new = raced - earlier.keys()
        self._unrated |= {each: Standing(each, (), 0, 0, 0, 0, 0, START.counted_at) for each in new}
        self._rater.load(earlier.values())


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
    if start != START and ledger.ratings.count(board):
        text = "leaderboard %s: ratings carried over from %s have changed; rebuilding"
        log.warning(text, board.name, board.carry.source)
    return START, to_carry


def _next(ledger: Ledger, failed: Collection[int]) -> Rebuild | None:
    """Return the next rebuild, sources before their dependants. A dependant of a failed one has to wait."""
    rebuilds = {rebuild.board.key: rebuild for rebuild in ledger.rebuilds.all()}
    left = {_name(rebuild.board) for rebuild in rebuilds.values()}
    for board in sources_first(rebuild.board for rebuild in rebuilds.values()):
        if board.key not in failed and not (board.carry and (board.category, board.carry.source) in left):
            return rebuilds[board.key]
    return None


def _carry_out(ledger: Ledger, rebuild: Rebuild, progress: Callable[[Rebuild, int, int], None]) -> bool:
    """Rate a leaderboard again. Return False if that must be repeated, because earlier races changed."""
    board = rebuild.board
    log.info("leaderboard %s: rating it again: %s", board.name, rebuild.reason)
    with ledger.snapshot():
        carried = states_to_carry_now(ledger, board)
        # The source may have been rated again since the rebuild was requested.
        start = rebuild.start if carried == ledger.leaderboards.carried(board) else START
        again = RatedAgain(ledger, board, start, carried)
        total = again.left()
        again.catch_up(lambda races: progress(rebuild, races, total))
    with ledger.transaction():
        stored = ledger.rebuilds.of(board)
        is_current = stored is not None and stored.revision == rebuild.revision
        if not is_current or states_to_carry_now(ledger, board) != carried:
            return False
        again.catch_up()
        ledger.leaderboards.save(board)
        again.store()
        ledger.rebuilds.remove(board)
        update_ratings(ledger, {board.key: start}, rebuild.reason, rated={board.key})
        ledger.people.remove_merged_players()
    return True


def _name(board: Leaderboard) -> tuple[str, str]:
    return board.category, board.name
