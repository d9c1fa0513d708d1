"""Rates races one after another on a leaderboard's standings in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from racebot.errors import ModelError, PayloadError
from racebot.ledger.rows import Leaderboard, RatedRow, Standing
from racebot.races.change import Change, State
from racebot.races.outcome import RatedRace, TeamPolicy, outcome_of, places
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, RatingModel, Stepwise

log = logging.getLogger(__name__)

TEAM_RACE = "team race"
NOBODY_FINISHED = "nobody finished"
TOO_FEW = "fewer than two rated entrants to compare"
UNCOMPARABLE = "its results cannot be compared"
UNSUITED = "the model cannot rate it"


class Tally:
    """A leaderboard's standings in memory while races are added in order."""

    def __init__(
        self,
        board: Leaderboard,
        carried: Mapping[str, State] | None = None,
        *,
        next_sequence: int = 1,
        why_excluded: Callable[[str], str | None] = lambda race: None,
    ) -> None:
        self.model: RatingModel = registry.create(board.model, board.parameters)
        self.teams = TeamPolicy(board.teams)
        self._why_excluded = why_excluded
        self._sequence = next_sequence
        self._standings: dict[str, Standing] = {}
        self._carried = carried or {}
        self._initial: State = tuple(self.model.initial().tolist())

    def load(self, standings: Iterable[Standing]) -> None:
        """Start from these standings."""
        self._standings.update({s.player: replace(s, name="", hidden=False) for s in standings})

    def add(self, result: RaceResult) -> RatedRow:
        """Rate one more race and move the standings."""
        changes: tuple[Change, ...] = ()
        note = self._why_excluded(result.name)
        try:
            if note is None:
                race = outcome_of(result, self.teams)
                note = self._why_not(result, race)
            if note is None:
                changes = tuple(sorted(self._changes(result, race), key=lambda change: change.player))
        except PayloadError as error:
            log.warning("%s", error)
            note = UNCOMPARABLE
        except ModelError:
            note = UNSUITED
        row = RatedRow(self._sequence, result.name, changes, note)
        self._sequence += 1
        return row

    def state(self, player: str) -> tuple[State, bool]:
        """A player's state as the next race would find it, and whether a race gave it."""
        standing = self._standings.get(player)
        return (
            (self._carried.get(player, self._initial), False) if standing is None else (standing.state, True)
        )

    def standings(self) -> Iterator[Standing]:
        """All standings by player, as they are when the first is asked for."""
        for player in sorted(self._standings):
            yield self._standings[player]

    def _why_not(self, result: RaceResult, race: RatedRace) -> str | None:
        if result.team_race and self.teams is TeamPolicy.IGNORE:
            return TEAM_RACE
        if race.outcome.rateable:
            return None
        return NOBODY_FINISHED if not any(e.finished for e in result.entrants) else TOO_FEW

    def _changes(self, result: RaceResult, race: RatedRace) -> Iterator[Change]:
        players = [str(entrant.user_id) for entrant in race.entrants]
        known = [self._standings.get(player) for player in players]
        before = np.array([self.state(player)[0] for player in players])
        steps: Sequence[tuple[str, FloatArray]] = ()
        if isinstance(self.model, Stepwise):
            steps = self.model.steps(before, race.outcome)
        after = steps[-1][1] if steps else self.model.rate(before, race.outcome)
        points_before, points_after = self.model.points(before), self.model.points(after)
        parts = np.diff([points_before, *(self.model.points(states) for _, states in steps)], axis=0)
        ratings = self.model.rating(after)
        place_of = places(result, self.teams)
        for index, (player, entrant, standing) in enumerate(zip(players, race.entrants, known, strict=True)):
            change = Change(
                player=player,
                place=place_of[entrant],
                before=tuple(before[index].tolist()),
                after=tuple(after[index].tolist()),
                points_before=int(points_before[index]),
                points_after=int(points_after[index]),
                races_before=standing.races if standing else 0,
                parts=_parts([name for name, _ in steps], parts[:, index]),
            )
            self._standings[player] = _moved(standing, change, float(ratings[index]), result.ended_at)
            yield change


def _parts(names: Sequence[str], points: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    """Points by step. A limit that did not apply is left out."""
    given = zip(names, points.tolist(), strict=True)
    return tuple((name, each) for name, each in given if each or name != "limit")


def _moved(standing: Standing | None, change: Change, rating: float, ended_at: datetime) -> Standing:
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
