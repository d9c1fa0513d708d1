"""Count unfair-looking rating changes, such as a DNF that gains points or a winner who loses them.

Changes are in points, which players see. Source: B. Kerby, "Multiplayer generalizations of Elo rating
system", sections 2, 4 and 6, https://github.com/blkerby/MultiEloRating.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import RatingModel
from racebot.ratings.models.hurdle import HurdleModel
from racebot.study.history import History, Step

ALL_CHECKED = 10_000
"""Most entrants in all races of a history for which `Complaints.of` rates each race again."""
SAMPLE = 20
"""In a larger history, one race of this many is rated again."""
LARGE = 50
"""Entrants up to which all finishers are checked for late losses."""
MOST_CHECKED = 3
"""Finishers to check for late losses in larger fields."""


@dataclass(frozen=True, slots=True)
class Complaints:
    """Counts of unfair-looking changes, which should all be 0. Add them with `+`.

    Attributes:
        unfinished_gains: players who did not finish but gained points.
        last_gains: players in last place, finished or not, who gained points.
        winner_losses: winners who lost points.
        unequal_ties: pairs with equal places and equal states, but different changes. The state includes the
            race count if the model uses it.
        order_dependent: players whose change would differ if the entrants were listed in reverse order.
        late_losses: finishers who lost points and would have lost less with a forfeit. In a field over
            `LARGE`, unless the model is `HurdleModel`, only the three worst placed of them are checked.
    """

    unfinished_gains: int = 0
    last_gains: int = 0
    winner_losses: int = 0
    unequal_ties: int = 0
    order_dependent: int = 0
    late_losses: int = 0

    @classmethod
    def of(cls, model: RatingModel, step: Step, *, again: bool = True) -> Self:
        """Count the unfair-looking changes in one race, as a model with a single parameter set rated it.

        Unless the race may be rated `again`, `order_dependent` and `late_losses` are not counted.
        """
        outcome = step.race.outcome
        points = model.points(step.after)
        change = points - model.points(step.before)
        alike = outcome.group[:, np.newaxis] == outcome.group
        alike &= (step.before[:, np.newaxis] == step.before).all(axis=-1)
        unequal = _order_dependent(model, step, points) if again else 0
        lost = np.flatnonzero((change < 0) & ~outcome.unfinished & again)
        return cls(
            unfinished_gains=int(np.sum(change[outcome.unfinished] > 0)),
            last_gains=int(np.sum(change[outcome.group == outcome.last_group] > 0)),
            winner_losses=int(np.sum(change[outcome.group == 0] < 0)),
            unequal_ties=int(np.sum(alike & (change[:, np.newaxis] < change))),
            order_dependent=unequal,
            late_losses=int(np.sum(_after_forfeits(model, step, lost) > points[lost])),
        )

    def __add__(self, other: Complaints) -> Complaints:
        return Complaints(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def checked_again(history: History) -> int:
    """Return k if one race of k is to be rated again, which takes a multiple of the time of a replay."""
    return 1 if history.races_of_players().sum() <= ALL_CHECKED else SAMPLE


def _order_dependent(model: RatingModel, step: Step, points: IntArray) -> int:
    """Count the players whose points would differ if the entrants were listed in reverse order."""
    outcome = step.race.outcome
    reverse = replace(
        outcome,
        group=outcome.group[::-1],
        unfinished=outcome.unfinished[::-1],
        team=None if outcome.team is None else outcome.team[::-1],
    )
    reverse_points = model.points(model.rate(step.before[::-1], reverse))[::-1]
    if (points != reverse_points).any():
        # A compiled replay can differ in the last digits, and so round to another point.
        points = model.points(model.rate(step.before, outcome))
    return int(np.sum(points != reverse_points))


def _after_forfeits(model: RatingModel, step: Step, finishers: IntArray) -> IntArray:
    """Return the points of each of these finishers if they had given up: shape [finishers]."""
    outcome = step.race.outcome
    if not finishers.size:
        return finishers
    if isinstance(model, HurdleModel) and outcome.team is None:
        return model.points(model.after_forfeit(step.before[finishers], outcome.day))
    points = model.points(step.after)
    checked = finishers[np.argsort(-outcome.group[finishers], kind="stable")]
    for finisher in checked[: MOST_CHECKED if outcome.size > LARGE else None].tolist():
        points[finisher] = model.points(model.rate(step.before, gave_up(outcome, finisher)))[finisher]
    return points[finishers]


def gave_up(outcome: Outcome, entrant: int) -> Outcome:
    """Return the outcome as if the finisher with this index, and their team, had not finished."""
    sides = np.arange(outcome.size) if outcome.team is None else outcome.team
    quits = sides == sides[entrant]
    last = outcome.last_group + (not outcome.last_unfinished)
    group = np.where(quits, last, outcome.group)
    left = outcome.group[entrant]
    if left not in group:
        group = group - (group > left)
        last -= 1
    return replace(
        outcome,
        group=group.astype(np.intp),
        unfinished=outcome.unfinished | quits,
        last_group=int(last),
        last_unfinished=True,
    )
