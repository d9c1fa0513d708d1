"""The floor of a late finish: a finisher never loses more than for a forfeit.

In a hurdle model, players who did not finish are compared with nobody, so a place far behind could cost more
than giving up. Each hurdle model therefore computes what a forfeit would have given, and raises a finisher's
new rating to that. docs/model.md says why this is the default, and what it changes.
"""

from __future__ import annotations

from typing import Any

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
