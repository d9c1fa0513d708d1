"""The default model, with a rating and a race count. docs/model.md derives it.

A player's skill is N(μ, v). The variance v only depends on public numbers: the number n of earlier races and,
with ω > 0, the days d since the last race,

    v = v∞² + (s₀² - v∞²) / (1 + n/c) + ω²·min(d, 365)/365

A race updates the estimate by the hurdle (J. G. Cragg, https://doi.org/10.2307/1909582), then by the order
among finishers (L. L. Thurstone, https://doi.org/10.1037/h0070288); see `hurdle`. The new μ is kept, the
new variance is discarded, and n grows by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from racebot.ratings.kernel import Columns, KernelRace
from racebot.ratings.model import FloatArray, Number, shrink_toward
from racebot.ratings.models.hurdle import (
    LONGEST_ABSENCE,
    GaussianHurdleModel,
    Hurdle,
    after_race,
    days_away,
    raised_to_forfeit,
)
from racebot.ratings.parameters import broadcast_to, parameter, start_state


class HurdleParameters(NamedTuple):
    """The parameters of `update`. `spare_finishers` is 0 or 1."""

    newcomer_spread: float
    lasting_spread: float
    settling: float
    level: float
    width: float
    yearly_drift: float
    spare_finishers: float


def update(before: Columns, race: KernelRace, settings: HurdleParameters, steps: list[Columns]) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments."""
    finish, place, limit = steps[0], steps[1], steps[2]
    ratings, races = before[0], before[1]
    certain = settings.lasting_spread * settings.lasting_spread
    passing = settings.newcomer_spread * settings.newcomer_spread - certain
    variances = [certain + passing / (1.0 + n / settings.settling) for n in races]
    if settings.yearly_drift > 0.0:
        yearly = settings.yearly_drift * settings.yearly_drift / LONGEST_ABSENCE
        for i in range(len(variances)):
            variances[i] += yearly * days_away(before[2][i], race.day)
    hurdle = Hurdle(settings.level, settings.width * settings.width)
    sound = after_race((ratings, variances), race, hurdle, steps)
    for i in range(len(ratings)):
        # Until it is filled, `limit` holds the skill after a forfeit.
        rating = raised_to_forfeit(place[0][i], limit[0][i], settings.spare_finishers)
        # Clamp: if all entrants finished, last place gains nothing.
        limit[0][i] = min(rating, ratings[i]) if race.group[race.unit[i]] == race.clamped else rating
        finish[1][i] = races[i]
        place[1][i] = limit[1][i] = races[i] + 1.0
    for k in range(2, len(before)):
        for i in range(len(variances)):
            finish[k][i] = before[k][i]
            place[k][i] = limit[k][i] = max(before[k][i], race.day)
    return sound


@dataclass(frozen=True, kw_only=True)
class ThurstoneHurdle(GaussianHurdleModel):
    """Thurstone's model with a hurdle. The state is a rating, which starts at 0, and a race count.

    With ω > 0 the state also has the day of the last race, in days since 1970-01-01 UTC, or 0 before the
    first.
    """

    key: ClassVar[str] = "thurstone-hurdle"
    kernel = staticmethod(update)
    kernel_settings = HurdleParameters

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
    yearly_drift: Number = parameter(
        0.0,
        help="ω: standard deviation that a year without a race adds; above 0, the last race's day is kept",
        minimum=0.0,
        search=(0.0, 2.0),
    )

    @property
    def columns(self) -> tuple[str, ...]:
        return ("rating", "races", "day") if self._keeps_days else ("rating", "races")

    def initial(self) -> FloatArray:
        return start_state(self, *(0.0 for _ in self.columns))

    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Return the variance of each player's skill, ignoring absence: shape [..., n]."""
        races = states[..., 1]
        newcomer, lasting, settling = (
            broadcast_to(value, races) for value in (self.newcomer_spread, self.lasting_spread, self.settling)
        )
        return lasting**2 + (newcomer**2 - lasting**2) / (1.0 + races / settling)

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        newcomer = self.initial()[..., np.newaxis, :]
        races = states[..., 1] if most_races is None else np.minimum(states[..., 1], most_races)
        carried = [shrink_toward(newcomer[..., 0], states[..., 0], factor), races]
        if self._keeps_days:
            carried.append(states[..., 2] if states.shape[-1] > 2 else np.zeros_like(races))
        return np.stack(carried, -1)

    @cached_property
    def _keeps_days(self) -> bool:
        return bool(np.any(np.asarray(self.yearly_drift) > 0.0))
