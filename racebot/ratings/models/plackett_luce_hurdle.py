"""Plackett-Luce with a logistic hurdle, in closed form.

Whether a player finishes is logistic in the rating, the order among the finishers is Plackett-Luce
(R. L. Plackett, "The analysis of permutations", doi:10.2307/2346567). A rating moves along the gradient of
the likelihood of both, at a learning rate that depends on it. There is no dummy player: the hurdle anchors
the scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from racebot.ratings.broadcast import broadcast_to, stack_parameters
from racebot.ratings.kernel import Columns, KernelModel, Race, Steps
from racebot.ratings.model import FloatArray, Number, to_points
from racebot.ratings.models.plackett_luce import PlackettLuce
from racebot.ratings.models.single import SingleParameterModel, inherited
from racebot.ratings.parameters import parameter
from racebot.ratings.ranking import Groups


class Settings(NamedTuple):
    """The parameters that `update` needs; `spare_finishers` is 0 or 1, no floor is minus infinity.

    `bends` holds the learning rates, then the knots.
    """

    level: float
    width: float
    floor: float
    spare_finishers: float
    bends: Sequence[float]


def update(
    before: Columns, race: Race, settings: Settings, finish: Columns, place: Columns, limit: Columns
) -> bool:
    """Rate one race.

    Args:
        before: ratings.
        race: what happened.
        settings: the parameters.
        finish: filled with the ratings after the hurdle.
        place: filled with the ratings after the order.
        limit: filled with the ratings after the limits: the floors and the clamp.

    Returns:
        False if compiled code cannot rate this race; plain Python always can.
    """
    ratings = before[0]
    gradient, sound = order_gradient(ratings, race)
    for i in range(len(ratings)):
        rating = ratings[i]
        rate = learning_rate(rating, settings.bends)
        hurdle = hurdle_gradient(rating, race.unfinished[i], settings.level, settings.width)
        finish[0][i] = rating + rate * hurdle
        moved = place[0][i] = rating + rate * (hurdle + gradient[i])
        if settings.spare_finishers > 0.0:
            moved = max(moved, rating + rate * hurdle_gradient(rating, True, settings.level, settings.width))
        # A rating already below the floor, from an older setting, may stay there.
        moved = max(moved, min(rating, settings.floor))
        # The clamp: the last of a race that all entrants finished gains nothing.
        limit[0][i] = min(moved, rating) if race.last[i] else moved
    return sound


def logistic(x: float) -> float:
    """Return 1/(1 + e^(-x))."""
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def hurdle_gradient(rating: float, unfinished: bool, level: float, width: float) -> float:
    """Return the gradient of log P(finished, or not), where P(finish) = logistic((r - a)/b).

    Args:
        rating: r.
        unfinished: what happened.
        level: a, the rating at which half of the players finish.
        width: b, greater than zero.
    """
    chance = logistic((rating - level) / width)
    return -chance / width if unfinished else (1.0 - chance) / width


def learning_rate(rating: float, bends: Sequence[float]) -> float:
    """Return the learning rate: linear between the knots, flat outside.

    Args:
        rating: of the player.
        bends: as many rates, then as many knots.
    """
    count = max(len(bends) // 2, 1)
    i = 0
    while i < count and (count == 1 or bends[count + i] <= rating):
        i += 1
    if i == 0:
        return bends[0]
    if i == count:
        return bends[count - 1]
    low, high = bends[count + i - 1], bends[count + i]
    return bends[i - 1] + (bends[i] - bends[i - 1]) * (rating - low) / (high - low)


def order_gradient(ratings: list[float], race: Race) -> tuple[list[float], bool]:
    """Return the gradient of the log-probability of the finishers' order, 0 for all others.

    Finishers are eliminated one by one, each with probability e^(-r) / M, where M is the sum over all that
    are left. The order of those who share a place is unobserved (`PlackettLuce`, exact).

    Returns:
        The gradient, and False if compiled code cannot work it out.
    """
    moves = [0.0 for _ in ratings]
    order = race.worst_first
    count = len(order)
    for k in range(count - 1):
        if race.group[order[k]] == race.group[order[k + 1]]:
            return tied_gradient(ratings, race)
    rates = [math.exp(-rating) for rating in ratings]
    mass = 0.0
    masses = [0.0 for _ in ratings]
    for k in range(count - 1, -1, -1):
        mass = mass + rates[order[k]]
        masses[order[k]] = mass
    shares = 0.0
    for k in range(count):
        i = order[k]
        if k < count - 1:
            shares = shares + 1.0 / masses[i]
            moves[i] = rates[i] * shares - 1.0
        else:
            moves[i] = rates[i] * shares
    return moves, True


def tied_gradient(ratings: list[float], race: Race) -> tuple[list[float], bool]:
    """Return the same where finishers share places; compiled code leaves it to plain Python."""
    moves = [0.0] * len(ratings)
    best_first = sorted(sorted(race.worst_first), key=race.group.__getitem__)
    labels = np.array([race.group[i] for i in best_first])
    if labels[0] != labels[-1]:
        groups = Groups(labels, np.zeros(labels.size, dtype=np.bool_))
        found = PlackettLuce().direction(np.array([ratings[i] for i in best_first]), groups)
        for i, move in zip(best_first, found.tolist(), strict=True):
            moves[i] = move
    return moves, True


@dataclass(frozen=True, kw_only=True)
class PlackettLuceHurdle(KernelModel, SingleParameterModel):
    """A hurdle model with one number per player. The last of a race that all finished never gains."""

    key: ClassVar[str] = "plackett-luce-hurdle"

    initial_rating: Number = inherited("initial_rating", 0.466)
    dummy: None = field(default=None, init=False)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.756, 0.328, 0.129))
    floor: Number | None = inherited("floor", 0.0)
    level: Number = parameter(
        1.49, help="a of the hurdle: the rating at which half of the players finish", search=(-4.0, 5.0)
    )
    width: Number = parameter(
        1.37,
        help="b of the hurdle: the larger, the less a finish or a DNF counts",
        positive=True,
        search=(0.3, 5.0),
    )
    spare_finishers: bool = parameter(False, help="whether a finisher never loses more than by giving up")
    finish_level: Number = parameter(
        -0.66, help="rating at which the forecast of a finish is even", search=(-6.0, 5.0)
    )
    finish_width: Number = parameter(
        1.59,
        help="width of that forecast: the larger, the less the rating matters",
        positive=True,
        search=(0.3, 6.0),
    )
    newcomer_points: Number = parameter(1000.0, help="points of a newcomer")
    points_scale: Number = inherited("points_scale", 250.0)

    @cached_property
    def settings(self) -> FloatArray:
        floor = -np.inf if self.floor is None else self.floor
        knots = self.knots[: len(self.rates)]
        return stack_parameters((self.level, self.width, floor, self.spare_finishers, *self.rates, *knots))

    def rate_race(self, before: Columns, race: Race, settings: Sequence[float]) -> Steps:
        steps = Steps.like(before)
        level, width, floor, spare, *bends = settings
        update(before, race, Settings(level, width, floor, spare, bends), *steps)
        return steps

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        """Gradient of the log-likelihood at a learning rate of one: shape [n], like `ratings`."""
        finishers = np.flatnonzero(~groups.unfinished)
        worst_first = finishers[np.argsort(-groups.label[finishers], kind="stable")]
        unfinished = groups.unfinished.tolist()
        race = Race(groups.label.tolist(), unfinished, [], worst_first.tolist(), 0.0)
        level, width = self.settings[:2].tolist()
        hurdle = [
            hurdle_gradient(rating, out, level, width)
            for rating, out in zip(ratings.tolist(), unfinished, strict=True)
        ]
        return np.array(hurdle) + order_gradient(ratings.tolist(), race)[0]

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        ratings = states[..., 0]
        above = ratings - broadcast_to(self.initial_rating, ratings)
        scaled = broadcast_to(self.points_scale, ratings) * above
        return to_points(broadcast_to(self.newcomer_points, ratings) + scaled)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        probability: FloatArray = expit(a[..., 0] - b[..., 0])
        return probability

    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Probability that each player finishes their next race: shape [..., n].

        Has its own parameters: the hurdle parameters control how informative a finish is, not how likely.
        """
        ratings = states[..., 0]
        level, width = broadcast_to(self.finish_level, ratings), broadcast_to(self.finish_width, ratings)
        probability: FloatArray = expit((ratings - level) / width)
        return probability
