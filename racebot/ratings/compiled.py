"""Kernels compiled with Numba. Import this module only through `racebot.ratings.fast`.

`register_jitable` lets compiled code call a plain Python function. If Numba cannot compile a function,
`overload` provides a version that it can
(https://numba.readthedocs.io/en/stable/extending/overloading-guide.html).
"""

# mypy: allow-untyped-calls, allow-untyped-defs
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange
from numba.extending import overload, register_jitable
from scipy.special import sici

from racebot.ratings.kernel import KernelRace
from racebot.ratings.model import FloatArray
from racebot.ratings.models import hurdle, plackett_luce_hurdle, thurstone_filter, thurstone_hurdle
from racebot.ratings.numerics import order_statistics, truncated_normal

for _function in (
    truncated_normal.win,
    truncated_normal.draw,
    truncated_normal.mills,
    truncated_normal.normal_cdf,
    order_statistics.complete_order_moments,
    hurdle.after_hurdle,
    hurdle.after_order,
    hurdle.days_away,
    thurstone_hurdle.update,
    thurstone_filter.same_rating,
    thurstone_filter.update,
    plackett_luce_hurdle.logistic,
    plackett_luce_hurdle.hurdle_gradient,
    plackett_luce_hurdle.learning_rate,
    plackett_luce_hurdle.order_gradient,
    plackett_luce_hurdle.update,
):
    register_jitable(_function)

_MOST = order_statistics.MOST_POINTS + 4
_INTEGRATION: FloatArray = 0.5 + sici(np.pi * np.arange(-_MOST, _MOST + 1.0))[0] / np.pi
"""Running integral of the sinc function, indexed by distance in grid points from `-_MOST`."""


@overload(order_statistics.posterior_moments)
def _posterior_moments(means: Any, scales: Any, places: Any) -> Callable[..., Any]:
    """Overload `posterior_moments`: leave ties to plain Python, and integrate upsets in log space."""
    complete_order_moments = order_statistics.complete_order_moments

    def moments(means: Any, scales: Any, places: Any) -> Any:
        for i in range(len(places) - 1):
            if places[i] == places[i + 1]:
                return means, scales, False
        first, second, sound = complete_order_moments(means, scales)
        if sound:
            return first, second, True
        return _log_moments(means, scales)

    return moments


@register_jitable
def _log_moments(means: Any, scales: Any) -> Any:
    """Return the moments as `order_recursion` does, in log space on a finer grid."""
    n = len(means)
    low, high, smallest = np.inf, -np.inf, np.inf
    for i in range(n):
        low, high = min(low, means[i] - 8.0 * scales[i]), max(high, means[i] + 8.0 * scales[i])
        smallest = min(smallest, scales[i])
    step = max(min(0.2, 0.6 / np.sqrt(n)) * smallest, (high - low) / 768)
    if not (np.isfinite(step) and step > 0.0):
        return means, scales, False
    points = int(np.ceil((high - low) / step)) + 1
    value = np.empty((n, points))
    for i in range(n):
        for k in range(points):
            z = (low + step * k - means[i]) / scales[i]
            value[i, k] = -0.5 * z * z
    below, above = np.zeros((n, points)), np.zeros((n, points))
    for i in range(n - 1):
        _log_integral(value[i] + below[i], below[i + 1])
        _log_integral((value[n - 1 - i] + above[i])[::-1], above[i + 1][::-1])
    first, second = [0.0] * n, [0.0] * n
    for i in range(n):
        joint = value[i] + below[i] + above[n - 1 - i]
        peak, total, linear, square = joint.max(), 0.0, 0.0, 0.0
        for k in range(points):
            z = (low + step * k - means[i]) / scales[i]
            p = np.exp(joint[k] - peak)
            total += p
            linear += p * z
            square += p * z * z
        first[i] = linear / total
        second[i] = min(max(square / total - first[i] * first[i], 0.0), 1.0)
    return first, second, True


@register_jitable
def _log_integral(values: Any, integral: Any) -> None:
    """Fill `integral` with the log of the running integral, in units of the step (see `order_recursion`)."""
    points = len(values)
    rise = values[1:] - values[:-1]
    integral[0] = values[0] - np.log(max(rise[0], 0.1))
    for i in range(points - 1):
        bend = (rise[min(i + 1, points - 2)] - rise[max(i - 1, 0)]) / 2
        size = max(abs(rise[i]), 1e-3)
        fall = 1.0 - np.exp(-size)
        hollow = 1 / 6 if size < 0.05 else (2.0 - fall) / (fall * size) - 2 / size**2
        cell = max(values[i], values[i + 1]) + np.log(fall / size) - bend / 2 * hollow
        larger, smaller = max(integral[i], cell), min(integral[i], cell)
        integral[i + 1] = larger + np.log1p(np.exp(smaller - larger))


@overload(plackett_luce_hurdle.tied_gradient)
def _tied_gradient(ratings: Any, race: Any) -> Callable[..., Any]:
    def gradient(ratings: Any, race: Any) -> Any:
        return [0.0 for _ in ratings], False

    return gradient


@overload(order_statistics.integrate)
def _integrate(starts: Any, steps: Any, points: Any) -> Callable[..., Any]:
    """Overload `integrate` with loops, which beat matrix products on the small grid of one race."""
    integration, most = _INTEGRATION, _MOST

    def integrate(starts: Any, steps: Any, points: Any) -> Any:
        n = len(starts)
        value = np.empty((n, points))
        for i in range(n):
            _fill_density(value[i], starts[i], steps[i])
        below, above = np.empty((n, points)), np.empty((n, points))
        below[0] = 1.0
        above[0] = 1.0
        for i in range(n - 1):
            _running_integral(value[i], below[i], below[i + 1], integration, most, False)
            _running_integral(value[n - 1 - i], above[i], above[i + 1], integration, most, True)
        sums, ends = np.empty((3, n)), np.empty((2, n))
        for i in range(n):
            total = linear = square = 0.0
            for k in range(points):
                p = value[i, k] * below[i, k] * above[n - 1 - i, k]
                total += p
                linear += p * k
                square += p * k * k
            sums[0, i], sums[1, i], sums[2, i] = total, linear, square
            ends[0, i], ends[1, i] = below[i, points - 1], above[i, 0]
        return sums, ends

    return integrate


@register_jitable
def _fill_density(value: Any, start: Any, step: Any) -> None:
    """Fill `value` with exp(-z²/2) on a grid from `start`, by recurrence outward from the largest value."""
    points = value.shape[0]
    middle = min(max(int(np.rint(-start / step)), 0), points - 1)
    z = start + step * middle
    peak, bend = np.exp(-0.5 * z * z), np.exp(-step * step)
    current, ratio = peak, np.exp(-z * step - 0.5 * step * step)
    for k in range(middle, points):
        value[k] = current
        current *= ratio
        ratio *= bend
    current, ratio = peak, np.exp(z * step - 0.5 * step * step)
    for k in range(middle, -1, -1):
        value[k] = current
        current *= ratio
        ratio *= bend


@register_jitable
def _running_integral(value: Any, level: Any, after: Any, integration: Any, most: Any, mirrored: Any) -> None:
    """Fill `after` with the running integral of value·level, from the left, or from the right if mirrored."""
    points = value.shape[0]
    after[:] = 0.0
    for j in range(points):
        rise = value[j] * level[j]
        if rise > 1e-40:
            if mirrored:
                for k in range(points):
                    after[k] += rise * integration[most + j - k]
            else:
                for k in range(points):
                    after[k] += rise * integration[most + k - j]


@register_jitable
def _arrange(group: Any, unfinished: Any, bounds: Any, lasts: Any) -> Any:
    """Return for each race the finishers, worst placed first, their number, and the entrants to clamp."""
    order, counts = np.empty_like(group), np.zeros(len(lasts), dtype=np.int64)
    clamped = np.empty(len(group), dtype=np.bool_)
    for r in range(len(lasts)):
        first, stop = bounds[r], bounds[r + 1]
        for i in np.argsort(-group[first:stop], kind="mergesort"):
            clamped[first + i] = group[first + i] == lasts[r]
            if not unfinished[first + i]:
                order[first + counts[r]] = i
                counts[r] += 1
    return order, counts, clamped


@register_jitable
def _through(rate, table, p, players, group, unfinished, bounds, days, arranged, before, after, at):
    """Rate races from `at` on for one candidate. Return the first race that plain Python must rate."""
    order, counts, clamped = arranged
    for r in range(at, len(days)):
        a, b = bounds[r], bounds[r + 1]
        for i in range(a, b):
            before[i] = table[players[i]]
        race = KernelRace(group[a:b], unfinished[a:b], clamped[a:b], order[a : a + counts[r]], days[r])
        columns = before[a:b].T
        finish, place = np.empty(columns.shape), np.empty(columns.shape)
        if not rate(columns, race, p, finish, place, after[a:b].T):
            return r
        for i in range(a, b):
            table[players[i]] = after[i]
    return len(days)


@register_jitable
def _thurstone_hurdle(before, race, p, finish, place, limit):
    settings = thurstone_hurdle.HurdleParameters(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])
    return thurstone_hurdle.update(before, race, settings, finish, place, limit)


@register_jitable
def _thurstone_filter(before, race, p, finish, place, limit):
    settings = thurstone_filter.FilterParameters(p[0], p[1], p[2], p[3], p[4], p[5], p[6])
    return thurstone_filter.update(before, race, settings, finish, place, limit)


@register_jitable
def _plackett_luce_hurdle(before, race, p, finish, place, limit):
    settings = plackett_luce_hurdle.PlackettLuceHurdleParameters(p[0], p[1], p[2], p[3], p[4:])
    return plackett_luce_hurdle.update(before, race, settings, finish, place, limit)


@njit(cache=True)
def thurstone_hurdle_one(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in range(len(table)):
        at[c] = _through(
            _thurstone_hurdle,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


@njit(cache=True, parallel=True)
def thurstone_hurdle_many(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in prange(len(table)):
        at[c] = _through(
            _thurstone_hurdle,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


@njit(cache=True)
def thurstone_filter_one(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in range(len(table)):
        at[c] = _through(
            _thurstone_filter,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


@njit(cache=True, parallel=True)
def thurstone_filter_many(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in prange(len(table)):
        at[c] = _through(
            _thurstone_filter,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


@njit(cache=True)
def plackett_luce_hurdle_one(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in range(len(table)):
        at[c] = _through(
            _plackett_luce_hurdle,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


@njit(cache=True, parallel=True)
def plackett_luce_hurdle_many(table, p, players, group, unfinished, bounds, lasts, days, before, after, at):
    arranged = _arrange(group, unfinished, bounds, lasts)
    for c in prange(len(table)):
        at[c] = _through(
            _plackett_luce_hurdle,
            table[c],
            p[c],
            players,
            group,
            unfinished,
            bounds,
            days,
            arranged,
            before[c],
            after[c],
            at[c],
        )


KERNELS: dict[str, tuple[Callable[..., None], Callable[..., None]]] = {
    "thurstone-hurdle": (thurstone_hurdle_one, thurstone_hurdle_many),
    "thurstone-filter": (thurstone_filter_one, thurstone_filter_many),
    "plackett-luce-hurdle": (plackett_luce_hurdle_one, plackett_luce_hurdle_many),
}
"""For each model: the kernel for few candidates on one core, and for many on all cores."""
