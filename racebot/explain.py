"""Why a rating changed: what was expected of an entrant, what happened, and which opponents it hung on.

Works with any model through its win probabilities, so that every leaderboard explains itself alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, RatingModel


@dataclass(frozen=True, slots=True)
class Encounter:
    """How one entrant fared against another. `chance` is the probability of what happened."""

    opponent: int
    won: bool
    chance: float

    @property
    def surprise(self) -> float:
        return 1.0 - self.chance


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was expected of one entrant and what happened, among the rated entrants.

    Places start at 1; entrants whose order is unobserved share the mean of the places they occupy.
    `encounters` are sorted, the most surprising first.
    """

    expected: float
    actual: float
    encounters: tuple[Encounter, ...]


def explain(model: RatingModel, states: FloatArray, outcome: Outcome) -> list[Explanation]:
    """One explanation per entrant, in the order of the rows.

    Args:
        model: whose win probabilities to use.
        states: before the race, shape [n, k].
        outcome: of the same n entrants.
    """
    n = outcome.size
    chance = model.win_probability(states[:, np.newaxis, :], states[np.newaxis, :, :])
    group = outcome.group
    explanations = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        ahead = sum(int(group[j] < group[i]) for j in others)
        level = sum(int(group[j] == group[i]) for j in others)
        encounters = [
            Encounter(
                j, bool(group[i] < group[j]), float(chance[i, j] if group[i] < group[j] else chance[j, i])
            )
            for j in others
            if group[j] != group[i]
        ]
        explanations.append(
            Explanation(
                expected=1.0 + float(sum(chance[j, i] for j in others)),
                actual=1.0 + ahead + level / 2,
                encounters=tuple(sorted(encounters, key=lambda e: (e.chance, e.opponent))),
            )
        )
    return explanations
