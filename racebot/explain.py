"""Why a rating changed: what was expected of an entrant, what happened, and which opponents it hung on.

Works with any model through its win probabilities, so that every leaderboard explains itself alike. Where a
model looks at finishing on its own (`PredictsFinish`), it compares those alone who finished, and so do the
encounters; who did not finish is explained by the chance to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from racebot.races.change import Change
from racebot.races.outcome import Outcome, TeamPolicy, outcome_of
from racebot.races.result import Entrant, RaceResult
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel


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
    `encounters` are sorted, the most surprising first. `finish_chance` is the probability with which the
    entrant was expected to finish, None where the model does not tell.
    """

    expected: float
    actual: float
    encounters: tuple[Encounter, ...]
    finish_chance: float | None = None


def explain_race(
    model: RatingModel, teams: TeamPolicy, result: RaceResult, changes: Mapping[str, Change]
) -> dict[str, tuple[Entrant, Explanation]]:
    """Each rated entrant of a race and what explains their change, by user id, in the order of the outcome.

    Args:
        model: the leaderboard's.
        teams: its team policy.
        result: the race.
        changes: what it did, of all its rated entrants, by user id.
    """
    rated = outcome_of(result, teams)
    states = np.array([changes[str(entrant.user_id)].before for entrant in rated.entrants])
    explanations = explain(model, states, rated.outcome)
    return {str(e.user_id): (e, why) for e, why in zip(rated.entrants, explanations, strict=True)}


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
    compared = ~outcome.unfinished if isinstance(model, PredictsFinish) else np.full(n, fill_value=True)
    finish = model.finish_probability(states) if isinstance(model, PredictsFinish) else None
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
            if group[j] != group[i] and compared[i] and compared[j]
        ]
        explanations.append(
            Explanation(
                expected=1.0 + float(sum(chance[j, i] for j in others)),
                actual=1.0 + ahead + level / 2,
                encounters=tuple(sorted(encounters, key=lambda e: (e.chance, e.opponent))),
                finish_chance=None if finish is None else float(finish[i]),
            )
        )
    return explanations
