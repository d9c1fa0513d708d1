"""Thurstone's model with a hurdle: who finishes, then in which order, from a rating and a number of races.

A player's skill is believed to be N(μ, v), and v depends on the number n of earlier races alone, so that
all that a change depends on is public: ratings, numbers of races and the result.

    v = v∞² + (s₀² - v∞²) / (1 + n/c)

A race updates the beliefs by the hurdle, then by the order among the finishers (`hurdle`). The new μ is
kept, the new variance is not, and n grows by one. docs/model.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.gaussian_hurdle import Columns, GaussianHurdleModel, Steps
from racebot.ratings.models.hurdle import Beliefs, Probit, Race, order, probit
from racebot.ratings.models.single import against, start_state
from racebot.ratings.numerics.elementwise import Elementwise
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.parameters import inherited_from, parameter
from racebot.ratings.shrinkage import pulled


@dataclass(frozen=True, kw_only=True)
class ThurstoneHurdle(GaussianHurdleModel):
    """The default model: a rating, which starts at 0, and a number of races."""

    key: ClassVar[str] = "thurstone-hurdle"
    columns: ClassVar[tuple[str, ...]] = ("rating", "races")
    used: ClassVar[tuple[str, ...]] = (
        "newcomer_spread",
        "lasting_spread",
        "settling",
        "level",
        "width",
        "lapse",
    )

    newcomer_spread: Number = parameter(
        1.8, help="s₀: standard deviation of a newcomer's skill", positive=True, search=(0.5, 5.0)
    )
    lasting_spread: Number = parameter(
        0.0711, help="v∞: standard deviation left after many races", positive=True, search=(0.01, 0.5)
    )
    settling: Number = parameter(
        0.772,
        help="c: races after which half of a newcomer's variance is gone",
        positive=True,
        search=(0.1, 5.0),
    )
    level: Number = inherited_from(GaussianHurdleModel, "level", 1.95)
    width: Number = inherited_from(GaussianHurdleModel, "width", 2.48)
    spare_finishers: bool = parameter(
        False, help="whether a finisher never loses more than by giving up; predicts less well"
    )
    finish_level: Number = inherited_from(GaussianHurdleModel, "finish_level", -1.23)
    finish_width: Number = inherited_from(GaussianHurdleModel, "finish_width", 3.18)

    def initial(self) -> FloatArray:
        return start_state(self, 0.0, 0.0)

    def rating(self, states: FloatArray) -> FloatArray:
        return states[..., 0]

    def skill_variance(self, states: FloatArray) -> FloatArray:
        races = states[..., 1]
        newcomer, lasting, settling = (
            against(value, races) for value in (self.newcomer_spread, self.lasting_spread, self.settling)
        )
        variance: FloatArray = lasting**2 + (newcomer**2 - lasting**2) / (1.0 + races / settling)
        return variance

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        newcomer = self.initial()[..., np.newaxis, :]
        races = states[..., 1] if most_races is None else np.minimum(states[..., 1], most_races)
        return np.stack([pulled(states[..., 0], newcomer[..., 0], factor), races], -1)

    def _updated(
        self, columns: Columns, race: Race, settings: Sequence[Value], operations: Elementwise
    ) -> Steps:
        ratings, races = columns
        newcomer, lasting, settling, level, width, lapse = settings
        certain = lasting * lasting
        passing = newcomer * newcomer - certain
        before = Beliefs(list(ratings), [certain + passing / (1.0 + n / settling) for n in races])
        hurdle = Probit(level, width * width, lapse)
        finished = probit(before, race.unfinished, hurdle, operations)
        placed = order(finished, race.group, race.unfinished, operations).means
        limited = list(placed)
        if self.spare_finishers:
            given_up = probit(before, [True] * len(ratings), hurdle, operations).means
            limited = [operations.greatest(*pair) for pair in zip(placed, given_up, strict=True)]
        for i, last in enumerate(race.last):
            if last:
                limited[i] = operations.least(limited[i], ratings[i])
        counted = [n + 1.0 for n in races]
        return Steps((finished.means, races), (placed, counted), (limited, counted))
