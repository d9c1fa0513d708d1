"""A hurdle model that tracks uncertainty: mean, variance and the day of the last race.

A player's skill is N(μ, σ²). Before a race, σ² grows by τ², and by τ_day² for each day since the last race,
for at most a year. The race updates both by the hurdle (J. G. Cragg, https://doi.org/10.2307/1909582) and
by the order among finishers (L. L. Thurstone, https://doi.org/10.1037/h0070288); see `hurdle`. The
rating is μ - k·σ, so it rises as uncertainty falls. Limits: players who did not finish, and those in last
place if everyone finished, never gain rating or certainty, winners never lose rating, and with
`spare_finishers` no finisher ends below the rating that a forfeit would have given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from racebot.ratings.kernel import Columns, KernelRace
from racebot.ratings.model import FloatArray, Number, shrink_toward, shrink_variance
from racebot.ratings.models.hurdle import (
    GaussianHurdleModel,
    Hurdle,
    after_race,
    days_away,
    raised_to_forfeit,
)
from racebot.ratings.parameters import broadcast_to, inherited_from, parameter, start_state


class FilterParameters(NamedTuple):
    """The parameters of `update`. `spare_finishers` is 0 or 1."""

    race_drift: float
    daily_drift: float
    conservative: float
    level: float
    width: float
    spare_finishers: float


def update(before: Columns, race: KernelRace, settings: FilterParameters, steps: list[Columns]) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments."""
    finish, place, limit = steps[0], steps[1], steps[2]
    drift, daily = settings.race_drift, settings.daily_drift
    hurdle = Hurdle(settings.level, settings.width * settings.width)
    size = len(before[0])
    means, grown = before[0], [0.0] * size
    for i in range(size):
        grown[i] = before[1][i] + drift * drift + daily * daily * days_away(before[2][i], race.day)
    sound = after_race((means, grown), race, hurdle, steps)
    best = min(race.group)
    for i in range(size):
        k, mean, variance = race.unit[i], means[i], before[1][i]
        after, doubt = place[0][i], place[1][i]
        if race.unfinished[k] or race.group[k] == race.clamped:
            doubt = max(doubt, variance)
            after = min(after, same_rating(mean, variance, doubt, settings.conservative))
        elif race.group[k] == best:
            after = max(after, same_rating(mean, variance, doubt, settings.conservative))
        if not race.unfinished[k]:
            # Until it is filled, `limit` holds the skill after a forfeit.
            left = max(limit[1][i], variance)
            forfeit = min(limit[0][i], same_rating(mean, variance, left, settings.conservative))
            forfeit = same_rating(forfeit, left, doubt, settings.conservative)
            after = raised_to_forfeit(after, forfeit, settings.spare_finishers)
        limit[0][i], limit[1][i] = after, doubt
        finish[2][i] = before[2][i]
        place[2][i] = limit[2][i] = max(before[2][i], race.day)
    return sound


def same_rating(mean: float, variance: float, doubt: float, conservative: float) -> float:
    """Return the mean that, with variance `doubt`, gives the same rating μ - k·σ."""
    return mean + conservative * (math.sqrt(doubt) - math.sqrt(variance))


@dataclass(frozen=True, kw_only=True)
class ThurstoneFilter(GaussianHurdleModel):
    """A hurdle model whose state is mean, variance and day of the last race.

    The day counts from 1970-01-01 UTC and is 0 before the first race.
    """

    key: ClassVar[str] = "thurstone-filter"
    kernel = staticmethod(update)
    kernel_settings = FilterParameters
    columns: ClassVar[tuple[str, ...]] = ("mean", "variance", "day")

    newcomer_spread: Number = parameter(
        1.9, help="s₀: standard deviation of a newcomer's skill", positive=True, search=(0.5, 8.0)
    )
    race_drift: Number = parameter(
        0.0034, help="τ: uncertainty added before each race", minimum=0.0, search=(0.0, 0.3)
    )
    daily_drift: Number = parameter(
        0.0695, help="τ_day: uncertainty added for each day of absence", minimum=0.0, search=(0.0, 0.3)
    )
    conservative: Number = parameter(
        1.1, help="k of the rating μ - k·σ; 0 ranks by μ alone", minimum=0.0, search=(0.0, 3.0)
    )
    level: Number = inherited_from(GaussianHurdleModel, "level", 0.655, search=(-12.0, 4.0))
    width: Number = inherited_from(GaussianHurdleModel, "width", 2.66)
    finish_level: Number = inherited_from(GaussianHurdleModel, "finish_level", -3.17, search=(-24.0, 6.0))
    finish_width: Number = inherited_from(GaussianHurdleModel, "finish_width", 4.31)
    odds_scale: Number = inherited_from(GaussianHurdleModel, "odds_scale", 1.02)
    odds_doubt: Number = inherited_from(GaussianHurdleModel, "odds_doubt", 8.0)
    performance_scale: Number = inherited_from(GaussianHurdleModel, "performance_scale", 1.02)
    performance_doubt: Number = inherited_from(GaussianHurdleModel, "performance_doubt", 8.0)
    points_scale: Number = inherited_from(GaussianHurdleModel, "points_scale", 200.0)

    def initial(self) -> FloatArray:
        return start_state(self, 0.0, np.square(self.newcomer_spread), 0.0)

    def rating(self, states: FloatArray) -> FloatArray:
        mean = states[..., 0]
        return mean - broadcast_to(self.conservative, mean) * np.sqrt(states[..., 1])

    def skill_variance(self, states: FloatArray) -> FloatArray:
        return states[..., 1]

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        newcomer = self.initial()[..., np.newaxis, :]
        mean = shrink_toward(newcomer[..., 0], states[..., 0], factor)
        variance = shrink_variance(newcomer[..., 1], states[..., 1], factor)
        return np.stack([mean, variance, states[..., 2]], -1)  # days away count on
