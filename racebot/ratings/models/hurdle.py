"""The two updates of a hurdle model: finished or not, then the order among finishers.

The probability of finishing is a probit function of skill. Places are compared among finishers only, so
players who did not finish are not ranked against anyone. Source for hurdle (two-part) models: J. G. Cragg,
"Some statistical models for limited dependent variables", Econometrica 39 (1971),
https://doi.org/10.2307/1909582.

The functions rate one race in plain floats and write their results into output lists. They only use features
that Numba can compile (see `racebot.ratings.fast`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from racebot.ratings.kernel import KernelRace
from racebot.ratings.numerics.order_statistics import posterior_moments
from racebot.ratings.numerics.truncated_normal import normal_cdf, win

LONGEST_ABSENCE = 365.0
"""Days of absence after which uncertainty stops growing."""


class Hurdle(NamedTuple):
    """A player of skill s finishes with probability (1 - q)·Φ((s - a)/b).

    Attributes:
        level: a, the skill at which half of the players finish, apart from lapses.
        noise: b², greater than zero.
        lapse: q, the probability of a DNF for reasons unrelated to skill; below 1.
    """

    level: float
    noise: float
    lapse: float


def after_hurdle(mean: float, variance: float, unfinished: bool, hurdle: Hurdle) -> tuple[float, float]:
    """Update a skill estimate N(mean, variance) after a finish or a DNF, by moment matching.

    The density is multiplied by Φ((s - a)/b) for a finisher, and by q + (1 - q)·Φ((a - s)/b) otherwise. With
    t = (m - a)/√(b² + v), and V and W of `truncated_normal`, a finisher's m rises by v/√(b² + v)·V(t) and v
    falls by v²/(b² + v)·W(t). A DNF is the mirror image, reduced by the posterior probability of a lapse.

    A finish never lowers the mean and a DNF never raises it. The variance stays above v·b²/(b² + v).
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
    race: KernelRace,
    new_means: list[float],
    new_variances: list[float],
) -> bool:
    """Update skill estimates by the order of the finishers' performances, s + N(0, 1) each.

    A skill moves by the share v/(v + 1) of its performance's update. The best finisher never falls, the worst
    never rises, no variance grows, and players who did not finish are unchanged.

    Args:
        means: means of n skills.
        variances: variances of n skills, greater than zero.
        race: the outcome.
        new_means: output, the updated means.
        new_variances: output, the updated variances.

    Returns:
        False if compiled code cannot integrate this order. Plain Python always returns True.
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
    """Return the days between two races, capped at `LONGEST_ABSENCE`, or 0 for a first race.

    Args:
        last: day of the last race, 0 for none.
        day: day of this race.
    """
    return min(max(day - last, 0.0), LONGEST_ABSENCE) if last > 0.0 else 0.0
