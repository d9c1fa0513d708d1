"""Mean and variance of a truncated Gaussian: the functions V and W of TrueSkill.

Source: R. Herbrich, T. Minka, T. Graepel, "TrueSkill: A Bayesian Skill Rating System" (2006), section 3,
https://papers.nips.cc/paper/3079-trueskilltm-a-bayesian-skill-rating-system. With X ~ N(t, 1) and a margin
e ≥ 0, a *win* is the event X > e and a *draw* is the event |X| ≤ e. Given the event,

    E[X] = t + V(t, e)    Var[X] = 1 − W(t, e)    0 ≤ W ≤ 1

The published formulas divide two numbers that both underflow a few dozen standard deviations out. This module
uses Mills' ratio R(z) = Φ(−z)/φ(z), which does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, erfc, exp, expm1, hypot, pi, sqrt

ROOT_HALF = sqrt(0.5)
ROOT_HALF_PI = sqrt(pi / 2)
ROOT_TWO_OVER_PI = sqrt(2 / pi)
_TAIL = 35.0
"""Switch to asymptotic series here, before erfc underflows. W is accurate to 1e-9."""
POINT = 1e-6  # a draw with a smaller margin sets the difference to 0, since Var[X] < 1e-12


def win(t: float, margin: float) -> tuple[float, float]:
    """Return V and W of the event X > margin, for X ~ N(t, 1)."""
    x = t - margin
    if x > -_TAIL:
        v = ROOT_TWO_OVER_PI * exp(-0.5 * x * x) / erfc(-ROOT_HALF * x)
        return v, v * (v + x)
    # V + x has a separate series, since the sum would lose all digits and W could exceed 1.
    beyond = -1.0 / x
    square = beyond * beyond
    excess = beyond * (1.0 - square * (2.0 - square * (10.0 - square * 74.0)))
    v = excess - x
    return v, v * excess


def pair_moments(means: Sequence[float], scales: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the posterior means and variances of the standardized performances of two, worst first."""
    root = hypot(scales[0], scales[1])
    pull, shrink = win((means[1] - means[0]) / root, 0.0)
    a, b = scales[0] / root, scales[1] / root
    return [-a * pull, b * pull], [1.0 - a * a * shrink, 1.0 - b * b * shrink]


def draw(t: float, margin: float) -> tuple[float, float]:
    """Return V and W of the event |X| ≤ margin, for X ~ N(t, 1)."""
    if margin < POINT:
        return -t, 1.0
    distance = abs(t)
    near, far = margin - distance, margin + distance
    if near > _TAIL:
        return 0.0, 0.0
    # φ(far) / φ(near); the mass between them is φ(near)·(R(−near) − ratio·R(far)).
    ratio = exp(-2.0 * margin * distance)
    mass = mills(-near) - ratio * mills(far)
    v = expm1(-2.0 * margin * distance) / mass
    w = v * v + (near + far * ratio) / mass
    return copysign(v, -t), min(max(w, 0.0), 1.0)


def mills(z: float) -> float:
    """Return Mills' ratio Φ(−z)/φ(z), for z ≥ −35."""
    if z < _TAIL:
        return ROOT_HALF_PI * exp(0.5 * z * z) * erfc(ROOT_HALF * z)
    square = 1.0 / (z * z)
    return (1.0 - square * (1.0 - square * (3.0 - square * (15.0 - square * 105.0)))) / z
