"""The two updates of a hurdle model: finished or not, then the order among the finishers.

Whether a player finishes is a probit function of skill. Places are compared among finishers only, so a
player who did not finish is never compared with anybody. Hurdle (two-part) models: J. G. Cragg, "Some
statistical models for limited dependent variables", Econometrica 39 (1971), doi:10.2307/1909582.

The functions work on one race in plain floats and write their results into the lists they are given. They
use only what Numba can compile (`racebot.ratings.fast`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.ratings.broadcast import broadcast_to
from racebot.ratings.kernel import KernelModel, Race
from racebot.ratings.model import FloatArray, Number, to_points
from racebot.ratings.numerics.order_statistics import posterior_moments
from racebot.ratings.numerics.truncated_normal import normal_cdf, win
from racebot.ratings.parameters import parameter

MOST_ODDS_DOUBT = 8.0
"""Largest λ: without a bound, a fit to a few dozen races runs away."""
LONGEST_ABSENCE = 365.0
"""Days away beyond which doubt grows no more."""


class Hurdle(NamedTuple):
    """A player of skill s finishes with probability (1 - q)·Φ((s - a)/b).

    Attributes:
        level: a, the skill at which half of the players finish, lapses aside.
        noise: b², greater than zero.
        lapse: q, the chance not to finish for reasons unrelated to skill; below 1.
    """

    level: float
    noise: float
    lapse: float


def after_hurdle(mean: float, variance: float, unfinished: bool, hurdle: Hurdle) -> tuple[float, float]:
    """Update the belief N(mean, variance) about a skill by a finish, or by a DNF, matching moments.

    The belief is multiplied by Φ((s - a)/b) for a finisher, and by q + (1 - q)·Φ((a - s)/b) otherwise. With
    t = (m - a)/√(b² + v), and V and W of `truncated_normal`, a finisher's m rises by v/√(b² + v)·V(t) and v
    falls by v²/(b² + v)·W(t). A DNF is the mirror image, reduced by the posterior chance of a lapse.

    No finisher falls and no unfinished player rises; the variance stays above v·b²/(b² + v).
    """
    root = math.sqrt(hurdle.noise + variance)
    t = (hurdle.level - mean) / root if unfinished else (mean - hurdle.level) / root
    pull, shrink = win(t, 0.0)
    if unfinished and hurdle.lapse > 0.0:
        skill = (1.0 - hurdle.lapse) * normal_cdf(t)
        pull = pull * (skill / (hurdle.lapse + skill))
        shrink = pull * (pull + t)
    gain = variance / root
    moved = mean - gain * pull if unfinished else mean + gain * pull
    return moved, variance - gain * gain * shrink


def after_order(
    means: list[float],
    variances: list[float],
    race: Race,
    new_means: list[float],
    new_variances: list[float],
) -> bool:
    """Update beliefs about skills by the order of the finishers' performances, s + N(0, 1) each.

    A skill follows its performance by the share v/(v + 1). The best finisher never falls, the worst never
    rises, no variance grows, and players who did not finish stay the same.

    Args:
        means: of the beliefs about n players.
        variances: likewise, greater than zero.
        race: the order.
        new_means: filled with the means afterwards.
        new_variances: filled with the variances afterwards.

    Returns:
        False if compiled code cannot integrate this order; plain Python always can.
    """
    for i in range(len(means)):
        new_means[i] = means[i]
        new_variances[i] = variances[i]
    order = race.worst_first
    if len(order) == 0 or race.group[order[0]] == race.group[order[-1]]:
        return True
    scales = [math.sqrt(1.0 + variances[i]) for i in order]
    places = [race.group[i] for i in order]
    first, second, sound = posterior_moments([means[i] for i in order], scales, places)
    worst, best = places[0], places[-1]
    for k in range(len(order)):
        i, moment = order[k], first[k]
        gain = variances[i] / scales[k]
        # Clamp, so that quadrature error cannot break the sign guarantees.
        if places[k] == best:
            moment = max(moment, 0.0)
        elif places[k] == worst:
            moment = min(moment, 0.0)
        new_means[i] = means[i] + gain * moment
        new_variances[i] = variances[i] - gain * gain * (1.0 - second[k])
    return sound


def days_away(last: float, day: float) -> float:
    """Return the days between two races: 0 to `LONGEST_ABSENCE`, and 0 if there was none before.

    Args:
        last: the day of the last race, 0 for none.
        day: that of this race.
    """
    return min(max(day - last, 0.0), LONGEST_ABSENCE) if last > 0.0 else 0.0


@dataclass(frozen=True, kw_only=True)
class GaussianHurdleModel(KernelModel, ABC):
    """Base of the hurdle models with Gaussian skills: their points and their forecasts.

    In a sweep each numeric parameter is a number or an array of shape [candidates].

    Raises:
        ModelError: when made with a lapse of 1 or more.
    """

    rates_teams: ClassVar[bool] = False

    level: Number = parameter(
        0.0, help="a of the hurdle: the skill at which half of the players finish", search=(-8.0, 6.0)
    )
    width: Number = parameter(
        1.0,
        help="b of the hurdle: the larger, the less a finish or a DNF counts",
        positive=True,
        search=(0.3, 8.0),
    )
    lapse: Number = parameter(
        0.0,
        help="q of the hurdle: chance not to finish whatever the skill; below 1",
        minimum=0.0,
        search=(0.0, 0.4),
    )
    finish_level: Number = parameter(
        0.0, help="rating at which the forecast of a finish is even", search=(-8.0, 6.0)
    )
    finish_width: Number = parameter(
        1.0,
        help="width of that forecast: the larger, the less the rating matters",
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
    newcomer_points: Number = parameter(1000.0, help="points of a newcomer")
    points_scale: Number = parameter(250.0, help="points per unit of rating", positive=True)

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.lapse) >= 1.0):
            raise ModelError(f"{self.key}: lapse={self.lapse!r} is not below 1")

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the k numbers of a player's state."""

    @abstractmethod
    def initial(self) -> FloatArray:
        """Return the state of a player without a race: shape [k], or [candidates, k] in a sweep."""

    @abstractmethod
    def rating(self, states: FloatArray) -> FloatArray:
        """Return the number that ranks players, higher is better: shape [..., n]."""

    @abstractmethod
    def skill_variance(self, states: FloatArray) -> FloatArray:
        """Return the variance of the belief about each skill: shape [..., n]."""

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        newcomer = self.rating(self.initial()[..., np.newaxis, :])[..., 0]
        above = rating - broadcast_to(newcomer, rating)
        scaled = broadcast_to(self.points_scale, rating) * above
        return to_points(broadcast_to(self.newcomer_points, rating) + scaled)

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

        Has its own parameters: the hurdle parameters control how informative a finish is, not how likely.
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
