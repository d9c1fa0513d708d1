"""Plackett-Luce with a hurdle: who finishes is logistic, the order among the finishers Plackett-Luce.

A rating moves along the gradient of the likelihood of both, of the finish by `hurdle.logistic` and of the
order by multiplayer-generalizations-of-elo §3.2.2, at a learning rate that depends on it (§5.2). All of it is
in closed form. There is no dummy player: the hurdle anchors the scale.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from racebot.races.outcome import Outcome
from racebot.ratings.broadcast import broadcast_to
from racebot.ratings.model import FloatArray, Number, to_points
from racebot.ratings.models.hurdle import Race, logistic
from racebot.ratings.models.plackett_luce import PlackettLuce
from racebot.ratings.models.single import SingleParameterModel, inherited
from racebot.ratings.numerics.elementwise import FLOATS, Elementwise, Parameters, Unpacked, pack, unpack
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.parameters import parameter
from racebot.ratings.ranking import Groups


@dataclass(frozen=True, kw_only=True)
class PlackettLuceHurdle(SingleParameterModel):
    """The last of a race that everybody finished does not gain, though the hurdle alone would say so."""

    key: ClassVar[str] = "plackett-luce-hurdle"

    initial_rating: Number = inherited("initial_rating", 0.466)
    dummy: None = field(default=None, init=False)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.756, 0.328, 0.129))
    floor: Number | None = inherited("floor", 0.0)
    level: Number = parameter(
        1.49, help="a of the hurdle: the rating at which it is even", search=(-4.0, 5.0)
    )
    width: Number = parameter(
        1.37, help="b of the hurdle: the larger, the less a finish tells", positive=True, search=(0.3, 5.0)
    )
    spare_finishers: bool = parameter(False, help="whether a finisher never loses more than by giving up")
    finish_level: Number = parameter(
        -0.66,
        help="of the forecast whether a player finishes: the rating at which it is even",
        search=(-6.0, 5.0),
    )
    finish_width: Number = parameter(
        1.59,
        help="of that forecast: the larger, the less the rating matters",
        positive=True,
        search=(0.3, 6.0),
    )
    newcomer_points: Number = parameter(1000.0, help="points that people see of a newcomer")
    points_scale: Number = inherited("points_scale", 250.0)

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        race = Race.of(outcome)
        if not race.observed:
            return states.copy()
        unpacked = unpack(states, self._settings)
        _, _, limited = self._steps(unpacked, race)
        return pack([limited], unpacked.shape)

    def steps(self, states: FloatArray, outcome: Outcome) -> tuple[tuple[str, FloatArray], ...]:
        """States after the hurdle (`finish`), after the order (`place`) and after the limits (`limit`)."""
        race = Race.of(outcome)
        names = ("finish", "place", "limit")
        if not race.observed:
            return tuple((name, states.copy()) for name in names)
        unpacked = unpack(states, self._settings)
        steps = self._steps(unpacked, race)
        return tuple((name, pack([step], unpacked.shape)) for name, step in zip(names, steps, strict=True))

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        unpacked = unpack(ratings[..., np.newaxis], self._settings)
        unfinished = groups.unfinished.tolist()
        finish = self._finish(unpacked, unfinished)
        place = order_gradient(unpacked.columns[0], groups.label.tolist(), unfinished, unpacked.operations)
        return pack([[a + b for a, b in zip(finish, place, strict=True)]], unpacked.shape)[..., 0]

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        ratings = states[..., 0]
        above = ratings - broadcast_to(self.initial_rating, ratings)
        return to_points(
            broadcast_to(self.newcomer_points, ratings) + broadcast_to(self.points_scale, ratings) * above
        )

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        probability: FloatArray = expit(a[..., 0] - b[..., 0])
        return probability

    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Probability that each player finishes their next race: shape [..., n].

        It has a line of its own: the hurdle says how much a finish shall tell, not how many finish.
        """
        ratings = states[..., 0]
        probability: FloatArray = expit(
            (ratings - broadcast_to(self.finish_level, ratings)) / broadcast_to(self.finish_width, ratings)
        )
        return probability

    def _steps(self, unpacked: Unpacked, race: Race) -> tuple[list[Value], list[Value], list[Value]]:
        """Ratings after the hurdle, after the order among finishers, and after the floor and the clamp."""
        ratings, operations = unpacked.columns[0], unpacked.operations
        finish = self._finish(unpacked, race.unfinished)
        place = order_gradient(ratings, race.group, race.unfinished, operations)
        finished = self._moved(unpacked, finish)
        placed = self._moved(unpacked, [a + b for a, b in zip(finish, place, strict=True)])
        limited = placed
        if self.spare_finishers:
            given_up = self._moved(unpacked, self._finish(unpacked, [True] * len(ratings)))
            limited = [operations.greatest(*pair) for pair in zip(placed, given_up, strict=True)]
        limited = self._floored(unpacked, limited)
        if True in race.last:
            limited = [
                operations.least(after, rating) if last else after
                for after, rating, last in zip(limited, ratings, race.last, strict=True)
            ]
        return finished, placed, limited

    def _finish(self, unpacked: Unpacked, unfinished: Sequence[bool]) -> list[Value]:
        """Gradient of the log-probability of who finished."""
        level, width, *_ = unpacked.parameters
        return [
            logistic(rating, out, level, width, unpacked.operations)
            for rating, out in zip(unpacked.columns[0], unfinished, strict=True)
        ]

    def _moved(self, unpacked: Unpacked, moves: Sequence[Value]) -> list[Value]:
        """Ratings moved at their learning rates."""
        (ratings,), (_, _, _, *bends), operations, _ = unpacked
        rates, knots = bends[: len(self.rates)], bends[len(self.rates) :]
        return [
            rating + learning_rate(rating, rates, knots, operations) * move
            for rating, move in zip(ratings, moves, strict=True)
        ]

    def _floored(self, unpacked: Unpacked, moved: Sequence[Value]) -> list[Value]:
        """Ratings held at the floor. A rating already below it, from an older setting, may stay there."""
        (ratings,), (_, _, floor, *_), operations, _ = unpacked
        if operations is FLOATS and min(moved) >= floor:
            return list(moved)
        return [
            operations.greatest(after, operations.least(rating, floor))
            for after, rating in zip(moved, ratings, strict=True)
        ]

    @cached_property
    def _settings(self) -> Parameters:
        floor = -np.inf if self.floor is None else self.floor
        return Parameters.of((self.level, self.width, floor, *self.rates, *self.knots))


def learning_rate(
    rating: Value, rates: Sequence[Value], knots: Sequence[Value], operations: Elementwise
) -> Value:
    """`SingleParameterModel.learning_rate` of a value: linear between the knots, flat outside."""
    if operations is FLOATS:
        i = bisect(knots, rating)
        if i == 0 or i >= len(rates):
            return rates[0] if i == 0 else rates[-1]
        return rates[i - 1] + (rates[i] - rates[i - 1]) * (rating - knots[i - 1]) / (knots[i] - knots[i - 1])
    rate = rates[0]
    for (below, above), (low, high) in zip(pairwise(rates), pairwise(knots), strict=False):
        rate = rate + (above - below) * np.clip((rating - low) / (high - low), 0.0, 1.0)
    return rate


def order_gradient(
    ratings: Sequence[Value], group: Sequence[int], unfinished: Sequence[bool], operations: Elementwise
) -> list[Value]:
    """Gradient of the log-probability of the order of the finishers; 0 for all others.

    Finishers are eliminated one by one, each with probability e^(-r) / M, M being the sum over all that are
    left. Where some share a place the order between them is unobserved (`PlackettLuce`, exact).
    """
    moves: list[Value] = [0.0] * len(ratings)
    best_first = [i for i, out in enumerate(unfinished) if not out]
    best_first.sort(key=group.__getitem__)
    if len({group[i] for i in best_first}) < len(best_first):
        labels = np.array([group[i] for i in best_first])
        groups = Groups(labels, np.zeros(labels.size, dtype=np.bool_))
        if labels[0] != labels[-1]:
            found = PlackettLuce().direction(np.stack([ratings[i] for i in best_first], -1), groups)
            for i, move in zip(
                best_first, found.T.tolist() if operations is FLOATS else found.T, strict=True
            ):
                moves[i] = move
        return moves
    masses, mass = [], 0.0
    rates = [operations.exp(-ratings[i]) for i in best_first]
    for rate in rates:
        mass = mass + rate
        masses.append(mass)
    shares = 0.0
    for i, rate, mass in zip(best_first[:0:-1], rates[:0:-1], masses[:0:-1], strict=True):
        shares = shares + 1.0 / mass
        moves[i] = rate * shares - 1.0
    if best_first:
        moves[best_first[0]] = rates[0] * shares
    return moves
