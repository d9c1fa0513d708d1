"""Thurstone's model, with independent performances around the rating.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.2.3, 4 and 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import Columns, KernelModel, KernelRace
from racebot.ratings.model import FloatArray, Number, PredictsPerformance
from racebot.ratings.models.elo import bounded_gaussian_gain
from racebot.ratings.models.single import GradientModel, above_floor, inherited, learning_rate_at
from racebot.ratings.numerics.order_quadrature import order_moments
from racebot.ratings.numerics.order_recursion import gradient
from racebot.ratings.numerics.order_statistics import posterior_moments
from racebot.ratings.parameters import Parameters, stack_parameters
from racebot.ratings.ranking import Groups


class ThurstoneParameters(NamedTuple):
    """The parameters of `update`; see `SingleParameterModel.dummy_and_floor` and `bends`."""

    dummy: float
    floor: float
    bends: Sequence[float]


def update(before: Columns, race: KernelRace, settings: ThurstoneParameters, steps: list[Columns]) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments.

    Only compiled code uses this kernel. Plain Python uses `Thurstone.direction`, within 2e-5.
    """
    size, after, worst_first = len(before[0]), steps[0], race.worst_first
    # Without DNFs, the last finisher shares the last place with the dummy.
    dummy = not math.isnan(settings.dummy)
    together = dummy and race.last[worst_first[0]]
    last = [i for i in range(size) if race.unfinished[i] or (together and race.last[i])]
    ordered = [i for i in worst_first if not (together and race.last[i])]
    ratings = [before[0][i] for i in last]
    if dummy:
        ratings.append(settings.dummy)
    scales = [1.0 for _ in ordered]
    places = [race.group[i] for i in ordered]
    means = [before[0][i] for i in ordered]
    first, _, pulls, sound = order_moments(means, scales, places, ratings)
    moves = [0.0 for _ in range(size)]
    for k in range(len(ordered)):
        moves[ordered[k]] = first[k]
    for k in range(len(last)):
        moves[last[k]] = pulls[k]
    for i in range(size):
        rating = before[0][i]
        moved = rating + moves[i] * learning_rate_at(rating, settings.bends)
        after[0][i] = above_floor(moved, rating, settings.floor)
    return sound


@dataclass(frozen=True, kw_only=True)
class Thurstone(GradientModel, KernelModel, PredictsPerformance):
    """Follow the gradient of the log-likelihood of independent performances of unit variance.

    The defaults are the published ones (section 5.2). The order within a group is marginalised.
    """

    key: ClassVar[str] = "thurstone"
    kernel = staticmethod(update)
    kernel_settings = ThurstoneParameters
    former: ClassVar[Parameters] = {"density": "gaussian", "weight": 1.0}
    """Parameters that are no more, with the values that old ledgers have."""

    initial_rating: Number = inherited("initial_rating", 0.3)
    dummy: Number | None = inherited("dummy", 0.9)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.65, 0.09, 0.07))
    floor: Number | None = inherited("floor", 0.0)

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        complete = np.unique(groups.label).size == groups.label.size
        return _complete_order(ratings, groups) if complete else gradient(ratings, groups)

    @cached_property
    def settings(self) -> FloatArray:
        return stack_parameters((*self.dummy_and_floor, *self.bends))

    def rate_candidate(self, states: FloatArray, outcome: Outcome, settings: FloatArray) -> FloatArray:
        dummy, floor, *bends = settings.tolist()
        count = len(self.rates)
        candidate = replace(
            self,
            dummy=None if math.isnan(dummy) else dummy,
            floor=None if math.isinf(floor) else floor,
            rates=tuple(bends[:count]),
            knots=tuple(bends[count:]),
        )
        return candidate.rate(states, outcome)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return bounded_gaussian_gain(b[..., 0] - a[..., 0])

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        return states[..., 0], np.ones(states.shape[:-1])


def _complete_order(ratings: FloatArray, groups: Groups) -> FloatArray:
    """Return posterior means of Gaussian performances for an order without ties: shape [..., n]."""
    worst_first = (-groups.label).argsort()
    places = groups.label[worst_first].tolist()
    flat = ratings.reshape(-1, ratings.shape[-1])
    moves = np.full_like(flat, np.nan)
    for row, move in zip(flat, moves, strict=True):
        if np.isfinite(row).all():
            means = row[worst_first].tolist()
            move[worst_first] = posterior_moments(means, [1.0] * len(means), places)[0]
    return moves.reshape(ratings.shape)
