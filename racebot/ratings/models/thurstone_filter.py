"""Thurstone's model with a hurdle that keeps its doubt: mean, variance and the day of the last race.

A player's skill is believed to be N(μ, σ²). Before a race σ² grows by τ², and by τ_day² for each day since
the last one, at most a year. The race updates both by the hurdle and by the order among the finishers
(`hurdle`). What ranks and is shown is μ - k·σ, so doubt that goes is worth points: an unfinished player and
the last of a race that everybody finished get no smaller σ than they had and no higher rating, a winner no
lower one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from racebot.ratings.broadcast import broadcast_to, start_state
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.gaussian_hurdle import Columns, GaussianHurdleModel, Steps, absence
from racebot.ratings.models.hurdle import Beliefs, Probit, Race, order, probit
from racebot.ratings.numerics.elementwise import Elementwise
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.parameters import inherited_from, parameter
from racebot.ratings.shrink import shrink_toward, shrink_variance


@dataclass(frozen=True, kw_only=True)
class ThurstoneFilter(GaussianHurdleModel):
    """The state's day is that of the last race, in days since 1970, or 0 before the first one."""

    key: ClassVar[str] = "thurstone-filter"
    used: ClassVar[tuple[str, ...]] = (
        "race_drift",
        "daily_drift",
        "conservative",
        "level",
        "width",
        "lapse",
    )

    newcomer_spread: Number = parameter(
        4.01, help="s₀: standard deviation of a newcomer's skill", positive=True, search=(0.5, 8.0)
    )
    race_drift: Number = parameter(
        0.0071, help="τ: doubt that is added before each race", minimum=0.0, search=(0.0, 0.3)
    )
    daily_drift: Number = parameter(
        0.0416, help="τ_day: doubt that is added for each day away", minimum=0.0, search=(0.0, 0.3)
    )
    conservative: Number = parameter(
        1.31, help="k of the rating μ - k·σ; 0 ranks by μ alone", minimum=0.0, search=(0.0, 3.0)
    )
    level: Number = inherited_from(GaussianHurdleModel, "level", -5.28, search=(-12.0, 4.0))
    width: Number = inherited_from(GaussianHurdleModel, "width", 2.01)
    lapse: Number = inherited_from(GaussianHurdleModel, "lapse", 0.0744)
    finish_level: Number = inherited_from(GaussianHurdleModel, "finish_level", -8.71, search=(-24.0, 6.0))
    finish_width: Number = inherited_from(GaussianHurdleModel, "finish_width", 5.92)
    points_scale: Number = inherited_from(GaussianHurdleModel, "points_scale", 100.0)

    @property
    def columns(self) -> tuple[str, ...]:
        return "mean", "variance", "day"

    def initial(self) -> FloatArray:
        return start_state(self, 0.0, np.square(self.newcomer_spread), 0.0)

    def rating(self, states: FloatArray) -> FloatArray:
        mean = states[..., 0]
        rating: FloatArray = mean - broadcast_to(self.conservative, mean) * np.sqrt(states[..., 1])
        return rating

    def skill_variance(self, states: FloatArray) -> FloatArray:
        return states[..., 1]

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        """Beliefs for the start of a season; days are kept, since doubt goes on growing."""
        newcomer = self.initial()[..., np.newaxis, :]
        mean = shrink_toward(newcomer[..., 0], states[..., 0], factor)
        variance = shrink_variance(newcomer[..., 1], states[..., 1], factor)
        return np.stack([mean, variance, states[..., 2]], -1)

    def _updated(
        self, columns: Columns, race: Race, settings: Sequence[Value], operations: Elementwise
    ) -> Steps:
        means, variances, days = columns
        drift, daily, conservative, level, width, lapse = settings
        grown = [
            variance + drift * drift + daily * daily * absence(day, race.day, operations)
            for variance, day in zip(variances, days, strict=True)
        ]
        finished = probit(
            Beliefs(list(means), grown), race.unfinished, Probit(level, width * width, lapse), operations
        )
        placed = order(finished, race.group, race.unfinished, operations)
        limited = Beliefs(list(placed.means), list(placed.variances))
        best = min(race.group)
        for i, (mean, variance) in enumerate(zip(means, variances, strict=True)):
            behind = race.unfinished[i] or race.last[i]
            if not behind and race.group[i] > best:
                continue
            if behind:
                limited.variances[i] = operations.greatest(limited.variances[i], variance)
            # The mean at which the rating would be what it was.
            even = mean + conservative * (operations.sqrt(limited.variances[i]) - operations.sqrt(variance))
            bound = operations.least if behind else operations.greatest
            limited.means[i] = bound(limited.means[i], even)
        if self.spare_finishers:
            self._spare(limited, columns, grown, settings, operations)
        seen = [operations.greatest(day, race.day) for day in days]
        return Steps((*finished, days), (*placed, seen), (*limited, seen))

    def _spare(
        self,
        placed: Beliefs,
        columns: Columns,
        grown: Sequence[Value],
        settings: Sequence[Value],
        operations: Elementwise,
    ) -> None:
        """Raise each mean until the rating is at least the one after giving up."""
        means, variances, _ = columns
        _, _, conservative, level, width, lapse = settings
        hurdle = Probit(level, width * width, lapse)
        given_up = probit(Beliefs(list(means), list(grown)), [True] * len(means), hurdle, operations)
        for i, (mean, variance) in enumerate(zip(means, variances, strict=True)):
            doubt = operations.greatest(given_up.variances[i], variance)
            even = mean + conservative * (operations.sqrt(doubt) - operations.sqrt(variance))
            rating = operations.least(given_up.means[i], even) - conservative * operations.sqrt(doubt)
            least = rating + conservative * operations.sqrt(placed.variances[i])
            placed.means[i] = operations.greatest(placed.means[i], least)
