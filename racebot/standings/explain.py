"""Why a rating changed: what was expected of an entrant, what happened, and which opponents it hung on.

Works with any model through what it expects and by rating the race again without each opponent, so that
every leaderboard explains itself alike. Where a model looks at finishing on its own (`PredictsFinish`), it
compares those alone who finished, and so do places and encounters of finishers: with the others counted in,
a place better than expected could cost points. Who did not finish is explained by the chance to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from racebot.races.change import Change
from racebot.races.outcome import Outcome, TeamPolicy, outcome_of
from racebot.races.result import Entrant, RaceResult
from racebot.ratings.forecast import expected_places
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel


@dataclass(frozen=True, slots=True)
class Encounter:
    """How one entrant fared against another.

    `chance` is the probability of what happened. `influence` is how much higher the rating after the race
    is than it would be if the opponent had not been in it.
    """

    opponent: int
    won: bool
    chance: float
    influence: float

    @property
    def weight(self) -> float:
        """How far the rating moved by it in the direction that it explains: up for who won."""
        return self.influence if self.won else -self.influence


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was expected of one entrant and what happened, among the `compared` rated entrants, itself one.

    Places start at 1; entrants whose order is unobserved share the first of the places they occupy in
    `place`, and their mean in `actual`. `encounters` are sorted, the one that the change hangs on most first.
    `finish_chance` is the probability with which the entrant was expected to finish, None where the model
    does not tell.
    """

    expected: float
    actual: float
    place: int
    compared: int
    encounters: tuple[Encounter, ...]
    finish_chance: float | None = None


def explain_race(
    model: RatingModel, teams: TeamPolicy, result: RaceResult, changes: Iterable[Change]
) -> dict[str, tuple[Entrant, Explanation]]:
    """Each rated entrant of a race and what explains their change, by user id, in the order of the outcome.

    Args:
        model: the leaderboard's.
        teams: its team policy.
        result: the race.
        changes: what it did, of all its rated entrants.
    """
    rated = outcome_of(result, teams)
    before = {change.player: change.before for change in changes}
    states = np.array([before[str(entrant.user_id)] for entrant in rated.entrants])
    explanations = explain(model, states, rated.outcome)
    return {str(e.user_id): (e, why) for e, why in zip(rated.entrants, explanations, strict=True)}


def explain(model: RatingModel, states: FloatArray, outcome: Outcome) -> list[Explanation]:
    """One explanation per entrant, in the order of the rows.

    Args:
        model: whose expectations and changes to use.
        states: before the race, shape [n, k].
        outcome: of the same n entrants.
    """
    everybody = range(outcome.size)
    chance = model.win_probability(states[:, np.newaxis, :], states[np.newaxis, :, :])
    in_field = expected_places(model, states)
    finish = model.finish_probability(states) if isinstance(model, PredictsFinish) else None
    compared = [i for i in everybody if finish is None or not outcome.unfinished[i]]
    influence = _influence(model, states, outcome, compared)
    group = outcome.group
    explanations = []
    for i in everybody:
        is_compared = i in compared
        among = compared if is_compared else everybody
        ahead = sum(int(group[j] < group[i]) for j in among)
        level = sum(int(group[j] == group[i]) for j in among) - 1
        alone = finish is not None and is_compared
        expected = 1.0 + sum(float(chance[j, i]) for j in compared if j != i) if alone else float(in_field[i])
        encounters = [
            Encounter(
                opponent=j,
                won=bool(group[i] < group[j]),
                chance=float(chance[i, j] if group[i] < group[j] else chance[j, i]),
                influence=float(influence[i, j]),
            )
            for j in compared
            if is_compared and group[j] != group[i]
        ]
        explanations.append(
            Explanation(
                expected=expected,
                actual=1.0 + ahead + level / 2,
                place=1 + ahead,
                compared=len(among),
                encounters=tuple(sorted(encounters, key=lambda e: (-round(e.weight, 12), e.opponent))),
                finish_chance=None if finish is None else float(finish[i]),
            )
        )
    return explanations


def _influence(
    model: RatingModel, states: FloatArray, outcome: Outcome, opponents: Sequence[int]
) -> FloatArray:
    """How much each entrant's rating after the race hangs on each opponent's presence: shape [n, n]."""
    after = model.rating(model.rate(states, outcome))
    influence = np.zeros((outcome.size, outcome.size))
    for j in opponents:
        others = np.delete(np.arange(outcome.size), j)
        alone = outcome.of_rows(others)
        left = model.rate(states[others], alone) if alone.rateable else states[others]
        influence[others, j] = after[others] - model.rating(left)
    return influence
