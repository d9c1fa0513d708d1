"""What the hurdle models with Gaussian skills have in common: the hurdle, the points and the forecasts.

`thurstone-hurdle` and `thurstone-filter` differ in what they keep of a player between races.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.broadcast import broadcast_to
from racebot.ratings.model import FloatArray, Number, to_points
from racebot.ratings.models.hurdle import Race
from racebot.ratings.numerics.elementwise import Elementwise, Parameters, pack, unpack
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.parameters import parameter

MOST_ODDS_DOUBT = 8.0
"""Largest λ: without a bound, a fit to a few dozen races runs away."""

Columns = Sequence[Sequence[Value]]
"""k columns of n values each."""


LONGEST_ABSENCE = 365.0
"""Days away beyond which doubt grows no more."""


def absence(last: Value, day: float, operations: Elementwise) -> Value:
    """Return the days from a player's last race to this one: 0 to `LONGEST_ABSENCE`, 0 for a newcomer.

    Args:
        last: the day of the last race, 0 for none.
        day: that of this race.
        operations: for the kind of value.
    """
    away = operations.least(operations.greatest(day - last, 0.0), LONGEST_ABSENCE)
    return away * (last > 0.0)


class Steps(NamedTuple):
    """Columns after the hurdle, after the order, and after the limits that no update may cross."""

    finish: Columns
    place: Columns
    limit: Columns


@dataclass(frozen=True, kw_only=True)
class GaussianHurdleModel(ABC):
    """Base of the hurdle models whose skills are Gaussian.

    In a sweep each numeric parameter is a number or an array of shape [candidates].

    Raises:
        ModelError: when made with a lapse of 1 or more.
    """

    key: ClassVar[str]
    rates_teams: ClassVar[bool] = False
    used: ClassVar[tuple[str, ...]]
    """Names of the parameters that the update needs, in the order in which it takes them."""

    level: Number = parameter(0.0, help="a of the hurdle: the skill at which it is even", search=(-8.0, 6.0))
    width: Number = parameter(
        1.0, help="b of the hurdle: the larger, the less a finish tells", positive=True, search=(0.3, 8.0)
    )
    lapse: Number = parameter(
        0.0,
        help="q of the hurdle: chance not to finish whatever the skill; below 1",
        minimum=0.0,
        search=(0.0, 0.4),
    )
    finish_level: Number = parameter(
        0.0,
        help="of the forecast whether a player finishes: the rating at which it is even",
        search=(-8.0, 6.0),
    )
    finish_width: Number = parameter(
        1.0,
        help="of that forecast: the larger, the less the rating matters",
        positive=True,
        search=(0.3, 12.0),
    )
    odds_scale: Number = parameter(
        1.0,
        help="κ of the odds: the larger, the more certain they are; changes no rating",
        positive=True,
        search=(0.3, 2.5),
    )
    odds_doubt: Number = parameter(
        1.0,
        help="λ of the odds: how much doubt about two skills evens them out; changes no rating",
        minimum=0.0,
        maximum=MOST_ODDS_DOUBT,
        search=(0.0, MOST_ODDS_DOUBT),
    )
    spare_finishers: bool = parameter(False, help="whether a finisher never loses more than by giving up")
    newcomer_points: Number = parameter(1000.0, help="points that people see of a newcomer")
    points_scale: Number = parameter(250.0, help="points that people see per unit of rating", positive=True)

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.lapse) >= 1.0):
            raise ModelError(f"{self.key}: lapse={self.lapse!r} is not below 1")

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the k numbers of a player's state."""

    @abstractmethod
    def initial(self) -> FloatArray:
        """State of a player without a race: shape [k], or [candidates, k] in a sweep."""

    @abstractmethod
    def rating(self, states: FloatArray) -> FloatArray:
        """The number that ranks players, higher is better: shape [..., n]."""

    @abstractmethod
    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Variance of the belief about each skill: shape [..., n]."""

    @abstractmethod
    def _updated(
        self, columns: Columns, race: Race, settings: Sequence[Value], operations: Elementwise
    ) -> Steps:
        """Update the columns step by step."""

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        race = Race.of(outcome)
        if not race.observed:
            return states.copy()
        columns, settings, operations, shape = unpack(states, self._settings)
        return pack(self._updated(columns, race, settings, operations).limit, shape)

    def steps(self, states: FloatArray, outcome: Outcome) -> tuple[tuple[str, FloatArray], ...]:
        """States after the hurdle (`finish`), after the order (`place`) and after the limits (`limit`)."""
        race = Race.of(outcome)
        if not race.observed:
            return tuple((name, states.copy()) for name in Steps._fields)
        columns, settings, operations, shape = unpack(states, self._settings)
        steps = self._updated(columns, race, settings, operations)
        return tuple((name, pack(step, shape)) for name, step in zip(Steps._fields, steps, strict=True))

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        newcomer = self.rating(self.initial()[..., np.newaxis, :])[..., 0]
        above = rating - broadcast_to(newcomer, rating)
        return to_points(
            broadcast_to(self.newcomer_points, rating) + broadcast_to(self.points_scale, rating) * above
        )

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Probability that a player in state a is placed before one in state b: shape of the rows [...].

        Φ(κ·lead / √(2 + λ·(v₁ + v₂))): the lead in rating against the scatter of two performances and the
        doubt about two skills. The ratings already hold what finishing says about skill; adding the hurdle
        to these odds makes them worse (docs/model.md).
        """
        lead = self.rating(a) - self.rating(b)
        doubt = broadcast_to(self.odds_doubt, lead) * (self.skill_variance(a) + self.skill_variance(b))
        scaled = broadcast_to(self.odds_scale, lead) * lead
        probability: FloatArray = ndtr(scaled / np.sqrt(2.0 + doubt))
        return probability

    def finish_probability(self, states: FloatArray) -> FloatArray:
        """Probability that each player finishes their next race: shape [..., n].

        It has a line of its own: the hurdle says how much a finish shall tell, not how many finish.
        """
        rating = self.rating(states)
        width = np.sqrt(broadcast_to(self.finish_width, rating) ** 2 + self.skill_variance(states))
        probability: FloatArray = ndtr((rating - broadcast_to(self.finish_level, rating)) / width)
        return probability

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each player's next performance, should they finish: [..., n].

        Scaled as the odds of a pair are, so that the odds of a race agree with them.
        """
        rating = self.rating(states)
        doubt = broadcast_to(self.odds_doubt, rating) * self.skill_variance(states)
        return rating, np.sqrt(1.0 + doubt) / broadcast_to(self.odds_scale, rating)

    @cached_property
    def _settings(self) -> Parameters:
        return Parameters.of(getattr(self, name) for name in self.used)
