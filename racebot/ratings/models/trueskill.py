"""TrueSkill for races of players or teams.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006),
https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. A player's skill is N(μ, σ²), a
performance is skill plus N(0, β²), and a team's performance is the sum of its members'. The outcome compares
performances, and expectation propagation turns the comparisons into posterior skills. Section numbers below
refer to this paper.

The parameter `unfinished` selects how to compare a group whose order was not observed:

`censored`, the default, compares every member of a group with every member of the next group, and never
compares members of the same group. An unfinished player, for example, loses to the worst finisher and to
nobody else. Together these comparisons state exactly the observed partial order. All members of a group are
treated alike, so the listing order does not matter, and equal skills get equal changes.

`tie` lists all entrants, best group first and as listed within a group, and compares neighbours; members of
the same group draw. The `trueskill` package and racetime.gg do this. Unfinished players then pull each other
together, and their results depend on the listing order.

A race in which all entrants tie is not rated, since it has no order to learn from. (The package lowers every
σ.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from racebot.errors import ModelError
from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.broadcast import start_state
from racebot.ratings.model import FloatArray, Number, to_points
from racebot.ratings.numerics.arithmetic import ARRAYS, FLOATS, Arithmetic, Value
from racebot.ratings.numerics.expectation_propagation import (
    Evidence,
    PairComparison,
    along_chain,
    jointly,
    through_layers,
)
from racebot.ratings.parameters import parameter
from racebot.ratings.shrink import shrink_toward, shrink_variance

_SITE_ROUNDS = 10
"""Most rounds for `tie`, which like the `trueskill` package then stops, converged or not."""
_ROUNDS = 200
_TOLERANCE = 1e-10
"""In standard deviations. Small enough that a candidate's result does not depend on the others."""


class _Settings(NamedTuple):
    """The parameters of the update, each a float or an array of shape [candidates].

    Attributes:
        noise: β².
        drift: τ².
        margin: draw margin of a single player. It grows with the square root of the number of players
            compared (section 4.1).
    """

    noise: Value
    drift: Value
    margin: Value


class _Units(NamedTuple):
    """The players or teams to compare, best first.

    Attributes:
        members: entrants in each unit.
        group: group of each unit.
    """

    members: list[list[int]]
    group: list[int]

    @classmethod
    def of(cls, outcome: Outcome) -> _Units:
        group = outcome.group.tolist()
        if outcome.team is None:
            order = sorted(range(len(group)), key=group.__getitem__)
            return cls([[i] for i in order], [group[i] for i in order])
        teams = defaultdict(list)
        for entrant, team in enumerate(outcome.team.tolist()):
            teams[team].append(entrant)
        members = sorted(teams.values(), key=lambda team: group[team[0]])
        return cls(members, [group[team[0]] for team in members])

    def layers(self) -> list[list[int]]:
        """Return the indices of the units in each group, best first."""
        layers = defaultdict(list)
        for unit, group in enumerate(self.group):
            layers[group].append(unit)
        return list(layers.values())


@dataclass(frozen=True, kw_only=True)
class TrueSkill:
    """TrueSkill. Except for `unfinished`, the defaults are those of the source and of racetime.gg.

    In a sweep each numeric parameter is a number or an array of shape [candidates].

    Raises:
        ModelError: on creation, if the draw probability is not below 1.
    """

    key: ClassVar[str] = "trueskill"
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

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        if not outcome.rateable:
            return states.copy()
        settings = self._settings
        if states.ndim == 2 and all(isinstance(setting, float) for setting in settings):
            # For one race and one parameter set, plain floats are faster than arrays.
            mu, sigma = states.T.tolist()
            return np.array(self._updated(mu, sigma, outcome, settings, FLOATS)).T
        leading = states.shape[:-2]
        shape = np.broadcast_shapes(leading, *(_aligned(setting, len(leading)).shape for setting in settings))
        flat = _Settings(*(np.broadcast_to(_aligned(s, len(shape)), shape).ravel() for s in settings))
        by_column = np.broadcast_to(states, (*shape, outcome.size, 2)).reshape(-1, outcome.size, 2).T
        mu, sigma = (list(np.ascontiguousarray(column)) for column in by_column)
        updated = self._updated(mu, sigma, outcome, flat, ARRAYS)
        return np.array(updated).T.reshape(*shape, outcome.size, 2)

    def rating(self, states: FloatArray) -> FloatArray:
        mu, sigma = states[..., 0], states[..., 1]
        return mu - _aligned(self.conservative, mu.ndim) * sigma

    def points(self, states: FloatArray) -> NDArray[np.int64]:
        rating = self.rating(states)
        points = _aligned(self.points_scale, rating.ndim) * rating
        if self.points_floor is not None:
            points = np.maximum(points, _aligned(self.points_floor, rating.ndim))
        return to_points(points)

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the probability that a player in state `a` is placed before one in state `b`: [...].

        This is equation (1) with the uncertainty of both skills, ignoring draws.
        """
        gap = a[..., 0] - b[..., 0]
        variance = 2.0 * _aligned(self.beta, gap.ndim) ** 2 + a[..., 1] ** 2 + b[..., 1] ** 2
        probability: FloatArray = scipy.special.ndtr(gap / np.sqrt(variance))
        return probability

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each player's next performance: [..., n]."""
        variance = _aligned(self.beta, states.ndim - 1) ** 2 + states[..., 1] ** 2
        return states[..., 0], np.sqrt(variance)

    def carried(self, states: FloatArray, factor: float, most_races: float | None = None) -> FloatArray:
        """Return the states at the start of the next season. `most_races` has no effect."""
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
        certain = _aligned(self.beta, mean.ndim) ** 2 * membership.sum(axis=0)
        variance = certain + states[..., 1] ** 2 @ membership
        weight = 1.0 / variance
        centre = np.sum(weight * mean, axis=-1, keepdims=True) / np.sum(weight, axis=-1, keepdims=True)
        logarithm = (
            np.sum(np.log(certain / variance), axis=-1)
            + np.log(np.sum(1.0 / certain, axis=-1) / np.sum(weight, axis=-1))
            - np.sum(weight * (mean - centre) ** 2, axis=-1)
        )
        quality: FloatArray = np.exp(0.5 * logarithm)
        return quality

    @cached_property
    def _settings(self) -> _Settings:
        margin = scipy.special.ndtri((np.asarray(self.draw_probability) + 1.0) / 2.0) * self.beta
        values = (np.square(self.beta), np.square(self.tau), margin)
        return _Settings(*(float(value) if np.ndim(value) == 0 else value for value in values))

    def _updated(
        self,
        mu: Sequence[Value],
        sigma: Sequence[Value],
        outcome: Outcome,
        settings: _Settings,
        arithmetic: Arithmetic,
    ) -> tuple[list[Value], list[Value]]:
        """Return each entrant's mean and uncertainty after the race, as floats or arrays over candidates."""
        skill = [s * s + settings.drift for s in sigma]
        units = _Units.of(outcome)
        means = [sum([mu[i] for i in unit]) for unit in units.members]
        variances = [sum([skill[i] for i in unit]) + len(unit) * settings.noise for unit in units.members]
        new_mu, new_sigma = list(mu), list(sigma)
        evidence = self._evidence(units, means, variances, settings.margin, arithmetic)
        for unit, variance, (precision, pull) in zip(units.members, variances, evidence, strict=True):
            scale = 1.0 / (1.0 + precision * variance)
            for i in unit:
                gain = skill[i] * scale
                new_mu[i] = mu[i] + gain * pull
                new_sigma[i] = arithmetic.sqrt(skill[i] * (1.0 - gain * precision))
        return new_mu, new_sigma

    def _evidence(
        self,
        units: _Units,
        means: Sequence[Value],
        variances: Sequence[Value],
        margin: Value,
        arithmetic: Arithmetic,
    ) -> list[Evidence]:
        members, group = units

        def margin_between(a: int, b: int) -> Value:
            return math.sqrt(len(members[a]) + len(members[b])) * margin

        layers = units.layers()
        tie = self.unfinished == "tie"
        if tie or len(layers) == len(group):
            return along_chain(
                means,
                variances,
                [margin_between(i, i + 1) for i in range(len(group) - 1)],
                [a == b for a, b in pairwise(group)],
                arithmetic,
                rounds=_SITE_ROUNDS if tie else _ROUNDS,
                tolerance=_TOLERANCE,
            )
        comparisons = [
            [PairComparison(a, b, margin_between(a, b)) for a in better for b in worse]
            for better, worse in pairwise(layers)
        ]
        flat = [comparison for layer in comparisons for comparison in layer]
        if len(flat) == len(group) - 1:
            return through_layers(
                means, variances, comparisons, arithmetic, rounds=_ROUNDS, tolerance=_TOLERANCE
            )
        return jointly(means, variances, flat, rounds=_ROUNDS, tolerance=_TOLERANCE)


def _aligned(parameter: Number, axes: int) -> FloatArray:
    """Reshape a parameter so that candidates are the first of `axes` leading axes."""
    array = np.asarray(parameter, dtype=np.float64)
    return array.reshape(array.shape + (1,) * max(axes - array.ndim, 0)) if array.ndim else array
