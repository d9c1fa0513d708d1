"""The Plackett-Luce model, with exponential performances.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.2.2, 4 and 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.

A race is a sequence of eliminations. Each entrant has an exponential clock with rate λ = e^(-r), and the
entrant whose clock rings first is placed last. In the reversed orientation, λ = e^r and the first clock to
ring wins. At each elimination the eliminated entrant loses rating, and the remaining entrants gain it in
proportion to their rates, so a stage is fully described by the losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from racebot.ratings.kernel import Columns, KernelModel, KernelRace
from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.single import SingleParameterModel, above_floor, inherited, learning_rate_at
from racebot.ratings.parameters import parameter, stack_parameters

PRECISION = 1e-11  # relative error tolerance of the integrals over time


class PlackettLuceParameters(NamedTuple):
    """The parameters of `update`: `independent` and `backwards` are 0 or 1."""

    dummy: float
    floor: float
    independent: float
    backwards: float
    bends: Sequence[float]


def update(before: Columns, race: KernelRace, settings: PlackettLuceParameters, steps: list[Columns]) -> bool:
    """Rate one race; see `racebot.ratings.kernel` for the arguments."""
    size = len(before[0])
    ratings = [before[0][i] for i in range(size)]
    groups = [race.group[i] for i in range(size)]
    order = [i for i in range(size) if race.unfinished[i]]
    if not math.isnan(settings.dummy):
        order.append(size)
        ratings.append(settings.dummy)
        groups.append(race.last_group)
    for i in race.worst_first:
        order.append(i)  # noqa: PERF402 - Numba cannot extend a list by an array
    if settings.backwards > 0.0:
        order = order[::-1]
    moves = order_gradient(ratings, groups, order, settings.independent > 0.0, settings.backwards > 0.0)
    for i in range(size):
        rating = ratings[i]
        moved = rating + learning_rate_at(rating, settings.bends) * moves[i]
        steps[0][0][i] = above_floor(moved, rating, settings.floor)
    return True


def order_gradient(
    ratings: list[float], groups: Sequence[int], order: Sequence[int], independent: bool, backwards: bool
) -> list[float]:
    """Return the gradient of the log-likelihood of an order.

    `order` holds the entrants to compare in the order of their elimination: worst first, or best first if
    `backwards`. Members of a group are neighbors.
    """
    sign = 1.0 if backwards else -1.0
    count = len(order)
    moves = [0.0 for _ in ratings]
    # Only differences matter. Subtracting the best rating prevents overflow.
    best = max(ratings)
    rates = [math.exp(sign * (ratings[i] - best)) for i in order]
    masses = [0.0 for _ in range(count + 1)]
    for k in range(count - 1, -1, -1):
        masses[k] = masses[k + 1] + rates[k]
    shares = 0.0
    start = 0
    while start < count:
        stop = start + 1
        while stop < count and groups[order[stop]] == groups[order[start]]:
            stop += 1
        mass = masses[stop]
        if stop == count:
            losses = [0.0 for _ in range(start, stop)]
        elif independent or stop - start == 1:
            losses = [mass / (rates[k] + mass) for k in range(start, stop)]
        else:
            losses = unobserved_losses(rates[start:stop], mass)
        lost = 0.0
        for k in range(start, stop):
            lost += losses[k - start]
            moves[order[k]] = sign * (losses[k - start] - rates[k] * shares)
        if stop < count:
            shares += lost / mass
        start = stop
    return moves


def unobserved_losses(rates: list[float], mass: float) -> list[float]:
    """Return the loss of each member of a group that is eliminated before the rest, in an unknown order.

    All members' clocks ring before the first of the rest's, whose rates sum to `mass` > 0. A loss, between 0
    and 1, is ∂ log P / ∂ log λ of the probability P of that event.
    """
    if len(rates) == 2:
        # P = λμ (2M + λ + μ) / ((M + λ + μ)(M + λ)(M + μ)), differentiated without cancellation.
        a, b = rates[0], rates[1]
        both, twice = mass / (mass + a + b), 2.0 * mass + a + b
        return [mass / (mass + a) - a / twice * both, mass / (mass + b) - b / twice * both]
    # Over the time t of the first clock among the rest, with M the sum of their rates,
    # P = ∫ M e^(-tM) ∏ (1 - e^(-tλ)) dt. A loss is the mean of y / (e^y - 1) with y = tλ.
    # The trapezoid rule on a grid in log t converges geometrically; the hardest integrand is t^m e^(-t).
    m = len(rates)
    low, high = math.log(PRECISION) - 2.0, math.log(m + 30.0 + 9.0 * math.sqrt(m))
    step = 0.8 / math.sqrt(m + 3.0)
    x = low + step * np.arange(math.ceil((high - low) / step))
    t = np.exp(x)
    log_weight = x - t
    share = np.empty((m, len(x)))
    for k in range(m):
        # λ/M underflows for an entrant far stronger than the rest, who still loses the whole stage.
        y = np.maximum(rates[k] / mass * t, 1e-300)
        rung = -np.expm1(-y)
        log_weight = log_weight + np.log(rung)
        share[k] = y * (1.0 - rung) / rung
    weight = np.exp(log_weight - log_weight.max())
    total = weight.sum()
    return [float((weight * share[k]).sum() / total) for k in range(m)]


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(KernelModel, SingleParameterModel):
    """Follow the gradient of the Plackett-Luce log-likelihood.

    The default numbers are the published ones (section 5.2). The published figures are those of
    `unfinished=independent`, and section 4 describes `exact`. `unfinished` selects how to treat a group of
    several entrants (DNFs, finishers with equal times, or entrants who share the last place with the dummy):
    `exact` marginalises over the unobserved order within the group, and `independent` treats each member as
    if it had met the rest of the race alone.
    """

    key: ClassVar[str] = "plackett-luce"
    kernel = staticmethod(update)
    kernel_settings = PlackettLuceParameters

    initial_rating: Number = inherited("initial_rating", 0.25)
    dummy: Number | None = inherited("dummy", 1.35)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.6, 0.13, 0.09))
    floor: Number | None = inherited("floor", 0.0)
    unfinished: str = parameter(
        "exact",
        help="how players who share a place, such as those who did not finish, are compared",
        choices=("exact", "independent"),
    )
    orientation: str = parameter(
        "standard",
        help="whether players are eliminated one by one (standard) or finish one by one (reversed)",
        choices=("standard", "reversed"),
    )

    @cached_property
    def settings(self) -> FloatArray:
        words = self.unfinished == "independent", self.orientation == "reversed"
        return stack_parameters((*self.dummy_and_floor, *map(float, words), *self.bends))
