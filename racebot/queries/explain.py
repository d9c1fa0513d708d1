"""Explains a rating change: its parts in points, the actual and expected place, and the decisive opponents.

The place part is explained in places. The expected place minus the place is the sum over opponents of

    (1 if beaten, 0 otherwise) − chance to beat them

so each opponent's term is exact, the terms add up, and no race is rated again. Opponents in the
player's own group are left out, because their order was not observed. A model that predicts finishing
(`PredictsFinish`) compares finishers with each other only. Other models compare everyone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from racebot.queries.reasons import Limit, Opponent, Reason, ReasonKind, Unchanged
from racebot.races.change import Change
from racebot.races.outcome import IntArray, Outcome, TeamPolicy, outcome_of
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.ratings.forecast import expected_places
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel

NAMED = 3
"""Most opponents to name among those that moved the rating in the direction of the place part."""
LEAST = 0.1
"""Smallest term, in places, of an opponent worth naming."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one entrant's rating changed.

    `finish_points`, `place_points` and `limit_points` add up to the change.

    Attributes:
        change: in points.
        finish_points: for finishing or not; None if the model does not rate that separately.
        place_points: for the place.
        limit: the limit that reduced the change, if any.
        limit_points: what the limit added or subtracted.
        unchanged: why the change is ±0; None for any other change, and if its parts cancel out.
        status: done, DNF or DQ.
        finish_chance: chance to finish, predicted before the race; None if the model does not predict it.
        place: from 1, among the compared entrants; tied entrants share the best of their places.
        expected: mean place that the ratings before the race predict.
        actual: the place; tied entrants share the mean of their places.
        compared: number of compared entrants, including this one.
        field: number of rated entrants.
        pushed: opponents that moved the rating in the direction of the place part, largest effect first.
            Empty if the result was about as expected.
        opposed: the opponent with the largest effect in the other direction; only if `pushed` is not empty.
    """

    change: int
    finish_points: int | None
    place_points: int
    limit: Limit | None
    limit_points: int
    unchanged: Unchanged | None
    status: EntrantStatus
    finish_chance: float | None
    place: int
    expected: float
    actual: float
    compared: int
    field: int
    pushed: tuple[Opponent, ...]
    opposed: Opponent | None

    @property
    def finished(self) -> bool:
        """Return whether the entrant finished."""
        return self.status is EntrantStatus.DONE

    @property
    def compares(self) -> bool:
        """Return whether the model compared the place with others. Hurdle models do not for a DNF."""
        return self.compared > 1 and (self.finished or self.finish_chance is None)

    @property
    def as_expected(self) -> bool:
        """Return whether the place was compared and was about as expected."""
        return self.compares and not self.pushed

    def reasons(self) -> list[Reason]:
        """Return the reasons for the change: its parts, then the opponents."""
        if self.unchanged is not None:
            return [Reason(ReasonKind.UNCHANGED, rule=self.unchanged)]
        found = []
        if not self.finished and self.finish_chance is not None:
            found.append(Reason(ReasonKind.UNFINISHED, chance=self.finish_chance))
        elif self.finish_points is not None:
            found.append(Reason(ReasonKind.FINISH, points=self.finish_points))
            if self.compares:
                found.append(Reason(ReasonKind.PLACE, points=self.place_points))
        if self.limit is not None:
            found.append(Reason(ReasonKind.LIMIT, points=self.limit_points, rule=self.limit))
        if self.as_expected:
            found.append(Reason(ReasonKind.AS_EXPECTED))
        for opponents in (self.pushed, () if self.opposed is None else (self.opposed,)):
            if opponents:
                kind = ReasonKind.GAINED if opponents[0].beaten else ReasonKind.COST
                found.append(Reason(kind, opponents=opponents))
        return found


def explain_race(
    model: RatingModel, teams: TeamPolicy, result: RaceResult, changes: Iterable[Change]
) -> dict[str, tuple[Entrant, Explanation]]:
    """Explain each rated entrant's change, by user id in the order of the result.

    Takes about 10 ms for a race of 200: nothing is rated again.

    Args:
        changes: the changes of all rated entrants.
    """
    race = outcome_of(result, teams)
    by_player = {change.player: change for change in changes}
    entrants = list(zip(race.entrants, map(by_player.__getitem__, race.players), strict=True))
    explained = explain(model, race.outcome, entrants)
    return dict(zip(race.players, zip(race.entrants, explained, strict=True), strict=True))


def explain(
    model: RatingModel, outcome: Outcome, entrants: Sequence[tuple[Entrant, Change]]
) -> list[Explanation]:
    """Explain the changes of a race, in the order of the rows of `outcome`."""
    states = np.array([change.before for _, change in entrants])
    n = outcome.size
    chance = model.win_probability(np.repeat(states, n, axis=0), np.tile(states, (n, 1))).reshape(n, n)
    finish = model.finish_probability(states) if isinstance(model, PredictsFinish) else None
    compared = np.ones(n, dtype=np.bool_) if finish is None else ~outcome.unfinished
    # An entrant that is not compared still gets a place among everyone.
    among = np.where(compared[:, np.newaxis], compared, True)
    np.fill_diagonal(among, val=False)
    behind = np.sign(outcome.group[np.newaxis, :] - outcome.group[:, np.newaxis])
    places = 1.0 + np.where(among, 1.0 - chance, 0.0).sum(1)
    if not compared.all():
        places = np.where(compared, places, expected_places(model, states))
    parts = [_points(change) for _, change in entrants]
    terms = np.where(among & compared[:, np.newaxis] & (behind != 0), (behind > 0) - chance, 0.0)
    pushed, opposed = _named(terms, np.array([place for _, place, _ in parts]))
    # Single values are read much faster from lists than from arrays.
    beaten, chances, expected = (behind > 0).tolist(), chance.tolist(), places.tolist()
    ahead, level, others = ((each & among).sum(1).tolist() for each in (behind < 0, behind == 0, np.True_))
    finishes = [None] * n if finish is None else finish.tolist()
    explained = []
    for i, (entrant, change) in enumerate(entrants):
        finish_points, place_points, limit_points = parts[i]
        at_floor = _at_floor(model, change)
        limit = _limit(outcome, i, limit_points, at_floor=at_floor)
        opponents = [
            Opponent(entrants[j][1].player, beaten[i][j], chances[i][j]) for j in [*pushed[i], *opposed[i]]
        ]
        explained.append(
            Explanation(
                change=change.points_change,
                finish_points=finish_points,
                place_points=place_points,
                limit=limit,
                limit_points=limit_points,
                unchanged=_unchanged(change, limit, at_floor=at_floor),
                status=_status(entrant, change),
                finish_chance=finishes[i],
                place=1 + ahead[i],
                expected=expected[i],
                actual=1.0 + ahead[i] + level[i] / 2,
                compared=1 + others[i],
                field=n,
                pushed=tuple(opponents[: len(pushed[i])]),
                opposed=opponents[-1] if opposed[i] else None,
            )
        )
    return explained


def _points(change: Change) -> tuple[int | None, int, int]:
    """Return the points for finishing, for the place, and from a limit."""
    if not change.parts:
        return None, change.points_change, 0
    parts = dict(change.parts)
    return parts["finish"], parts["place"], parts.get("limit", 0)


def _named(terms: FloatArray, place_points: IntArray) -> tuple[list[list[int]], list[list[int]]]:
    """Choose the opponents to name in each row: those that explain the place part, and one that opposed it.

    Args:
        terms: shape [n, n], the places that each row's player gained or lost against each opponent.
        place_points: shape [n], the place parts.
    """
    sign = np.sign(place_points)
    signed = sign[:, np.newaxis] * terms
    order = np.argsort(-signed, axis=1, kind="stable")
    first, last = order[:, :NAMED], order[:, -1]
    agrees = signed.sum(1) > 0
    pushed: list[list[int]] = []
    opposed: list[list[int]] = []
    for row, agreed in enumerate(agrees.tolist()):
        sizes = signed[row, first[row]].tolist()
        # A third name is worth its space only if it weighs at least half as much as the first.
        least = [LEAST, LEAST, max(LEAST, sizes[0] / 2)]
        count = sum(size >= enough for size, enough in zip(sizes, least, strict=False)) if agreed else 0
        pushed.append(first[row, :count].tolist())
        opposed.append([int(last[row])] if count and signed[row, last[row]] <= -LEAST else [])
    return pushed, opposed


def _limit(outcome: Outcome, row: int, points: int, *, at_floor: bool) -> Limit | None:
    if not points:
        return None
    unfinished = bool(outcome.unfinished[row])
    if points < 0:
        return Limit.UNFINISHED if unfinished else Limit.LAST
    if unfinished or at_floor:
        return Limit.FLOOR
    return Limit.WINNER if outcome.group[row] == 0 else Limit.FORFEIT


def _unchanged(change: Change, limit: Limit | None, *, at_floor: bool) -> Unchanged | None:
    if change.points_change:
        return None
    if limit is Limit.LAST:
        return Unchanged.LAST
    if at_floor:
        return Unchanged.FLOOR
    return None if any(points for _, points in change.parts) else Unchanged.SMALL


def _at_floor(model: RatingModel, change: Change) -> bool:
    """Return whether a rating is at the model's floor after the race."""
    floor = getattr(model, "floor", None)
    if floor is None or isinstance(floor, bool):
        return False
    return bool(model.rating(np.array(change.after)) <= floor)


def _status(entrant: Entrant, change: Change) -> EntrantStatus:
    """Return the entrant's status. A finisher whose team has no result counts as a DNF."""
    if entrant.finished and change.place is None:
        return EntrantStatus.DNF
    return entrant.status
