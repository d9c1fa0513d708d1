"""Rates stored races again: from a changed race on, or all races of a leaderboard.

Ratings are a function of the stored results, the operator's stored orders and the settings, so they can
be computed again. After a change to a race, its leaderboard is rated again from that race on, starting from
the states before it. A leaderboard that carries over starts from the standings of its source after all of the
source's races that count before its own first race.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

import numpy as np

from racebot.errors import ModelError
from racebot.ledger.rows import START, Leaderboard, Position, RatedRow, Standing, StoredRace, damaged_race
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.standings.platforms import this_platform
from racebot.standings.rater import Rater

log = logging.getLogger(__name__)

BATCH = 500
"""Number of races written at a time, which limits memory."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

Progress = Callable[[int], None]
"""Called after each batch with the number of races rated so far."""


class Replay:
    """Keeps a ledger's ratings consistent with its stored results and the settings.

    Args:
        ledger: the ledger. Its stored results have the operator's orders applied.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def update(
        self, since: Mapping[int, Position], *, wanted: str | None = None, progress: Progress | None = None
    ) -> dict[int, RatedRow]:
        """Rate leaderboards again from given positions on, sources before their dependants.

        A leaderboard is rebuilt if the states that its players carry over have changed.

        Args:
            since: the position of the first new, changed or removed race, by the key of the leaderboard.
            wanted: the name of a race whose rows to return.
            progress: called while races are rated.

        Returns:
            The rows of the `wanted` race by the key of their leaderboard.

        Raises:
            DamagedRaceError: a stored result that must be rated is damaged.
            ModelError: a leaderboard carries over from one of another model, or its model cannot carry over.
        """
        starts = dict(since)
        rows = {}
        with self._ledger.transaction():
            for board in sources_first(self._ledger.leaderboards()):
                start = self._start(board, starts)
                if start is not None:
                    starts[board.key] = start
                    row = self._rate_from(board, start, wanted, progress)
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
        self.update({board.key: START}, progress=progress)
        return self._ledger.rated_count(board)

    def rater(self, board: Leaderboard, players: Iterable[str], moment: datetime) -> Rater:
        """Return a rater with these players' current standings, for a race that would count at `moment`."""
        first = None if board.id is None else self._ledger.first_position(board)
        carried = self.brought(board, moment) if first is None else self.carried(board)
        rater = Rater(board, carried, excluded=self._ledger.orders.excluded())
        if board.id is not None:
            rater.load(self._standings(board, players))
        return rater

    def standings(self, board: Leaderboard) -> list[Standing]:
        """Return the standings that a leaderboard's stored races lead to. Stores nothing."""
        rater = Rater(board, self.brought_now(board), excluded=self._ledger.orders.excluded())
        for batch in _batches(self._ledger.races_of(board)):
            for stored in batch:
                rater.add(stored.result)
        return rater.standings()

    def carried(self, board: Leaderboard) -> dict[str, State]:
        """Return the stored states that players carried over into a leaderboard."""
        return {} if board.carry is None else self._ledger.carried(board)

    def brought(self, board: Leaderboard, moment: datetime | None) -> dict[str, State]:
        """Compute the states that players carry over into a leaderboard whose first race counts at `moment`.

        Raises:
            ModelError: its source has another model, or the model cannot carry over.
        """
        if board.carry is None or moment is None:
            return {}
        source = self._ledger.leaderboard(board.category, board.carry.source)
        if source is None:
            return {}
        model = registry.create(board.model, board.parameters)
        if source.model != board.model or not isinstance(model, Carries):
            raise ModelError(
                f"leaderboard {board.name!r} cannot carry over from {source.name!r}: they are rated by "
                f"{board.model} and {source.model}; use one model that can carry over for both"
            )
        before = self._ledger.states_before(source, moment)
        if not before:
            return {}
        states = model.carried(np.array(list(before.values())), board.carry.factor, board.carry.most_races)
        return dict(zip(before, map(tuple, states.tolist()), strict=True))

    def brought_now(self, board: Leaderboard) -> dict[str, State]:
        """Compute the states that players carry over into a leaderboard with its current races."""
        first = None if board.carry is None else self._ledger.first_position(board)
        return {} if first is None else self.brought(board, first.counted_at)

    def _start(self, board: Leaderboard, starts: Mapping[int, Position]) -> Position | None:
        """Return where to start rating a leaderboard, None if nothing that it depends on has changed."""
        start = starts.get(board.key)
        if board.carry is None:
            return start
        first = self._ledger.first_position(board)
        source = self._ledger.leaderboard(board.category, board.carry.source)
        changed = None if source is None else starts.get(source.key)
        source_changed = changed is not None and first is not None and changed < first
        begins = start is not None and (first is None or start <= first)
        if not (source_changed or begins):
            return start
        brought = self.brought_now(board)
        if brought == self._ledger.carried(board):
            return start
        if start != START and self._ledger.last_counted(board) is not None:
            log.warning(
                "leaderboard %s: ratings carried over from %s have changed; rebuilding",
                board.name,
                board.carry.source,
            )
        self._ledger.replace_carried(board, brought)
        return START

    def _rate_from(
        self, board: Leaderboard, start: Position, wanted: str | None, progress: Progress | None
    ) -> RatedRow | None:
        """Rate a leaderboard's races from a position on. Return the row of the `wanted` race, if any."""
        ledger = self._ledger
        sequence, after = ledger.sequence_at(board, start)
        earlier = ledger.standings_before(board, sequence) if sequence > 1 else []
        rater = Rater(
            board, self.carried(board), next_sequence=sequence, excluded=self._ledger.orders.excluded()
        )
        rater.load(_as_before(rater, earlier))
        known = {standing.player for standing in earlier}
        ledger.truncate(board, sequence)
        found, rated = None, 0
        for batch in _batches(ledger.races_of(board, after)):
            if sequence > 1:
                players = {e.user_id for stored in batch for e in stored.result.entrants if e.user_id} - known
                rater.load(self._standings(board, sorted(players)))
                known |= players
            rows = [rater.add(stored.result) for stored in batch]
            ledger.append(board, rows, this_platform())
            found = next((row for row in rows if row.race == wanted), found)
            rated += len(rows)
            if progress is not None:
                progress(rated)
        if sequence == 1:
            ledger.remove_standings(board)
        ledger.replace_standings(board, self._moved(board, sequence, earlier, rater.standings()))
        return found

    def _moved(
        self, board: Leaderboard, sequence: int, earlier: Sequence[Standing], standings: Sequence[Standing]
    ) -> list[Standing]:
        """Return the standings to store after rating again from a sequence number on."""
        last_race = {standing.player: standing.last_race_at for standing in earlier if standing.races}
        moved = []
        for standing in standings:
            if standing.last_race_at < last_race.get(standing.player, _LONG_AGO):
                # A race that was removed may have been the player's last.
                before = self._ledger.last_race_before(board, standing.player, sequence)
                standing = replace(standing, last_race_at=max(before, standing.last_race_at))  # noqa: PLW2901
            moved.append(standing)
        present = {standing.player for standing in standings}
        return moved + [standing for standing in earlier if standing.player not in present]

    def _standings(self, board: Leaderboard, players: Iterable[str]) -> list[Standing]:
        return [s for player in players if (s := self._ledger.standing(board, player)) is not None]


def sources_first(boards: Iterable[Leaderboard]) -> list[Leaderboard]:
    """Sort leaderboards so that each comes after the one that it carries over from."""
    named = {(board.category, board.name): board for board in boards}
    ordered: dict[tuple[str, str], Leaderboard] = {}

    def add(board: Leaderboard, above: frozenset[str]) -> None:
        source = None if board.carry is None else named.get((board.category, board.carry.source))
        if source is not None and source.name not in above:
            add(source, above | {source.name})
        ordered.setdefault((board.category, board.name), board)

    for board in named.values():
        add(board, frozenset({board.name}))
    return list(ordered.values())


def _as_before(rater: Rater, earlier: Sequence[Standing]) -> list[Standing]:
    """Return earlier standings with ratings, for players without a race since."""
    raced = [standing for standing in earlier if standing.races]
    if not raced:
        return []
    ratings = rater.model.rating(np.array([standing.state for standing in raced])).tolist()
    return [
        replace(standing, rating=rating, last_race_at=_LONG_AGO)
        for standing, rating in zip(raced, ratings, strict=True)
    ]


def _batches(races: Iterator[StoredRace]) -> Iterator[list[StoredRace]]:
    """Yield races in batches, checking each against its fingerprint."""
    while batch := list(islice(races, BATCH)):
        for stored in batch:
            if not stored.intact:
                raise damaged_race(stored.result.name)
        yield batch
