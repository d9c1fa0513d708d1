"""Base class of all single-parameter models.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", section 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.

A subclass of `GradientModel` only defines `direction`, usually the gradient of the log-likelihood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from racebot.errors import ModelError
from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import FloatArray, Number, RatingModel, shrink_toward, to_points
from racebot.ratings.parameters import broadcast_to, inherited_from, parameter, per_entrant, start_state


class Groups(NamedTuple):
    """The observed order of n entrants, the dummy last: lower labels are better, and may have gaps."""

    label: IntArray

    @classmethod
    def of(cls, outcome: Outcome, *, dummy: bool = False) -> Groups:
        """Return an outcome's groups, with a `dummy` in the last place of all entrants, even unrated ones."""
        return cls(np.append(outcome.group, outcome.last_group) if dummy else outcome.group)

    def before(self) -> FloatArray:
        """Return 1 if entrant i (row) is placed before entrant j (column), -1 if behind, else 0: [n, n]."""
        return np.sign(self.label - self.label[:, np.newaxis]).astype(np.float64)

    def spans(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return each entrant's group: shape [n], and how many entrants are before it, and through it."""
        _, group, size = np.unique(self.label, return_inverse=True, return_counts=True)
        return group, size.cumsum() - size, size.cumsum()

    def places(self) -> FloatArray:
        """Return places from 1: shape [n]. Members of a group share the mean of their places."""
        group, better, through = self.spans()
        return np.asarray((better + 1 + through) / 2)[group]


@dataclass(frozen=True, kw_only=True)
class SingleParameterModel(RatingModel, ABC):
    """Base class of models with one rating per player. In a sweep, entries of `knots` and `rates` are arrays.

    On creation, knots that do not ascend or do not match the rates are a `ModelError`.
    """

    key: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ("rating",)
    rates_teams: ClassVar[bool] = False

    initial_rating: Number = parameter(0.0, help="rating of a player without a race", search=(-3.0, 1.0))
    dummy: Number | None = parameter(
        None,
        help="fixed rating of a dummy player who shares the last place of every race; none leaves it out",
        search=(-1.0, 2.0),
        optional=True,
    )
    knots: tuple[Number, ...] = parameter((0.0,), help="ratings at which the learning rates hold, ascending")
    rates: tuple[Number, ...] = parameter(
        (0.1,),
        help="learning rate at each knot, linear between knots and flat outside; a single one is constant",
        positive=True,
        search=(0.01, 1.0),
    )
    floor: Number | None = parameter(None, help="lowest rating; none leaves it out", optional=True)
    points_scale: Number = parameter(1000.0, help="points per unit of rating", positive=True)

    def __post_init__(self) -> None:
        if not self.rates or (len(self.rates) > 1 and len(self.rates) != len(self.knots)):
            counts = f"{len(self.rates)} rates for {len(self.knots)} knots"
            raise ModelError(f"{self.key}: {counts}; give a single rate or one for each knot")
        if any(np.any(np.asarray(low) >= high) for low, high in pairwise(self.knots)):
            raise ModelError(f"{self.key}: knots={self.knots!r} do not ascend")

    def initial(self) -> FloatArray:
        return start_state(self, self.initial_rating)

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        return shrink_toward(self.initial()[..., np.newaxis, :], states, factor)

    @property
    def bends(self) -> tuple[Number, ...]:
        """Return the learning rates, followed by their knots; see `learning_rate_at`."""
        return (*self.rates, *self.knots[: len(self.rates)])

    @property
    def dummy_and_floor(self) -> tuple[Number, Number]:
        """Return them as numbers for a kernel: NaN for no dummy, and -inf for no floor."""
        return np.nan if self.dummy is None else self.dummy, -np.inf if self.floor is None else self.floor

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        ratings = states[..., 0]
        return to_points(broadcast_to(self.points_scale, ratings) * ratings)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return scipy.special.expit(a[..., 0] - b[..., 0])


@dataclass(frozen=True, kw_only=True)
class GradientModel(SingleParameterModel):
    """Base class of models that move ratings by a learning rate times a direction, in NumPy."""

    @abstractmethod
    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        """Return each entrant's rating change at a learning rate of one: shape [..., n], like `ratings`."""

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        if not outcome.rateable:
            return states.copy()
        ratings = states[..., 0]
        entrants = ratings
        if self.dummy is not None:
            entrants = np.empty((*ratings.shape[:-1], outcome.size + 1))
            entrants[..., :-1] = ratings
            entrants[..., -1] = self.dummy
        moves = self.direction(entrants, Groups.of(outcome, dummy=self.dummy is not None))
        updated = ratings + self.learning_rate(ratings) * moves[..., : outcome.size]
        if self.floor is not None:
            # As `above_floor`, for arrays.
            updated = np.maximum(updated, np.minimum(ratings, per_entrant(self.floor)))
        return updated[..., np.newaxis]

    def learning_rate(self, ratings: FloatArray) -> FloatArray:
        """Return the learning rate, linear between the knots and flat outside (section 5.2)."""
        if len(self.rates) == 1:
            return per_entrant(self.rates[0])
        knots, rates = (np.stack(np.broadcast_arrays(*each), -1) for each in (self.knots, self.rates))
        if knots.ndim == rates.ndim == 1:
            return np.interp(ratings, knots, rates)
        candidates = zip(ratings, *np.broadcast_arrays(knots, rates), strict=True)
        return np.stack([np.interp(*candidate) for candidate in candidates])


def learning_rate_at(rating: float, bends: Sequence[float]) -> float:
    """Return the learning rate of one player; `bends` holds the rates, followed by their knots."""
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


def above_floor(moved: float, rating: float, floor: float) -> float:
    """Raise a moved rating to the floor. A rating that an older setting left below it may stay there."""
    return max(moved, min(rating, floor))


inherited = partial(inherited_from, SingleParameterModel)
"""Redeclare a parameter of `SingleParameterModel` with a different default."""
