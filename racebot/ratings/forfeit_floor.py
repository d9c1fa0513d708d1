"""The floor of a late finish: a finisher never loses more than for a forfeit.

In a hurdle model, players who did not finish are compared with nobody, so a place far behind could cost more
than giving up. Each hurdle model therefore computes what a forfeit would have given, and raises a finisher's
new rating to that. docs/model.md says why this is the default, and what it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import StepwiseKernelModel
from racebot.ratings.model import FloatArray
from racebot.ratings.parameters import parameter


def floor_parameter(default: bool) -> Any:
    """Declare the parameter `spare_finishers`, which switches the floor on."""
    return parameter(default, help="whether a finisher never loses more than for a forfeit")


def above_forfeit(rating: float, forfeit: float, spare: float) -> float:
    """Return a new rating, raised to the floor.

    Args:
        rating: the new rating without the floor.
        forfeit: the rating that a forfeit would have given; for a player who did not finish, equal to
            `rating`.
        spare: 1 if the floor is on, otherwise 0.
    """
    return max(rating, forfeit) if spare > 0.0 else rating


@dataclass(frozen=True, kw_only=True)
class ForfeitsAlone(StepwiseKernelModel):
    """Base class of models in which a forfeit has the same effect whatever the others do."""

    def after_forfeit(self, states: FloatArray, day: float = 0.0) -> FloatArray:
        """Return each entrant's state if they had given up: shape [n, k].

        Args:
            states: states before the race, shape [n, k].
            day: end of the race, in days since 1970-01-01 UTC.
        """
        size = len(states)
        # All of them give up, and one more player finishes.
        outcome = Outcome(
            group=np.append(np.ones(size, dtype=np.intp), 0),
            unfinished=np.append(np.ones(size, dtype=np.bool_), False),
            last_group=1,
            last_unfinished=True,
            day=day,
        )
        return self.rate(np.vstack([states, self.initial()]), outcome)[:size]
