"""Posterior moments of performances given the order of a race, by one-dimensional recursion.

Performances X_i = m_i + s_i Z_i are independent, with standard normal Z_i (L. L. Thurstone, "A law of
comparative judgment", https://doi.org/10.1037/h0070288). A race observes a partial order of them. With groups
numbered from the worst,

    below_g(x) = P(groups up to g are in order, and all are below x)
    above_g(x) = P(groups from g on are in order, and all are above x)

follow from below_(g-1) and above_(g+1) by one-dimensional integrals. The posterior density of a performance
in group g is proportional to its prior density times below_(g-1) times above_(g+1). The gradient of the
log-likelihood in m_i is the posterior mean of Z_i / s_i, so the likelihood need not be differentiated.

The functions are tabulated on a uniform grid, and rescaled at each step to prevent underflow. If a race is so
surprising that they only overlap in the far tails, their logarithms are tabulated instead, at a higher cost.
"""

from __future__ import annotations

import math
from functools import lru_cache, reduce

import numpy as np
import scipy

from racebot.races.outcome import IntArray
from racebot.ratings.model import FloatArray
from racebot.ratings.ranking import Groups

REACH = 8.0
"""Distance in standard deviations beyond which the density is negligible."""
HALF_LOG_TWO_PI = 0.9189385332046727


def gradient(means: FloatArray, groups: Groups) -> FloatArray:
    """Return the gradient of the order's log-likelihood in the means, for unit scales: shape [..., n].

    Args:
        means: means of the performances, shape [..., n].
        groups: the observed order, with at least two groups.
    """
    first, _ = _Recursion(means, groups, np.ones_like(means)).posterior(squares=False)
    return first


def gaussian_moments(means: FloatArray, groups: Groups, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the posterior means and variances of the Z_i; see `gradient`. Shapes are those of `means`."""
    logs = np.unique(groups.label).size == groups.label.size
    mean, square = _Recursion(means, groups, scales, logs=logs).posterior(squares=True)
    return mean, square - mean**2


class _Recursion:
    """The functions on the grid, with axes: groups or entrants (worst first), candidates, grid points.

    `level[g, 0]` is below_(g-1) and `level[-1-g, 1]` is above_(g+1), mirrored so that both rise from left to
    right. `rise` is their derivative. All are known up to a constant factor, and are logarithms if `logs` is
    set.
    """

    def __init__(self, means: FloatArray, groups: Groups, scales: FloatArray, *, logs: bool = False) -> None:
        self.shape = means.shape
        stages = groups.stages(worst_first=True)
        self.order = stages.order
        self.starts = np.unique(stages.start)
        self.groups = [slice(start, stages.stop[start]) for start in self.starts.tolist()]
        center, self.scale = self._sorted(means), self._sorted(scales)
        between = any(group.stop - group.start > 1 for group in self.groups[1:-1])
        low, self.step, points, self.logs = _grid(center, self.scale, stages.stop, between=between, logs=logs)
        x = low[:, np.newaxis] + self.step * np.arange(points)
        self.z = (x - center[..., np.newaxis]) / self.scale[..., np.newaxis]
        self.log_value = -0.5 * self.z * self.z - HALF_LOG_TWO_PI
        self.value = self.log_value if self.logs else np.exp(self.log_value)
        self.level = np.empty((len(self.groups), 2, *x.shape))
        self.rise = np.empty_like(self.level)
        self.kept: dict[tuple[int, int], FloatArray] = {}
        self.hazard: list[FloatArray | None] = [None, None]
        self._recur()

    def _sorted(self, values: FloatArray) -> FloatArray:
        """Sort values from shape [..., n] in listing order to shape [n, candidates], worst first."""
        return values.reshape(-1, self.shape[-1]).T[self.order]

    def _listed(self, values: FloatArray) -> FloatArray:
        listed = np.empty_like(values)
        listed[self.order] = values
        return listed.T.reshape(self.shape)

    def _recur(self) -> None:
        own = self.value[self.starts]
        both = np.stack([own, own[::-1, :, ::-1]], axis=1)
        self.level[0] = 0.0 if self.logs else 1.0
        for g in range(1, len(self.groups)):
            if self.logs:
                np.add(both[g - 1], self.level[g - 1], out=self.rise[g])
                self.level[g] = _log_integral(self.rise[g], self.step)
            else:
                np.multiply(both[g - 1], self.level[g - 1], out=self.rise[g])
                level = _integral(self.rise[g])
                np.divide(level, level[..., -1:], out=self.level[g])
            for side, group in enumerate((self.groups[g - 1], self.groups[-g])):
                if group.stop - group.start > 1:
                    if g == 1:
                        self._pass_end(group, side)
                    else:
                        self._pass_between(g, group, side)

    def _pass_end(self, group: slice, side: int) -> None:
        """Pass the worst group, all of which stay below, or the best, all of which stay above."""
        value, scale = _seen(self.value[group], side), self.scale[group][..., np.newaxis]
        if self.logs:
            z = _seen(self.z[group], side)
            cumulative = scipy.special.log_ndtr(-z if side else z)
            hazard = np.exp(value - cumulative)
            self.level[1, side] = cumulative.sum(0)
        else:
            cumulative = np.maximum(_integral(value) * (self.step / scale), NOTHING)
            hazard = value / cumulative
            self.level[1, side] = cumulative.prod(0)
        slope = (hazard / scale).sum(0)
        level, rise = self.level[1, side], self.rise[1, side]
        rise[:] = level + _log(slope) if self.logs else level * slope
        self.hazard[side] = hazard

    def _pass_between(self, g: int, group: slice, side: int) -> None:
        """Pass a middle group, all of which lie between the performances of the neighboring groups."""
        rise = self.rise[g - 1, side] if self.logs else _log(self.rise[g - 1, side])
        level = np.full_like(rise, -np.inf)
        for candidate in range(len(level)):
            between = self._between(group, candidate).sum(0)
            if side:
                between = between[::-1, ::-1].T
            sums = level[candidate]
            for a in range(len(sums) - 1):
                np.logaddexp(sums[a + 1 :], rise[candidate, a] + between[a, a + 1 :], out=sums[a + 1 :])
        level[:, 0] = 2 * level[:, 1] - level[:, 2]
        if not self.logs:
            level -= level[:, -1:]
        rise = level + _log(_slope(level, self.step))
        self.level[g, side], self.rise[g, side] = (
            (level, rise) if self.logs else (np.exp(level), np.exp(rise))
        )

    def _between(self, group: slice, candidate: int) -> FloatArray:
        """Return `_log_between` of a group, which is needed three times: from either side, and at the end."""
        key = group.start, candidate
        if key not in self.kept:
            if sum(values.nbytes for values in self.kept.values()) > MOST_KEPT:
                self.kept.clear()
            self.kept[key] = self._log_between(self.z[group, candidate])
        return self.kept[key]

    def _log_between(self, z: FloatArray) -> FloatArray:
        """Return log P(z_a < Z < z_b) for grid points a (rows) and b (columns): shape [m, points, points]."""
        below, above = scipy.special.log_ndtr(z), scipy.special.log_ndtr(-z)
        low, high = z[:, :, np.newaxis], z[:, np.newaxis, :]
        # Use the form of the difference with less cancellation.
        left = low + high < 0
        near = np.where(left, below[:, np.newaxis, :], above[:, :, np.newaxis])
        far = np.where(left, below[:, :, np.newaxis], above[:, np.newaxis, :])
        ordered = low < high
        # In place, since allocating these arrays would take most of the time.
        share = np.subtract(far, near, out=far)
        np.expm1(share, out=share, where=ordered)
        np.maximum(np.negative(share, out=share), NOTHING, out=share)
        np.log(share, out=share, where=ordered)
        between = np.add(near, share, out=near)
        between[~ordered] = -np.inf
        return between

    def _chances(self, *factors: FloatArray) -> FloatArray:
        """Normalise a product of functions to probabilities of the grid points."""
        product = reduce(np.add if self.logs else np.multiply, factors)
        if self.logs:
            product = np.exp(product - product.max(-1, keepdims=True))
        return product / product.sum(-1, keepdims=True)

    def posterior(self, *, squares: bool) -> tuple[FloatArray, FloatArray]:
        """Return the means of the Z_i and, if wanted, of their squares: shape [..., n] each."""
        first, second = np.empty(self.z.shape[:-1]), np.empty(self.z.shape[:-1])
        chances = self._chances(self.value[self.starts], self.level[:, 0], self.level[::-1, 1, :, ::-1])
        z = self.z[self.starts]
        first[self.starts] = (chances * z).sum(-1)
        if squares:
            second[self.starts] = (chances * z**2).sum(-1)
        for g, group in enumerate(self.groups):
            side = int(g > 0)
            if (hazard := self.hazard[side]) is not None and g in (0, len(self.groups) - 1):
                first[group], second[group] = self._end_moments(group, side, hazard)
            elif group.stop - group.start > 1:
                first[group], second[group] = self._between_moments(g, group)
        return self._listed(first), self._listed(second)

    def _end_moments(self, group: slice, side: int, hazard: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the moments of performances truncated on one side, by the next group."""
        chances = self._chances(self.level[1, side], self.rise[-1, 1 - side, :, ::-1])
        z = _seen(self.z[group], side)
        pull = (chances * hazard).sum(-1)
        second = 1 - (chances * (-z if side else z) * hazard).sum(-1)
        if side:
            return pull, second
        return -pull, second

    def _between_moments(self, g: int, group: slice) -> tuple[FloatArray, FloatArray]:
        """Return the moments of performances truncated on both sides."""
        first, second = np.empty((2, *self.z[group].shape[:-1]))
        low, high = self.rise[g, 0], self.rise[-1 - g, 1, :, ::-1]
        if not self.logs:
            low, high = _log(low), _log(high)
        for candidate in range(len(low)):
            z, log_value = self.z[group, candidate], self.log_value[group, candidate]
            between = self._between(group, candidate)
            joint = low[candidate][:, np.newaxis] + high[candidate] + between.sum(0)
            chances = np.exp(joint - joint.max())
            chances /= chances.sum()
            # Most chances are zero, as are their terms.
            possible = np.broadcast_to(chances > 0, between.shape)
            at_low, at_high = np.zeros((2, *between.shape))
            for edge, term in ((log_value[:, :, np.newaxis], at_low), (log_value[:, np.newaxis, :], at_high)):
                np.subtract(edge, between, out=term, where=possible)
                np.exp(term, out=term, where=possible)
                np.multiply(term, chances, out=term)
            first[:, candidate] = (at_low - at_high).sum((-2, -1))
            at_low *= z[:, :, np.newaxis]
            at_high *= z[:, np.newaxis, :]
            second[:, candidate] = 1 + (at_low - at_high).sum((-2, -1))
        return first, second


MOST_KEPT = 32 * 2**20
"""Bytes to keep before the tables of tied groups are computed again."""
NOTHING = 1e-300
"""Replaces zero before taking a logarithm or dividing."""


def _seen(values: FloatArray, side: int) -> FloatArray:
    """Return values on the grid from the worst group's side (0) or, mirrored, from the best group's (1)."""
    return values[..., ::-1] if side else values


def _log(values: FloatArray) -> FloatArray:
    return np.log(np.maximum(values, NOTHING))


def _grid(
    means: FloatArray, scales: FloatArray, stop: IntArray, *, between: bool, logs: bool
) -> tuple[FloatArray, float, int, bool]:
    """Return start, step and number of points of a grid, and whether it must hold logarithms.

    It is fine enough for moments accurate to about 1e-5. The posterior of a place among n narrows like √n.
    The functions are steeper with more entrants behind, and with larger upsets. If a group `between` the ends
    has several members, its double integral has a lower order of accuracy, and takes memory that grows with
    the square of the number of points.
    """
    n, smallest = len(means), float(scales.min())
    low = (means - REACH * scales).min(0)
    span = float(((means + REACH * scales).max(0) - low).max())
    best = np.full((n + 1, means.shape[1]), np.inf)
    np.minimum.accumulate(means[::-1], axis=0, out=best[-2::-1])
    upset = float(np.maximum(means - best[stop], 0.0).sum(0).max()) / smallest
    slope = 0.4 * n + upset / 2
    coarse = min(0.2, 0.6 / math.sqrt(n)) * smallest / (2 if between else 1)
    step = min(coarse, 1.2 * smallest / slope)
    if not logs and slope < 30 and span < 512 * step:
        return low, step, 16 * math.ceil((span / step + 1) / 16), False
    step = max(coarse / 2, span / (768 if between else 2048))
    return low, step, math.ceil(span / step) + 1, True


def _integral(values: FloatArray) -> FloatArray:
    """Return the running integral along the last axis, in units of the step."""
    flat = values.reshape(-1, values.shape[-1])
    return (flat @ _integration(values.shape[-1])).reshape(values.shape)


@lru_cache(maxsize=64)
def _integration(points: int) -> FloatArray:
    """Return the matrix of the running integral on a uniform grid, for multiplication from the right.

    This is the trapezoid rule with the central difference corrections that `order_quadrature` cites. They
    reach only four points to either side, so that the tails keep their relative accuracy.
    """
    matrix = np.triu(np.ones((points, points))) - np.eye(points) / 2
    difference = np.array([1.0])
    for coefficient in (-1 / 12, 11 / 720, -191 / 60480, 2497 / 3628800):
        central = coefficient * np.convolve(difference, [0.5, 0.0, -0.5])
        reach = central.size // 2
        for offset, value in zip(range(-reach, reach + 1), central, strict=True):
            matrix += value * np.eye(points, k=offset)
        difference = np.convolve(difference, [1.0, -2.0, 1.0])
    matrix.flags.writeable = False
    return matrix


def _log_integral(log_values: FloatArray, step: float) -> FloatArray:
    """Return the logarithm of the running integral along the last axis, given the logarithms of values.

    Between grid points the logarithm is interpolated linearly, which steep tails need, plus a curvature
    correction.
    """
    rise = np.diff(log_values)
    bend = np.diff(rise, prepend=rise[..., :1], append=rise[..., -1:])
    curvature = (bend[..., 1:] + bend[..., :-1]) / 2
    size = np.maximum(np.abs(rise), 1e-3)
    cell = np.maximum(log_values[..., 1:], log_values[..., :-1]) + np.log(-np.expm1(-size) / size)
    # The mean of 1/4 - s² for s in (-1/2, 1/2), weighted by e^(rise·s); 1/6 if the rise is 0.
    hollow = np.where(size < 0.05, 1 / 6, 1 / (np.tanh(size / 2) * size) - 2 / size**2)
    integral = np.empty_like(log_values)
    integral[..., 0] = log_values[..., 0] - np.log(np.maximum(rise[..., 0], 0.1))
    integral[..., 1:] = cell - curvature / 2 * hollow
    return np.logaddexp.accumulate(integral, axis=-1) + np.log(step)


def _slope(values: FloatArray, step: float) -> FloatArray:
    """Return the fourth-order finite-difference derivative along the last axis."""
    slope: FloatArray = np.gradient(values, step, axis=-1)
    slope[..., 2:-2] += (slope[..., 2:-2] - (values[..., 4:] - values[..., :-4]) / (4 * step)) / 3
    return slope
