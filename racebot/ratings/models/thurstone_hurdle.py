"""Thurstone's model with a hurdle: who finishes, then in which order, from a rating and a number of races.

A player's skill is believed to be N(μ, v), and v depends on the number n of earlier races alone, so that
all that a change depends on is public: ratings, numbers of races and the result.

    v = v∞² + (s₀² - v∞²) / (1 + n/c)  [+ ω²·min(days away, 365)/365]

A race updates the beliefs by the hurdle, then by the order among the finishers (`hurdle`). The new μ is
kept, the new variance is not, and n grows by one. docs/model.md derives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from racebot.ratings.broadcast import broadcast_to, start_state
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.gaussian_hurdle import (
    LONGEST_ABSENCE,
    Columns,
    GaussianHurdleModel,
    Steps,
    absence,
)
from racebot.ratings.models.hurdle import Beliefs, Probit, Race, order, probit
from racebot.ratings.numerics.elementwise import Elementwise
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.parameters import inherited_from, parameter
from racebot.ratings.shrink import shrink_toward

WITHOUT_FLOOR: Mapping[str, float | bool] = MappingProxyType(
    {
        "newcomer_spread": 1.8,
        "lasting_spread": 0.0711,
        "settling": 0.772,
        "level": 1.95,
        "width": 2.48,
        "spare_finishers": False,
        "finish_level": -1.23,
        "finish_width": 3.18,
    }
)
"""The parameters tuned without the floor: the defaults of racebot 0.1."""


@dataclass(frozen=True, kw_only=True)
class ThurstoneHurdle(GaussianHurdleModel):
    """The default model: a rating, which starts at 0, and a number of races.

    With ω > 0 the state also holds the day of the last race, in days since 1970, or 0 before the first one.
    """

    key: ClassVar[str] = "thurstone-hurdle"
    used: ClassVar[tuple[str, ...]] = (
        "newcomer_spread",
        "lasting_spread",
        "settling",
        "level",
        "width",
        "lapse",
        "yearly_drift",
    )

    newcomer_spread: Number = parameter(
        1.65, help="s₀: standard deviation of a newcomer's skill", positive=True, search=(0.5, 5.0)
    )
    lasting_spread: Number = parameter(
        0.22, help="v∞: standard deviation left after many races", positive=True, search=(0.01, 0.6)
    )
    settling: Number = parameter(
        1.0,
        help="c: races after which half of a newcomer's variance is gone",
        positive=True,
        search=(0.1, 5.0),
    )
    level: Number = inherited_from(GaussianHurdleModel, "level", 0.80)
    width: Number = inherited_from(GaussianHurdleModel, "width", 1.93)
    yearly_drift: Number = parameter(
        0.0,
        help="ω: standard deviation that a year without a race adds; above 0, the last race's day is kept",
        minimum=0.0,
        search=(0.0, 2.0),
    )
    spare_finishers: bool = inherited_from(GaussianHurdleModel, "spare_finishers", True)
    finish_level: Number = inherited_from(GaussianHurdleModel, "finish_level", -1.34)
    finish_width: Number = inherited_from(GaussianHurdleModel, "finish_width", 3.09)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("rating", "races", "day") if self._keeps_days else ("rating", "races")

    def initial(self) -> FloatArray:
        return start_state(self, *(0.0 for _ in self.columns))

    def rating(self, states: FloatArray) -> FloatArray:
        return states[..., 0]

    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Variance of the belief about each skill at the last race: shape [..., n]."""
        races = states[..., 1]
        newcomer, lasting, settling = (
            broadcast_to(value, races) for value in (self.newcomer_spread, self.lasting_spread, self.settling)
        )
        variance: FloatArray = lasting**2 + (newcomer**2 - lasting**2) / (1.0 + races / settling)
        return variance

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        """States to start the next season from; the old season may have kept days or not."""
        newcomer = self.initial()[..., np.newaxis, :]
        races = states[..., 1] if most_races is None else np.minimum(states[..., 1], most_races)
        carried = [shrink_toward(newcomer[..., 0], states[..., 0], factor), races]
        if self._keeps_days:
            carried.append(states[..., 2] if states.shape[-1] > 2 else np.zeros_like(races))
        return np.stack(carried, -1)

    @cached_property
    def _keeps_days(self) -> bool:
        return bool(np.any(np.asarray(self.yearly_drift) > 0.0))

    def _updated(
        self, columns: Columns, race: Race, settings: Sequence[Value], operations: Elementwise
    ) -> Steps:
        ratings, races, *days = columns
        newcomer, lasting, settling, level, width, lapse, drift = settings
        certain = lasting * lasting
        passing = newcomer * newcomer - certain
        variances = [certain + passing / (1.0 + n / settling) for n in races]
        seen = []
        for column in days:
            yearly = drift * drift / LONGEST_ABSENCE
            variances = [
                variance + yearly * absence(day, race.day, operations)
                for variance, day in zip(variances, column, strict=True)
            ]
            seen.append([operations.greatest(day, race.day) for day in column])
        before = Beliefs(list(ratings), variances)
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
        return Steps((finished.means, races, *days), (placed, counted, *seen), (limited, counted, *seen))
