"""Rates a leaderboard's stored races again from one race on, in memory.

A long re-rating takes seconds, too long to block the ledger. So a transaction that needs one is
undone with `RatingsDeferred`, which holds the task. A `Preparer` does the task over its own connection. The
same transaction, run again, finds the prepared ratings and only writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from racebot.ledger.rewriting import Difference
from racebot.ledger.rows import Leaderboard, Position, RatedRow, Standing, StoredRace
from racebot.ledger.shadows import Pause
from racebot.ledger.store import Ledger
from racebot.races.change import State
from racebot.standings.rater import Rater
from racebot.telemetry.collector import uncollected

BATCH = 500
"""Number of races read and written at a time, which limits memory."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

Progress = Callable[[int], None]
"""Called after each batch with the number of races rated so far."""


@dataclass(frozen=True, slots=True)
class RerateTask:
    """Which races to rate again, with everything that their ratings depend on except the stored races.

    Attributes:
        board: the leaderboard, with the settings to rate it with. It has no id until it has rated races.
        sequence: number of the first race in the leaderboard's sequence.
        after: position of the race before it.
        carried: the states that players carry over into the leaderboard.
        excluded: names of the races that the operator excluded.
        revision: the leaderboard's revision (`Ledger.revision_of`).
        edits: races that the transaction stores, replaces or, if None, deletes, by name.
    """

    board: Leaderboard
    sequence: int
    after: Position
    carried: Mapping[str, State]
    excluded: frozenset[str]
    revision: int = 0
    edits: Mapping[str, StoredRace | None] = field(default_factory=dict)


class RatingsDeferred(Exception):  # noqa: N818 - not an error: the caller prepares the ratings and tries again
    """A transaction needs ratings that take long to compute. It was undone."""

    def __init__(self, task: RerateTask) -> None:
        super().__init__(f"leaderboard {task.board.name}: ratings must be prepared")
        self.task = task


class Rerating:
    """A leaderboard's standings while its races are rated again.

    Args:
        ledger: the ledger, before anything about the leaderboard is written.
        task: the races to rate.
    """

    def __init__(self, ledger: Ledger, task: RerateTask) -> None:
        self.board = task.board
        self.sequence = task.sequence
        self.last = task.after
        """Position of the last race rated so far."""
        self.races = 0
        """Number of races rated so far."""
        earlier = ledger.standings_before(self.board, self.sequence) if self.sequence > 1 else []
        self._rater = Rater(self.board, task.carried, next_sequence=self.sequence, excluded=task.excluded)
        self._rater.load(self._as_before(earlier))
        self._earlier = {standing.player: standing for standing in earlier}
        self._known = set(self._earlier)

    @property
    def next_sequence(self) -> int:
        """The number of the next race in the leaderboard's sequence."""
        return self.sequence + self.races

    @uncollected()
    def rate_batch(
        self,
        ledger: Ledger,
        *,
        edits: Mapping[str, StoredRace | None] | None = None,
        pause: Pause | None = None,
    ) -> list[RatedRow]:
        """Rate the next `BATCH` races, and return them with their changes; an empty list at the end.

        Args:
            edits: races that differ from the stored ones (`RerateTask.edits`).
            pause: called before each race.

        Raises:
            DamagedRaceError: a stored result does not match its fingerprint.
        """
        following = list(ledger.races_of(self.board, self.last, BATCH))
        races = _edited(self.board, following, edits or {}, self.last)
        for stored in races:
            stored.require_intact()
        if self.sequence > 1:
            players = {e.user_id for stored in races for e in stored.result.entrants if e.user_id}
            self._load(ledger, sorted(players - self._known))
        rows = []
        for stored in races:
            if pause is not None:
                pause()
            rows.append(self._rater.rate(stored.result))
        if races:
            self.last = races[-1].position
            self.races += len(races)
        return rows

    def standings(self, ledger: Ledger, players: Collection[str] | None = None) -> list[Standing]:
        """Return the standings of players after the races rated so far.

        Args:
            ledger: holds the earlier races.
            players: limits the result to these players. Default: all players whose standing may have changed.
                Players without any race have zero races.
        """
        moved = []
        for standing in self._rater.standings(players):
            before = self._earlier.get(standing.player)
            if before is not None and before.races and standing.last_race_at < before.last_race_at:
                # A race that was removed may have been the player's last.
                last = ledger.last_race_before(self.board, standing.player, self.sequence)
                standing = standing._replace(last_race_at=max(last, standing.last_race_at))  # noqa: PLW2901
            moved.append(standing)
        present = {standing.player for standing in moved}
        wanted = self._earlier if players is None else set(players) & set(self._earlier)
        return moved + [self._earlier[player] for player in wanted if player not in present]

    def kept_last_race(self, standing: Standing) -> bool:
        """Return whether a player's last race is the same as in the stored standing."""
        before = self._earlier.get(standing.player)
        return before is not None and bool(standing.races) and before.last_race_at == standing.last_race_at

    def _load(self, ledger: Ledger, players: Collection[str]) -> None:
        """Load the standings before the first race of players who have not raced since."""
        since = ledger.standings_before(self.board, self.sequence, players)
        raced_since = {standing.player for standing in since}
        self._rater.load(self._as_before(since))
        self._earlier = {**self._earlier, **{standing.player: standing for standing in since}}
        others = (ledger.standing(self.board, player) for player in players if player not in raced_since)
        self._rater.load(standing for standing in others if standing is not None)
        self._known.update(players)

    def _as_before(self, earlier: Iterable[Standing]) -> list[Standing]:
        """Return earlier standings with ratings, for players without a race since."""
        raced = [standing for standing in earlier if standing.races]
        if not raced:
            return []
        model = self._rater.model
        ratings = model.rating(np.array([standing.state for standing in raced])).tolist()
        return [
            standing._replace(rating=rating, last_race_at=_LONG_AGO)
            for standing, rating in zip(raced, ratings, strict=True)
        ]


@dataclass(slots=True)
class PreparedRatings:
    """Ratings that wait for their transaction: in memory, or in a shadow leaderboard if there are many.

    Attributes:
        task: what was rated.
        rerating: the standings after it.
        stored: number of the leaderboard's last stored race when the work began.
        difference: what to write, if the ratings are in memory.
        shadow: the leaderboard that holds them otherwise.
        players: players whose standing differs from the stored one.
        since: races that were settled meanwhile, rated by an attempt to write these ratings.
    """

    task: RerateTask
    rerating: Rerating
    stored: int
    difference: Difference | None = None
    shadow: Leaderboard | None = None
    players: set[str] = field(default_factory=set)
    since: list[RatedRow] = field(default_factory=list)


def _edited(
    board: Leaderboard,
    stored: list[StoredRace],
    edits: Mapping[str, StoredRace | None],
    after: Position,
) -> list[StoredRace]:
    """Return the next races, a batch of the stored ones, once a transaction's edits are stored."""
    if not edits:
        return stored
    until = stored[-1].position if len(stored) == BATCH else None
    added = [
        race
        for race in edits.values()
        if race is not None
        and race.result.category == board.category
        and race.result.goal in board.goals
        and after < race.position
        and (until is None or race.position <= until)
    ]
    kept = [race for race in stored if race.result.name not in edits]
    return sorted([*kept, *added], key=lambda race: race.position)
