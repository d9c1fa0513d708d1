"""Rates races one after another on standings kept in memory."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter

import numpy as np

from racebot.errors import ModelError, PayloadError
from racebot.ledger.orders import EXCLUDED
from racebot.ledger.rows import TEAM_RACE, Leaderboard, RatedRow, Standing
from racebot.races.change import Change, State
from racebot.races.outcome import RatedRace, TeamPolicy, outcome_of
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import RatingModel, Stepwise

log = logging.getLogger(__name__)

NOBODY_FINISHED = "nobody finished"
TOO_FEW = "fewer than two rated entrants to compare"
UNCOMPARABLE = "its results cannot be compared"
UNSUITED = "the model cannot rate it"


class Rater:
    """A leaderboard's model, and its standings while races are added in order.

    Args:
        carried: the states that players carry over from an earlier leaderboard.
        next_sequence: the number of the next race in the leaderboard's sequence.
        excluded: the names of races that the operator excluded from the ratings.
    """

    def __init__(
        self,
        board: Leaderboard,
        carried: Mapping[str, State] | None = None,
        *,
        next_sequence: int = 1,
        excluded: Collection[str] = (),
    ) -> None:
        self.model: RatingModel = registry.create(board.model, board.parameters)
        self._stepwise = self.model if isinstance(self.model, Stepwise) else None
        self.teams = TeamPolicy(board.teams)
        self._excluded = excluded
        self._sequence = next_sequence
        self._standings: dict[str, Standing] = {}
        self._carried = carried or {}
        self._initial: State = tuple(self.model.initial().tolist())

    def load(self, standings: Iterable[Standing]) -> None:
        """Start from these standings."""
        self._standings.update((standing.player, standing) for standing in standings)

    def add(self, result: RaceResult) -> RatedRow:
        """Rate one more race and update the standings."""
        changes: list[Change] = []
        note = EXCLUDED if result.name in self._excluded else None
        if note is None:
            try:
                changes, note = self._rate(result)
            except PayloadError as error:
                log.warning("%s", error)
                note = UNCOMPARABLE
            except ModelError:
                note = UNSUITED
        row = RatedRow(self._sequence, result.name, tuple(changes), note)
        self._sequence += 1
        return row

    def state(self, player: str) -> tuple[State, bool]:
        """Return a player's state before the next race, and whether the player has raced here."""
        standing = self._standings.get(player)
        if standing is None:
            return self._carried.get(player, self._initial), False
        return standing.state, True

    def standings(self, players: Iterable[str] | None = None) -> list[Standing]:
        """Return current standings sorted by player: all of them, or those of the given players."""
        chosen = self._standings if players is None else self._standings.keys() & set(players)
        return [self._standings[player] for player in sorted(chosen)]

    def _rate(self, result: RaceResult) -> tuple[list[Change], str | None]:
        """Return the changes of a race by player, or the reason for having none."""
        race = outcome_of(result, self.teams)
        if result.team_race and self.teams is TeamPolicy.IGNORE:
            return [], TEAM_RACE
        if not race.outcome.rateable:
            return [], TOO_FEW if any(e.finished for e in result.entrants) else NOBODY_FINISHED
        earlier = [self._standings.get(player) for player in race.players]
        changes, ratings = self._changes(race, earlier)
        for change, rating, standing in zip(changes, ratings, earlier, strict=True):
            self._standings[change.player] = _moved(standing, change, rating, result.ended_at)
        return sorted(changes, key=attrgetter("player")), None

    def _changes(
        self, race: RatedRace, earlier: Sequence[Standing | None]
    ) -> tuple[list[Change], list[float]]:
        """Return each entrant's change and new rating, given their standings before the race."""
        states = [
            standing.state if standing else self._carried.get(player, self._initial)
            for player, standing in zip(race.players, earlier, strict=True)
        ]
        before = np.array(states)
        if self._stepwise is not None:
            steps = self._stepwise.steps(before, race.outcome)
            after, names = steps[-1][1], [name for name, _ in steps]
            stages = [before, *(states for _, states in steps)]
        else:
            after, names = self.model.rate(before, race.outcome), []
            stages = [before, after]
        unlimited = names[:-1] if names[-1:] == ["limit"] else names  # leave out a limit that did not apply
        # One call for all stages, since a call costs far more than its rows.
        points = self.model.points(np.concatenate(stages)).reshape(len(stages), len(states))
        changes = map(
            Change,
            race.players,
            race.places,
            states,
            map(tuple, after.tolist()),
            points[0].tolist(),
            points[-1].tolist(),
            [standing.races if standing else 0 for standing in earlier],
            [
                tuple(zip(names if each[-1:] != [0] else unlimited, each, strict=False))
                for each in np.diff(points, axis=0).T.tolist()
            ],
        )
        return list(changes), self.model.rating(after).tolist()


def _moved(standing: Standing | None, change: Change, rating: float, ended_at: datetime) -> Standing:
    """Return a player's standing after one more race."""
    finishes, wins, last = (
        (standing.finishes, standing.wins, standing.last_race_at) if standing else (0, 0, ended_at)
    )
    return Standing(
        change.player,
        change.after,
        rating,
        change.points_after,
        change.races_before + 1,
        finishes + (change.place is not None),
        wins + (change.place == 1),
        max(ended_at, last),
    )
