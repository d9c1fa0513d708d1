"""TrueSkill for races of players or teams.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006),
https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. A player's skill is N(μ, σ²), a
performance is skill plus N(0, β²), and a team's performance is the sum of its members'. The outcome compares
performances, and expectation propagation turns the comparisons into posterior skills. Section numbers below
refer to this paper.

The parameter `unfinished` selects how to compare a group whose order was not observed:

`censored`, the default, compares every member of a group with every member of the next group, and never
compares members of the same group. Together these comparisons state exactly the observed partial order.

`tie` lists all entrants, best group first and as listed within a group, and compares neighbors; members of
the same group draw. The `trueskill` package and racetime.gg do this. Unfinished players then pull each other
together, and their results depend on the listing order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from racebot.errors import ModelError
from racebot.races.outcome import IntArray
from racebot.ratings.kernel import Columns, KernelModel, KernelRace
from racebot.ratings.model import (
    FloatArray,
    Number,
    PredictsPerformance,
    shrink_toward,
    shrink_variance,
    to_points,
)
from racebot.ratings.numerics.expectation_propagation import Evidence, along_chain, jointly, through_layers
from racebot.ratings.parameters import broadcast_to, parameter, stack_parameters, start_state

_SITE_ROUNDS = 10  # most rounds for `tie`, which like the `trueskill` package then stops, converged or not
_ROUNDS = 200
_TOLERANCE = 1e-10
"""In standard deviations. Small enough that a candidate's result does not depend on the others."""


class TrueSkillParameters(NamedTuple):
    """The parameters of `update`: β², τ², the draw margin of a single player, and 1 for the mode `tie`.

    The margin grows with the square root of the number of players compared (section 4.1).
    """

    noise: float
    drift: float
    margin: float
    tie: float


def update(before: Columns, race: KernelRace, settings: TrueSkillParameters, steps: list[Columns]) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments."""
    mu, sigma, after = before[0], before[1], steps[0]
    number, sizes, groups = units(race)
    skill, means, variances = [0.0 for _ in number], [0.0 for _ in sizes], [0.0 for _ in sizes]
    for i in range(len(number)):
        skill[i] = sigma[i] * sigma[i] + settings.drift
        means[number[i]] += mu[i]
        variances[number[i]] += skill[i]
    for k in range(len(sizes)):
        variances[k] += sizes[k] * settings.noise
    precision, pull = evidence(means, variances, sizes, groups, settings.margin, settings.tie > 0.0)
    for i in range(len(number)):
        k = number[i]
        gain = skill[i] * (1.0 / (1.0 + precision[k] * variances[k]))
        after[0][i] = mu[i] + gain * pull[k]
        after[1][i] = math.sqrt(skill[i] * (1.0 - gain * precision[k]))
    return math.isfinite(sum(precision))


def units(race: KernelRace) -> tuple[list[int], list[int], list[int]]:
    """Return each entrant's unit, and each unit's size and group, with the units best first."""
    order = np.argsort(np.asarray(race.group), kind="mergesort")  # which is stable, also if compiled
    rank = [0 for _ in order]
    for k in range(len(order)):
        rank[order[k]] = k
    return [rank[k] for k in race.unit], [race.sizes[k] for k in order], [race.group[k] for k in order]


def evidence(
    means: list[float], variances: list[float], sizes: list[int], groups: list[int], margin: float, tie: bool
) -> Evidence:
    """Compare units, best first, and return the evidence."""
    count = len(groups)
    starts = [k for k in range(count) if k == 0 or groups[k] != groups[k - 1]]
    if tie or len(starts) == count:
        margins = [math.sqrt(sizes[k] + sizes[k + 1]) * margin for k in range(count - 1)]
        drawn = [groups[k] == groups[k + 1] for k in range(count - 1)]
        return along_chain(means, variances, margins, drawn, _SITE_ROUNDS if tie else _ROUNDS, _TOLERANCE)
    starts.append(count)
    winners, losers, layers = [0 for _ in range(0)], [0 for _ in range(0)], [0]
    for layer in range(len(starts) - 2):
        for a in range(starts[layer], starts[layer + 1]):
            for b in range(starts[layer + 1], starts[layer + 2]):
                winners.append(a)
                losers.append(b)
        layers.append(len(winners))
    margins = [math.sqrt(sizes[winners[k]] + sizes[losers[k]]) * margin for k in range(len(winners))]
    if len(winners) > count - 1:
        return jointly(means, variances, winners, losers, margins, _ROUNDS, _TOLERANCE)
    return through_layers(means, variances, winners, losers, margins, layers, _ROUNDS, _TOLERANCE)


@dataclass(frozen=True, kw_only=True)
class TrueSkill(KernelModel, PredictsPerformance):
    """TrueSkill. Except for `unfinished`, the defaults are those of racetime.gg, which ranks by μ − 2σ.

    The source has the same priors, β and γ (here `tau`), ranks by μ − 3σ, and names no draw probability.
    On creation, a draw probability that is not below 1 is a `ModelError`.
    """

    key: ClassVar[str] = "trueskill"
    kernel = staticmethod(update)
    kernel_settings = TrueSkillParameters
    columns: ClassVar[tuple[str, ...]] = ("mu", "sigma")
    rates_teams: ClassVar[bool] = True

    mu: Number = parameter(25.0, help="mean skill of a player without a race")
    sigma: Number = parameter(
        25.0 / 3, help="uncertainty of a newcomer's skill", positive=True, search=(1.0, 12.0)
    )
    beta: Number = parameter(
        25.0 / 6, help="how much a performance varies around the skill", positive=True, search=(0.5, 8.0)
    )
    tau: Number = parameter(
        25.0 / 300, help="uncertainty that is added before each race", minimum=0.0, search=(0.0, 0.6)
    )
    draw_probability: Number = parameter(
        0.1, help="how often two equal players draw; below 1", minimum=0.0, search=(0.0, 0.3)
    )
    unfinished: str = parameter(
        "censored",
        help="whether players of one group are not compared (censored) or drew (tie, as on racetime.gg)",
        choices=("censored", "tie"),
    )
    conservative: Number = parameter(
        2.0, help="k of the rating μ − k·σ; 0 ranks by μ alone", minimum=0.0, search=(0.0, 4.0)
    )
    points_scale: Number = parameter(100.0, help="points per unit of rating", positive=True)
    points_floor: Number | None = parameter(0.0, help="fewest points; none leaves it out", optional=True)

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.draw_probability) >= 1.0):
            raise ModelError(f"{self.key}: draw_probability={self.draw_probability!r} is not below 1")

    def initial(self) -> FloatArray:
        return start_state(self, self.mu, self.sigma)

    @cached_property
    def settings(self) -> FloatArray:
        margin = scipy.special.ndtri((np.asarray(self.draw_probability) + 1.0) / 2.0) * self.beta
        return stack_parameters(
            (np.square(self.beta), np.square(self.tau), margin, float(self.unfinished == "tie"))
        )

    def rating(self, states: FloatArray) -> FloatArray:
        mu, sigma = states[..., 0], states[..., 1]
        return mu - broadcast_to(self.conservative, mu) * sigma

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        points = broadcast_to(self.points_scale, rating) * rating
        if self.points_floor is not None:
            points = np.maximum(points, broadcast_to(self.points_floor, rating))
        return to_points(points)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """See `RatingModel`. This is equation (1) with the uncertainty of both skills, ignoring draws."""
        gap = a[..., 0] - b[..., 0]
        variance = 2.0 * broadcast_to(self.beta, gap) ** 2 + a[..., 1] ** 2 + b[..., 1] ** 2
        return scipy.special.ndtr(gap / np.sqrt(variance))

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        variance = broadcast_to(self.beta, states[..., 0]) ** 2 + states[..., 1] ** 2
        return states[..., 0], np.sqrt(variance)

    def team_performance(self, states: FloatArray, members: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `PredictsPerformance`; here a team's performance is the sum of its members'."""
        mean, spread = self.performance(states)
        return mean @ members, np.sqrt(spread**2 @ members)

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        newcomer = self.initial()[..., np.newaxis, :]
        mean = shrink_toward(newcomer[..., 0], states[..., 0], factor)
        variance = shrink_variance(newcomer[..., 1] ** 2, states[..., 1] ** 2, factor)
        return np.stack([mean, np.sqrt(variance)], -1)

    def match_quality(self, states: FloatArray, team: IntArray | None = None) -> FloatArray:
        """Return the match quality in [0, 1]: the probability of a draw, relative to its maximum: [...].

        For two players this is equation (7). For more it is the probability density that all performances are
        equal, relative to that of players with equal and certain skill. With d_i the variance of unit i's
        performance, c_i the part of it that is not uncertainty, and m the mean weighted by 1/d_i, it is

            √(∏ c_i/d_i · Σ 1/c_i / Σ 1/d_i) · exp(−½ Σ (m_i − m)²/d_i)

        Args:
            states: shape [..., n, 2].
            team: shape [n], team number of each player; by default each player is a team of one.
        """
        number = np.arange(states.shape[-2]) if team is None else np.unique(team, return_inverse=True)[1]
        membership = (number[:, np.newaxis] == np.arange(number.max() + 1)).astype(np.float64)
        mean = states[..., 0] @ membership
        certain = broadcast_to(self.beta, mean) ** 2 * membership.sum(axis=0)
        variance = certain + states[..., 1] ** 2 @ membership
        weight = 1.0 / variance
        center = np.sum(weight * mean, axis=-1, keepdims=True) / np.sum(weight, axis=-1, keepdims=True)
        logarithm = (
            np.sum(np.log(certain / variance), axis=-1)
            + np.log(np.sum(1.0 / certain, axis=-1) / np.sum(weight, axis=-1))
            - np.sum(weight * (mean - center) ** 2, axis=-1)
        )
        return np.exp(0.5 * logarithm)
