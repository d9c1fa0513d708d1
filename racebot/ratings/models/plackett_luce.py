"""The Plackett-Luce model, with exponential performances.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", sections 3.2.2, 4 and 5,
https://github.com/blkerby/MultiEloRating. Section numbers below refer to it.

A race is a sequence of eliminations. Each entrant has an exponential clock with rate λ = e^(-r), and the
entrant whose clock rings first is placed last. In the reversed orientation, λ = e^r and the first clock to
ring wins. At each elimination the eliminated entrant loses rating, and the remaining entrants gain it in
proportion to their rates, so a stage is fully described by the losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy

from racebot.ratings.model import FloatArray, Number
from racebot.ratings.models.single import SingleParameterModel, inherited
from racebot.ratings.parameters import parameter
from racebot.ratings.ranking import Groups

PRECISION = 1e-11
"""Relative error tolerance of the integrals over time."""


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(SingleParameterModel):
    """Follow the gradient of the Plackett-Luce log-likelihood. Defaults are as published (section 5.2).

    `unfinished` selects how to treat a group of several entrants (DNFs, finishers with equal times, or
    entrants who share the last place with the dummy):

    - exact: marginalise over the unobserved order within the group.
    - independent: treat each member as if it had met the rest of the race alone.
    - tie: average over every order of the group, so that two tied entrants get half a win each.
    """

    key: ClassVar[str] = "plackett-luce"

    initial_rating: Number = inherited("initial_rating", 0.25)
    dummy: Number | None = inherited("dummy", 1.35)
    knots: tuple[Number, ...] = inherited("knots", (0.0, 1.0, 2.0))
    rates: tuple[Number, ...] = inherited("rates", (0.6, 0.13, 0.09))
    floor: Number | None = inherited("floor", 0.0)
    unfinished: str = parameter(
        "exact",
        help="how players who share a place, such as those who did not finish, are compared",
        choices=("exact", "independent", "tie"),
    )
    orientation: str = parameter(
        "standard",
        help="whether players are eliminated one by one (standard) or finish one by one (reversed)",
        choices=("standard", "reversed"),
    )

    def direction(self, ratings: FloatArray, groups: Groups) -> FloatArray:
        sign = -1.0 if self.orientation == "standard" else 1.0
        stages = groups.stages(worst_first=sign < 0)
        order, start, stop = stages.order, stages.start, stages.stop
        # Only differences matter. Subtracting the best rating prevents overflow.
        rates = np.exp(sign * (ratings - ratings.max(-1, keepdims=True))[..., order])
        masses = np.zeros((*rates.shape[:-1], order.size + 1))
        masses[..., :-1] = rates[..., ::-1].cumsum(-1)[..., ::-1]
        final = start[-1]
        mass = masses[..., stop[:final]]
        loss = np.zeros_like(rates)
        loss[..., :final] = mass / (rates[..., :final] + mass)
        if self.unfinished != "independent":
            for group in stages.tied():
                if group.start < final and self.unfinished == "exact":
                    loss[..., group] = unobserved_loss(rates[..., group], masses[..., group.stop])
                elif self.unfinished == "tie":
                    loss[..., group] = tied_loss(rates[..., group], masses[..., group.stop])
        shares = np.zeros((*rates.shape[:-1], final + 1))
        (loss[..., :final] / mass).cumsum(-1, out=shares[..., 1:])
        moves: FloatArray = np.empty_like(rates)
        moves[..., order] = sign * (loss - rates * shares[..., start])
        return moves

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        probability: FloatArray = scipy.special.expit(a[..., 0] - b[..., 0])
        return probability


def unobserved_loss(rates: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the loss of each member of a group that is eliminated before the rest, in an unknown order.

    All members' clocks ring before the first of the rest's. With M the sum of the rest's rates, the
    probability is P = ∫ M e^(-tM) ∏ (1 - e^(-tλ)) dt over t > 0. A loss is ∂ log P / ∂ log λ, the mean of y /
    (e^y - 1) with y = tλ under the normalised integrand.

    Args:
        rates: rates of the group's members, shape [..., m].
        mass: sum of the rest's rates, shape [...], greater than zero.

    Returns:
        Shape [..., m]; between 0 and 1.
    """
    x = _axis(rates.shape[-1])
    # λ/M underflows for an entrant far stronger than the rest, who still loses the whole stage.
    y = np.maximum((rates / mass[..., np.newaxis])[..., np.newaxis] * np.exp(x), 1e-300)
    rung = -np.expm1(-y)
    log_weight = x - np.exp(x) + np.log(rung).sum(-2)
    weight = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    loss: FloatArray = (weight[..., np.newaxis, :] * y * (1 - rung) / rung).sum(-1)
    return loss


def tied_loss(rates: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mean loss of each member over all orders of a group that is eliminated before the rest.

    Each set of s of the m members remains with probability 1 / C(m, s) = (m+1) ∫ p^s (1-p)^(m-s) dp over (0,
    1). The sum over all sets that contain member k becomes

        loss = 1 - (m+1) ∫∫ λ e^(-t(M+λ)) p ∏ (1 - p + p e^(-tλ')) dp dt,

    with the product over the other members. It is a polynomial in p, so Gauss-Legendre quadrature is exact.

    Args:
        rates: rates of the group's members, shape [..., m].
        mass: sum of the rest's rates, shape [...]; 0 for the last group.

    Returns:
        Shape [..., m]; negative for members who gain from the tie.
    """
    m = rates.shape[-1]
    total = rates + mass[..., np.newaxis]
    slowest = total.min(-1, keepdims=True)
    x = _axis(m, int(np.ceil(np.log((total.max(-1, keepdims=True) / slowest).max()))))
    t = np.exp(x)
    y = (rates / slowest)[..., np.newaxis] * t
    own = np.exp(-(total / slowest)[..., np.newaxis] * t) * y
    fallen = np.expm1(-y)
    nodes, weights = np.polynomial.legendre.leggauss(m // 2 + 1)
    kept = np.zeros_like(rates)
    for p, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        factors = np.log1p(p * fallen)
        others = np.exp(factors.sum(-2, keepdims=True) - factors)
        kept += weight * p * (own * others).sum(-1)
    loss: FloatArray = 1 - (m + 1) * (x[1] - x[0]) * kept
    return loss


@lru_cache(maxsize=256)
def _axis(m: int, spread: int = 0) -> FloatArray:
    """Return the nodes of the trapezoid rule in log t, with t in units of the slowest clock: shape [nodes].

    The integrands are entire in t and decay at both ends, so the rule converges geometrically. The hardest
    case for m members is the integrand of the Gamma function, t^m e^(-t).

    Args:
        m: size of the group.
        spread: logarithm of the ratio of the fastest clock to the slowest, rounded up.
    """
    step = 0.4
    while np.real(scipy.special.loggamma(m + 1 + 2j * np.pi / step) - scipy.special.loggamma(m + 1)) > np.log(
        PRECISION
    ):
        step *= 0.95
    low = np.log(PRECISION) - spread - 2
    high = np.log(scipy.special.gammainccinv(m + 1, PRECISION))
    x: FloatArray = np.arange(low, high + step, step)
    x.flags.writeable = False
    return x
