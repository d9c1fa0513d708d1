"""What it tells about a player to have finished at all, and what the order among the finishers tells.

A hurdle model reads a race in these two parts, one after the other. Whether a player finishes is a probit
or a logistic function of skill; places are compared among the finishers only, so that someone who did not
finish is never compared with anybody. Skills are written as one `Value` per entrant (see `elementwise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.numerics.elementwise import FLOATS, Elementwise
from racebot.ratings.numerics.order_recursion import gaussian_moments
from racebot.ratings.numerics.order_statistics import moments_of_one
from racebot.ratings.numerics.truncated_normal import Value
from racebot.ratings.ranking import Groups


class Race(NamedTuple):
    """An outcome as lists; see `Outcome`.

    Attributes:
        group: of each entrant.
        unfinished: whether each did not finish.
        last: whether each finished in the last place of a race that everybody finished.
        day: when the race ended.
    """

    group: list[int]
    unfinished: list[bool]
    last: list[bool]
    day: float

    @property
    def observed(self) -> bool:
        """Whether the outcome tells anything: `Outcome.rateable`."""
        group = self.group
        return len(group) > 1 and not all(self.unfinished) and min(group) != max(group)

    @classmethod
    def of(cls, outcome: Outcome) -> Race:
        group = outcome.group.tolist()
        last = None if outcome.last_unfinished else outcome.last_group
        return cls(group, outcome.unfinished.tolist(), [place == last for place in group], outcome.day)


class Beliefs(NamedTuple):
    """What is believed about the skills of n players: Gaussians, as lists of values."""

    means: list[Value]
    variances: list[Value]


class Probit(NamedTuple):
    """A hurdle that someone of skill s clears with probability (1 - q)·Φ((s - a)/b).

    Attributes:
        level: a, the skill at which, apart from lapses, half of the players finish.
        noise: b², greater than zero.
        lapse: q, the chance not to finish for reasons that have nothing to do with skill; below 1.
    """

    level: Value
    noise: Value
    lapse: Value


def probit(beliefs: Beliefs, unfinished: Sequence[bool], hurdle: Probit, operations: Elementwise) -> Beliefs:
    """Skills given who finished, by matching moments.

    The belief N(m, v) is multiplied by Φ((s - a)/b) for a finisher, and by q + (1 - q)·Φ((a - s)/b) for an
    unfinished player. With t = (m - a)/√(b² + v), and V and W the functions of `truncated`, a finisher's m
    rises by v/√(b² + v)·V(t) and v falls by v²/(b² + v)·W(t). For an unfinished player it is the mirror
    image, lessened by the posterior probability that it was not a lapse.

    No finisher falls and no unfinished player rises; a variance stays above v·b²/(b² + v).
    """
    level, noise, lapse = hurdle
    lapses = operations is not FLOATS or lapse > 0.0
    means, variances = [], []
    for mean, variance, out in zip(*beliefs, unfinished, strict=True):
        root = operations.sqrt(noise + variance)
        t = (level - mean if out else mean - level) / root
        pull, shrink = operations.win(t, 0.0)
        if out and lapses:
            pull = pull * _not_a_lapse(lapse, operations.cumulative(t))
            shrink = pull * (pull + t)
        gain = variance / root
        means.append(mean - gain * pull if out else mean + gain * pull)
        variances.append(variance - gain * gain * shrink)
    return Beliefs(means, variances)


def _not_a_lapse(lapse: Value, below: Value) -> Value:
    """Probability that it was skill, given that the player did not finish; 1 without lapses."""
    skill = (1.0 - lapse) * below
    if isinstance(skill, float):
        return skill / (lapse + skill)
    certain = lapse == 0
    return np.where(certain, 1.0, skill / (lapse + skill + certain))


def logistic(rating: Value, unfinished: bool, level: Value, width: Value, operations: Elementwise) -> Value:
    """Gradient in the rating of the log-probability of having finished, or not, p = logistic((r - a)/b).

    Args:
        rating: r.
        unfinished: what happened.
        level: a, the rating at which half of the players finish.
        width: b, greater than zero.
        operations: for the kind of value.
    """
    chance = operations.logistic((rating - level) / width)
    return -chance / width if unfinished else (1.0 - chance) / width


def order(
    beliefs: Beliefs, group: Sequence[int], unfinished: Sequence[bool], operations: Elementwise
) -> Beliefs:
    """Skills given the order in which the finishers' performances came out, s + N(0, 1) each.

    The posterior of the performances is exact, also where some share a group and their order is
    unobserved. A skill follows its performance by the share v/(v + 1). The best finisher never falls, the
    worst never rises, no variance grows, and who did not finish stays the same.

    Args:
        beliefs: about n players; variances are greater than zero.
        group: of each; a better group has a lower number.
        unfinished: whether each did not finish.
        operations: for the kind of value.
    """
    means, variances = list(beliefs.means), list(beliefs.variances)
    worst_first = [i for i, out in enumerate(unfinished) if not out]
    worst_first.sort(key=group.__getitem__, reverse=True)
    places = [group[i] for i in worst_first]
    if not places or places[0] == places[-1]:
        return Beliefs(means, variances)
    centres = [means[i] for i in worst_first]
    scales = [operations.sqrt(1.0 + variances[i]) for i in worst_first]
    worst, best = places[0], places[-1]
    moments = _performances(centres, scales, places, operations)
    for i, scale, place, first, second in zip(worst_first, scales, places, *moments, strict=True):
        gain = variances[i] / scale
        # What is true of the exact moments shall not fail by an error of the integrals.
        if place == best:
            means[i] = means[i] + gain * operations.greatest(first, 0.0)
        elif place == worst:
            means[i] = means[i] + gain * operations.least(first, 0.0)
        else:
            means[i] = means[i] + gain * first
        variances[i] = variances[i] - gain * gain * (1.0 - second)
    return Beliefs(means, variances)


def _performances(
    means: list[Value], scales: list[Value], places: list[int], operations: Elementwise
) -> tuple[list[Value], list[Value]]:
    """Posterior moments of standardised performances, the worst first."""
    if operations is FLOATS and len(set(places)) == len(places):
        moments = moments_of_one(means, scales)
        if moments is not None:
            return moments
    groups = Groups(np.array(places), np.zeros(len(places), dtype=np.bool_))
    found = gaussian_moments(np.stack(means, -1), groups, scales=np.stack(scales, -1))
    first, second = found.mean, found.variance.clip(0.0, 1.0)
    if operations is FLOATS:
        return first.tolist(), second.tolist()
    return list(first.T), list(second.T)
