"""Rates races one after another on standings kept in memory."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime

import numpy as np

from racebot.errors import ModelError, PayloadError
from racebot.ledger.orders import EXCLUDED
from racebot.ledger.rows import TEAM_RACE, Leaderboard, RatedRow, Standing
from racebot.races.change import Change, State
from racebot.races.outcome import RatedRace, TeamPolicy, outcome_of, places
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, RatingModel, Stepwise

log = logging.getLogger(__name__)

NOBODY_FINISHED = "nobody finished"
TOO_FEW = "fewer than two rated entrants to compare"
UNCOMPARABLE = "its results cannot be compared"
UNSUITED = "the model cannot rate it"


class Rater:
    """A leaderboard's model, and its standings while races are added in order.

    Args:
        board: the leaderboard.
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
        self.teams = TeamPolicy(board.teams)
        self._excluded = excluded
        self._sequence = next_sequence
        self._standings: dict[str, Standing] = {}
        self._carried = carried or {}
        self._initial: State = tuple(self.model.initial().tolist())

    def load(self, standings: Iterable[Standing]) -> None:
        """Start from these standings."""
        self._standings.update({s.player: replace(s, name="", hidden=False) for s in standings})

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

    def copy(self) -> Rater:
        """Return a copy that can go on independently."""
        other = copy(self)
        other._standings = dict(self._standings)
        return other

    def _rate(self, result: RaceResult) -> tuple[list[Change], str | None]:
        """Return the changes of a race by player, or the reason for having none."""
        race = outcome_of(result, self.teams)
        if result.team_race and self.teams is TeamPolicy.IGNORE:
            return [], TEAM_RACE
        if not race.outcome.rateable:
            return [], TOO_FEW if any(e.finished for e in result.entrants) else NOBODY_FINISHED
        changes, ratings = self._changes(result, race)
        for change, rating in zip(changes, ratings, strict=True):
            standing = self._standings.get(change.player)
            self._standings[change.player] = _moved(standing, change, rating, result.ended_at)
        return sorted(changes, key=lambda change: change.player), None

    def _changes(self, result: RaceResult, race: RatedRace) -> tuple[list[Change], list[float]]:
        """Return each entrant's change and new rating."""
        players = [str(entrant.user_id) for entrant in race.entrants]
        states = [self.state(player)[0] for player in players]
        before = np.array(states)
        steps: Sequence[tuple[str, FloatArray]] = ()
        if isinstance(self.model, Stepwise):
            steps = self.model.steps(before, race.outcome)
        after = steps[-1][1] if steps else self.model.rate(before, race.outcome)
        stages = [before, *(states for _, states in steps)] if steps else [before, after]
        # One call for all stages, since a call costs far more than its rows.
        points = self.model.points(np.concatenate(stages)).reshape(len(stages), len(players))
        names = [name for name, _ in steps]
        place_of = places(result, self.teams)
        changes = [
            Change(
                player=player,
                place=place_of[entrant],
                before=tuple(row_before),
                after=tuple(row_after),
                points_before=shown_before,
                points_after=shown_after,
                races_before=standing.races if (standing := self._standings.get(player)) else 0,
                parts=_parts(names, row_parts),
            )
            for player, entrant, row_before, row_after, shown_before, shown_after, row_parts in zip(
                players,
                race.entrants,
                before.tolist(),
                after.tolist(),
                points[0].tolist(),
                points[-1].tolist(),
                np.diff(points, axis=0).T.tolist() if names else [[]] * len(players),
                strict=True,
            )
        ]
        return changes, self.model.rating(after).tolist()


def _parts(names: Sequence[str], points: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Return points by cause, without a limit that did not apply."""
    given = zip(names, points, strict=True)
    return tuple((name, each) for name, each in given if each or name != "limit")


def _moved(standing: Standing | None, change: Change, rating: float, ended_at: datetime) -> Standing:
    """Return a player's standing after one more race."""
    finished, won = change.place is not None, change.place == 1
    return Standing(
        player=change.player,
        state=change.after,
        rating=rating,
        points=change.points_after,
        races=change.races_before + 1,
        finishes=(standing.finishes if standing else 0) + finished,
        wins=(standing.wins if standing else 0) + won,
        last_race_at=max(ended_at, standing.last_race_at) if standing else ended_at,
    )
