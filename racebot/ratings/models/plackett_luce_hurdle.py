"""Plackett-Luce with a logistic hurdle, in closed form.

The probability of finishing is logistic in the rating, and the order among finishers is Plackett-Luce
(R. L. Plackett, "The analysis of permutations", https://doi.org/10.2307/2346567). Ratings follow the gradient
of the joint log-likelihood, with a learning rate that depends on the rating. There is no dummy player: the
hurdle anchors the scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import scipy

from racebot.ratings.kernel import Columns, KernelRace
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.hurdle import GaussianHurdleModel, HurdleModel, of_teams, raised_to_forfeit
from racebot.ratings.models.plackett_luce import order_gradient
from racebot.ratings.models.single import SingleParameterModel, above_floor, inherited, learning_rate_at
from racebot.ratings.parameters import broadcast_to, inherited_from, parameter, stack_parameters


class PlackettLuceHurdleParameters(NamedTuple):
    """The parameters of `update`, as in `PlackettLuceParameters`. `spare_finishers` is 0 or 1."""

    level: float
    width: float
    floor: float
    spare_finishers: float
    bends: Sequence[float]


def update(
    before: Columns, race: KernelRace, settings: PlackettLuceHurdleParameters, steps: list[Columns]
) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments."""
    finish, place, limit = steps[0], steps[1], steps[2]
    ratings = [rating for rating in before[0]]  # noqa: C416 - for Numba
    means = ratings if len(race.sizes) == len(ratings) else of_teams(ratings, race, 1)
    # Of the finishers' order; others have 0.
    gradient = order_gradient(means, race.group, race.worst_first, False, False)
    for i in range(len(ratings)):
        k, rating = race.unit[i], ratings[i]
        rate = learning_rate_at(rating, settings.bends) / race.sizes[k]
        hurdle = hurdle_gradient(means[k], race.unfinished[k], settings.level, settings.width)
        finish[0][i] = rating + rate * hurdle
        place[0][i] = rating + rate * (hurdle + gradient[k])
        forfeit = rating + rate * hurdle_gradient(means[k], True, settings.level, settings.width)
        moved = raised_to_forfeit(place[0][i], forfeit, settings.spare_finishers)
        moved = above_floor(moved, rating, settings.floor)
        # Clamp: if all entrants finished, last place gains nothing.
        limit[0][i] = min(moved, rating) if race.group[k] == race.clamped else moved
    return True


def logistic(x: float) -> float:
    """Return 1/(1 + e^(-x))."""
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def hurdle_gradient(rating: float, unfinished: bool, level: float, width: float) -> float:
    """Return the gradient of the log-likelihood of a finish or DNF, where P(finish) = logistic((r - a)/b)."""
    chance = logistic((rating - level) / width)
    return -chance / width if unfinished else (1.0 - chance) / width


@dataclass(frozen=True, kw_only=True)
class PlackettLuceHurdle(HurdleModel, SingleParameterModel):
    """A hurdle model with one rating per player. If all entrants finish, last place never gains."""

    key: ClassVar[str] = "plackett-luce-hurdle"
    kernel = staticmethod(update)
    kernel_settings = PlackettLuceHurdleParameters

    initial_rating: Number = inherited("initial_rating", 0.869)
    dummy: None = field(default=None, init=False)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.554, 0.599, 0.16))
    floor: Number | None = inherited("floor", 0.0)
    level: Number = parameter(
        1.87, help="a of the hurdle: the rating at which half of the players finish", search=(-4.0, 5.0)
    )
    width: Number = inherited_from(GaussianHurdleModel, "width", 1.33, search=(0.3, 5.0))
    spare_finishers: bool = inherited_from(GaussianHurdleModel, "spare_finishers", True)
    finish_level: Number = inherited_from(GaussianHurdleModel, "finish_level", -0.3, search=(-6.0, 5.0))
    finish_width: Number = inherited_from(GaussianHurdleModel, "finish_width", 1.67, search=(0.3, 6.0))
    newcomer_points: Number = inherited_from(GaussianHurdleModel, "newcomer_points", 1000.0)
    points_scale: Number = inherited("points_scale", 250.0)

    @cached_property
    def settings(self) -> FloatArray:
        _, floor = self.dummy_and_floor
        return stack_parameters((self.level, self.width, floor, self.spare_finishers, *self.bends))

    def finish_probability(self, states: FloatArray) -> FloatArray:
        ratings = states[..., 0]
        level, width = broadcast_to(self.finish_level, ratings), broadcast_to(self.finish_width, ratings)
        return scipy.special.expit((ratings - level) / width)
