"""The floor of a late finish: no finisher ends below the rating that a forfeit would have given.

Hurdle models compare players who did not finish with nobody, so a place far behind could cost more than
giving up. docs/model.md says why the floor is the default, and what it changes.
"""


def raised_to_forfeit(rating: float, forfeit: float, spare_finishers: float) -> float:
    """Raise a new rating to the one after a forfeit, unless the parameter `spare_finishers` is 0."""
    return max(rating, forfeit) if spare_finishers > 0.0 else rating
