"""What players must never see, counted: by definition free for some models, and why others were left.

Sources: multiplayer-generalizations-of-elo §2 and §6 (who gives up gains, the winner loses), §4 (tied
players). Changes are those of the points, the number that people see.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from racebot.ratings.model import RatingModel
from racebot.study.replay import Step


@dataclass(frozen=True, slots=True)
class Complaints:
    """Counts over races, all of them best at 0; they add up with `+`.

    Attributes:
        unfinished_gains: players who did not finish and gained.
        last_gains: players in the last place of the race, finished or not, who gained.
        winner_losses: winners who lost points.
        unequal_ties: pairs of one place and one state with different changes. All that a model keeps of a
            player makes the state: who has as many points after three races as after thirty is no equal.
        order_dependent: players whose change would have been another, had the entrants been listed in
            the reverse order.
    """

    unfinished_gains: int = 0
    last_gains: int = 0
    winner_losses: int = 0
    unequal_ties: int = 0
    order_dependent: int = 0

    @classmethod
    def of(cls, model: RatingModel, step: Step) -> Self:
        """The complaints about one race, rated by a model with single parameters."""
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
        return cls(
            unfinished_gains=int(np.sum(change[outcome.unfinished] > 0)),
            last_gains=int(np.sum(change[outcome.group == outcome.last_group] > 0)),
            winner_losses=int(np.sum(change[outcome.group == 0] < 0)),
            unequal_ties=int(np.sum(alike & (change[:, np.newaxis] < change))),
            order_dependent=int(np.sum(points != reverse_points)),
        )

    def __add__(self, other: Complaints) -> Complaints:
        return Complaints(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))
