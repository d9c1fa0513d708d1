"""Hurdle models with Gaussian skills: their two updates, shared parameters, points and forecasts.

A race updates a skill twice: by whether the player finished, then by the order among finishers. The
probability of finishing is a probit function of skill. Places are compared among finishers only, so players
who did not finish are not ranked against anyone. Source for hurdle (two-part) models: J. G. Cragg, "Some
statistical models for limited dependent variables", Econometrica 39 (1971),
https://doi.org/10.2307/1909582. docs/model.md derives the models.

The update functions rate one race in plain floats and write their results into output lists. They only use
features that Numba can compile (see `racebot.ratings.fast`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from racebot.races.outcome import Outcome
from racebot.ratings.kernel import Columns, KernelModel, KernelRace, to_rows
from racebot.ratings.model import FloatArray, Number, PredictsFinish, PredictsPerformance, to_points
from racebot.ratings.numerics.order import posterior_moments
from racebot.ratings.numerics.truncated_normal import win
from racebot.ratings.parameters import Parameters, broadcast_to, parameter

LONGEST_ABSENCE = 365.0  # days of absence after which uncertainty stops growing
MOST_ODDS_DOUBT = 8.0
"""Upper bound on λ. Without it, a fit to a few dozen races diverges."""
_SCALE: Mapping[str, Any] = {"positive": True, "search": (0.3, 2.5)}
_DOUBT: Mapping[str, Any] = {"minimum": 0.0, "maximum": MOST_ODDS_DOUBT, "search": (0.0, MOST_ODDS_DOUBT)}
LOGISTIC_SCALE = 1.702
"""The logistic function of 1.702·z is within 0.0095 of Φ(z) (D. C. Haley, Stanford report 15, 1952)."""
Skills = tuple[list[float], list[float]]
"""Means and variances of the skills of entrants, or of units."""


class Hurdle(NamedTuple):
    """A player of skill s finishes with probability Φ((s - a)/b), where a is `level`, and b² > 0 `noise`."""

    level: float
    noise: float


def raised_to_forfeit(rating: float, forfeit: float, spare_finishers: float) -> float:
    """Raise the rating of a late finisher to the one after a forfeit, unless `spare_finishers` is 0.

    Players who did not finish are compared with nobody, so a place far behind could cost more than giving up.
    """
    return max(rating, forfeit) if spare_finishers > 0.0 else rating


def after_hurdle(mean: float, variance: float, unfinished: bool, hurdle: Hurdle) -> tuple[float, float]:
    """Update a skill estimate N(mean, variance) after a finish or a DNF, by moment matching.

    The density is multiplied by Φ((s - a)/b) for a finisher, and by Φ((a - s)/b) otherwise. With
    t = (m - a)/√(b² + v), and V and W of `truncated_normal`, a finisher's m rises by v/√(b² + v)·V(t) and v
    falls by v²/(b² + v)·W(t). A DNF is the mirror image.

    A finish never lowers the mean and a DNF never raises it. The variance stays above v·b²/(b² + v).
    """
    root = math.sqrt(hurdle.noise + variance)
    t = (hurdle.level - mean) / root if unfinished else (mean - hurdle.level) / root
    pull, shrink = win(t, 0.0)
    gain = variance / root
    moved = mean - gain * pull if unfinished else mean + gain * pull
    return moved, variance - gain * gain * shrink


def after_order(before: Columns, race: KernelRace, after: Columns) -> bool:
    """Update skill estimates of units by the order of their performances, s + N(0, 1/n) for n members.

    A skill moves by the share v/(v + 1/n) of its performance's update. Units that did not finish stay.

    Returns:
        False if the moments are not finite; then compiled code leaves the race to plain Python.
    """
    means, variances = before[0], before[1]
    after[0][:], after[1][:] = means, variances
    order = race.worst_first
    if len(order) == 0 or race.group[order[0]] == race.group[order[-1]]:
        return True
    scales = [math.sqrt(1.0 / race.sizes[i] + variances[i]) for i in order]
    places = [race.group[i] for i in order]
    first, second = posterior_moments([means[i] for i in order], scales, places)
    worst, best = places[0], places[-1]
    for k in range(len(order)):
        i, moment = order[k], first[k]
        gain = variances[i] / scales[k]
        # Clamp, so that quadrature error cannot break the sign guarantees.
        if places[k] == best:
            moment = max(moment, 0.0)
        elif places[k] == worst:
            moment = min(moment, 0.0)
        after[0][i] = means[i] + gain * moment
        after[1][i] = variances[i] - gain * gain * (1.0 - min(second[k], 1.0))
    return math.isfinite(sum(first) + sum(second))


def after_race(skills: Skills, race: KernelRace, hurdle: Hurdle, steps: list[Columns]) -> bool:
    """Update the entrants' skill estimates by both updates, those of a team by the mean of its members.

    Fill `steps` with means and variances: after the hurdle, after the order, and after a forfeit.
    """
    if len(race.sizes) == len(skills[0]):
        return after_race_of_units(skills, race, hurdle, steps)
    before = of_teams(skills[0], race, 1), of_teams(skills[1], race, 2)
    after = [[[0.0 for _ in race.sizes] for _ in range(2)] for _ in range(3)]
    sound = after_race_of_units(before, race, hurdle, after)
    for k in range(3):
        fill_members(skills, before, after[k], race, steps[k])
    return sound


def after_race_of_units(skills: Skills, race: KernelRace, hurdle: Hurdle, steps: list[Columns]) -> bool:
    """Do the same as `after_race`, with one skill for each unit."""
    finish, forfeit = steps[0], steps[2]
    for i in range(len(race.sizes)):
        mean, variance, out = skills[0][i], skills[1][i], race.unfinished[i]
        finish[0][i], finish[1][i] = forfeit[0][i], forfeit[1][i] = after_hurdle(mean, variance, out, hurdle)
        if not out:
            forfeit[0][i], forfeit[1][i] = after_hurdle(mean, variance, True, hurdle)
    return after_order(finish, race, steps[1])


def of_teams(values: list[float], race: KernelRace, power: int) -> list[float]:
    """Return the sum of the members' values of each unit of n, over n to a power: 1 for a mean."""
    totals = [0.0 for _ in race.sizes]
    for i in range(len(values)):
        totals[race.unit[i]] += values[i]
    return [totals[k] / race.sizes[k] ** power for k in range(len(totals))]


def fill_members(skills: Skills, before: Skills, after: Columns, race: KernelRace, filled: Columns) -> None:
    """Fill in the members' skills after a race, given their own before it, and the teams' before and after.

    A skill with variance v moves by cov/V = v/(n·V) times the change of the team's mean, whose variance is V,
    and its variance by the square of that times the change of V.
    """
    for i in range(len(skills[0])):
        k, mean, variance = race.unit[i], skills[0][i], skills[1][i]
        share = variance / (race.sizes[k] * before[1][k])
        filled[0][i] = of_member(mean, share, before[0][k], after[0][k])
        filled[1][i] = of_member(variance, share * share, before[1][k], after[1][k])


def of_member(value: float, share: float, before: float, after: float) -> float:
    """Move a value by a share of a change; to the last bit, if it is the value that changed."""
    return after if share == 1.0 and value == before else value + share * (after - before)


def days_away(last: float, day: float) -> float:
    """Return the days between two races, capped at `LONGEST_ABSENCE`, or 0 if the last day is 0, for none."""
    return min(max(day - last, 0.0), LONGEST_ABSENCE) if last > 0.0 else 0.0


class HurdleModel(KernelModel, PredictsFinish):
    """Base class of the hurdle models.

    The forecast of a finish has its own parameters: the hurdle says how informative one is, not how likely.
    """

    rates_teams: ClassVar[bool] = True
    step_names: ClassVar[tuple[str, ...]] = ("finish", "place", "limit")

    newcomer_points: Number
    points_scale: Number

    def steps(self, states: FloatArray, outcome: Outcome) -> tuple[tuple[str, FloatArray], ...]:
        """Return the states after the hurdle, after the order, and after floors and clamp, by name."""
        if not outcome.rateable:
            return tuple((name, states.copy()) for name in self.step_names)
        steps = self.race_steps(states, outcome, self.settings)
        return tuple((name, to_rows(columns)) for name, columns in zip(self.step_names, steps, strict=True))

    def after_forfeit(self, states: FloatArray, day: float = 0.0) -> FloatArray:
        """Return each entrant's state if they had given up, from the states before the race: shape [n, k]."""
        # All of them give up, and one more player finishes.
        outcome = Outcome.of([1], unfinished=len(states), day=day)
        return self.rate(np.vstack([self.initial(), states]), outcome)[1:]

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        above = rating - broadcast_to(self._newcomer_rating, rating)
        scaled = broadcast_to(self.points_scale, rating) * above
        return to_points(broadcast_to(self.newcomer_points, rating) + scaled)

    @cached_property
    def _newcomer_rating(self) -> FloatArray:
        return self.rating(self.initial()[..., np.newaxis, :])[..., 0]


@dataclass(frozen=True, kw_only=True)
class GaussianHurdleModel(HurdleModel, PredictsPerformance):
    """Base class of the hurdle models with Gaussian skills. Its defaults are those of `thurstone-hurdle`."""

    former: ClassVar[Parameters] = {"lapse": 0.0}

    level: Number = parameter(
        0.80, help="a of the hurdle: the skill at which half of the players finish", search=(-8.0, 6.0)
    )
    width: Number = parameter(
        1.93,
        help="b of the hurdle: the larger, the less a finish or a DNF counts",
        positive=True,
        search=(0.3, 8.0),
    )
    finish_level: Number = parameter(
        -1.34, help="rating at which a finish is forecast at 50 %", search=(-8.0, 6.0)
    )
    finish_width: Number = parameter(
        3.09,
        help="width of the finish forecast: the larger, the less the rating matters",
        positive=True,
        search=(0.3, 12.0),
    )
    odds_scale: Number = parameter(
        1.0, help="κ of the odds: the larger, the more certain they are; changes no rating", **_SCALE
    )
    odds_doubt: Number = parameter(
        1.0, help="λ of the odds: how much uncertainty evens them out; changes no rating", **_DOUBT
    )
    odds_by_finish: bool = parameter(
        False, help="whether the odds also use the finish forecast; changes no rating"
    )
    performance_scale: Number = parameter(
        1.0,
        help="κ among finishers: the larger, the more certain are win chances; changes no rating",
        **_SCALE,
    )
    performance_doubt: Number = parameter(
        1.0, help="λ among finishers: how much uncertainty evens out win chances; changes no rating", **_DOUBT
    )
    spare_finishers: bool = parameter(True, help="whether a finisher never loses more than for a forfeit")
    newcomer_points: Number = parameter(1000.0, help="points of a newcomer")
    points_scale: Number = parameter(250.0, help="points per unit of rating", positive=True)

    @abstractmethod
    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Return the variance of each player's skill estimate: shape [..., n]."""

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """See `RatingModel`. Logistic in z = κ·lead / √(2 + λ·(v₁ + v₂)), with variances of skills.

        It is close to Φ(z), but less certain of a large lead, as races are. Finish probabilities are left
        out, because the ratings already reflect them (see docs/model.md), unless `odds_by_finish` is set.
        Then it is for two finishers, who are placed before all others.
        """
        lead = self.rating(a) - self.rating(b)
        doubt = broadcast_to(self.odds_doubt, lead) * (self.skill_variance(a) + self.skill_variance(b))
        scaled = broadcast_to(self.odds_scale, lead) * lead
        ahead = scipy.special.expit(LOGISTIC_SCALE * scaled / np.sqrt(2.0 + doubt))
        if not self.odds_by_finish:
            return ahead
        first, second = self.finish_probability(a), self.finish_probability(b)
        both = first * second
        return (first - both * (1.0 - ahead)) / (first + second - both)

    def finish_probability(self, states: FloatArray) -> FloatArray:
        rating = self.rating(states)
        width = np.sqrt(broadcast_to(self.finish_width, rating) ** 2 + self.skill_variance(states))
        return scipy.special.ndtr((rating - broadcast_to(self.finish_level, rating)) / width)

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Scales of its own: those of the odds of a pair are flattened by players who do not finish.
        rating = self.rating(states)
        doubt = broadcast_to(self.performance_doubt, rating) * self.skill_variance(states)
        return rating, np.sqrt(1.0 + doubt) / broadcast_to(self.performance_scale, rating)
