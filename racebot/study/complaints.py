"""Count unfair-looking rating changes, such as a DNF that gains points or a winner who loses them.

Changes are in points, which players see. Source: B. Kerby, "Multiplayer generalizations of Elo rating
system", sections 2, 4 and 6, https://github.com/blkerby/MultiEloRating.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.model import RatingModel
from racebot.study.replay import Step


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
        late_losses: finishers who lost points and would have lost less with a forfeit.
    """

    unfinished_gains: int = 0
    last_gains: int = 0
    winner_losses: int = 0
    unequal_ties: int = 0
    order_dependent: int = 0
    late_losses: int = 0

    @classmethod
    def of(cls, model: RatingModel, step: Step) -> Self:
        """Count the unfair-looking changes in one race.

        Args:
            model: a model with a single parameter set.
            step: the race as this model rated it.
        """
        outcome = step.race.outcome
        points = model.points(step.after)
        change = points - model.points(step.before)
        alike = outcome.group[:, np.newaxis] == outcome.group
        alike &= (step.before[:, np.newaxis] == step.before).all(axis=-1)
        reverse = replace(
            outcome,
            group=outcome.group[::-1],
            unfinished=outcome.unfinished[::-1],
            team=None if outcome.team is None else outcome.team[::-1],
        )
        reverse_points = model.points(model.rate(step.before[::-1], reverse))[::-1]
        late = 0
        for finisher in np.flatnonzero((change < 0) & ~outcome.unfinished).tolist():
            forfeit = model.points(model.rate(step.before, gave_up(outcome, finisher)))
            late += bool(forfeit[finisher] > points[finisher])
        return cls(
            unfinished_gains=int(np.sum(change[outcome.unfinished] > 0)),
            last_gains=int(np.sum(change[outcome.group == outcome.last_group] > 0)),
            winner_losses=int(np.sum(change[outcome.group == 0] < 0)),
            unequal_ties=int(np.sum(alike & (change[:, np.newaxis] < change))),
            order_dependent=int(np.sum(points != reverse_points)),
            late_losses=late,
        )

    def __add__(self, other: Complaints) -> Complaints:
        return Complaints(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def gave_up(outcome: Outcome, entrant: int) -> Outcome:
    """Return the outcome as if the finisher with this index, and their team, had not finished."""
    quits = np.zeros(outcome.size, dtype=np.bool_)
    quits[entrant] = True
    if outcome.team is not None:
        quits = outcome.team == outcome.team[entrant]
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
