"""Kernels compiled with Numba. Import this module only through `racebot.ratings.fast`.

`register_jitable` lets compiled code call a plain Python function. If Numba cannot compile a function,
`overload` provides a version that it can
(https://numba.readthedocs.io/en/stable/extending/overloading-guide.html).
"""

# mypy: allow-untyped-calls, allow-untyped-defs
from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from inspect import isfunction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, njit, objmode
from numba.extending import overload, register_jitable

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry  # noqa: F401 - loads all models
from racebot.ratings.kernel import KernelModel, KernelRace, PastRace, clamped_group
from racebot.ratings.model import FloatArray
from racebot.ratings.models.plackett_luce import tied_losses
from racebot.ratings.numerics.expectation_propagation import jointly, jointly_banded
from racebot.ratings.numerics.order import (
    CORRECTIONS,
    MARGIN,
    SMALL,
    SMALL_REACH,
    crowd_below,
    crowd_moments,
    density,
    on_windows,
    posterior_moments,
    running_integral,
    sums,
)
from racebot.ratings.numerics.order_windows import FEW
from racebot.ratings.numerics.truncated_normal import pair_moments

_BLOCK = 256
"""Number of races that compiled code rates at a time. Threads synchronize after each block."""
_MANY = 16
"""Fewest candidates to spread over several cores."""
_PART = 8
"""Candidates that a core takes at a time."""

_REPLACED = (
    crowd_below,
    crowd_moments,
    density,
    jointly,
    posterior_moments,
    running_integral,
    sums,
    tied_losses,
)
"""Functions that compiled code replaces below."""

# Compiled code may call any other function of these modules.
for _module in [module for name, module in sys.modules.items() if name.startswith("racebot.ratings.")]:
    for _function in list(vars(_module).values()):
        own = isfunction(_function) and _function.__module__ == _module.__name__
        if own and _function not in _REPLACED:
            register_jitable(_function)


def _moments(means, scales, places):
    n = len(means)
    if n == 2:
        return pair_moments(means, scales)
    untied = few = True
    for i in range(1, n):
        if places[i] == places[i - 1]:
            untied = False
            few = few and (i < FEW or places[i] != places[i - FEW])
    first, second = [math.nan], [math.nan]
    if untied:
        first, second = _on_small_grid(means, scales)
    if few and not (len(first) == n and math.isfinite(sum(first))):
        first, second = on_windows(means, scales, places)
    if not (len(first) == n and math.isfinite(sum(first) + sum(second))):
        m, s, p = np.array(means), np.array(scales), np.array(places)
        with objmode(found="float64[:, :]"):
            found = np.array(posterior_moments(m.tolist(), s.tolist(), p.tolist()))
        first, second = [x for x in found[0]], [x for x in found[1]]  # noqa: C416 - for Numba
    return first, second


def _crowd_below(windows, g, level, start):
    return level


def _crowd_moments(windows, g, below, below_start, level, start, first, second):
    return level


@register_jitable
def _on_small_grid(means, scales):
    """Do the same as `order.on_small_grid`, by local integrals on a finer grid, which needs no check."""
    n, smallest, weakest, upset = len(means), min(scales), means[-1], 0.0
    low, high = means[0], means[0]
    for i in range(n - 1, -1, -1):
        low, high = (
            min(low, means[i] - SMALL_REACH * scales[i]),
            max(high, means[i] + SMALL_REACH * scales[i]),
        )
        upset += max(means[i] - weakest, 0.0)
        weakest = min(weakest, means[i])
    # Within 1e-6 of windows for 3 to 24 entrants.
    needed = (high - low) / smallest * (n + 6.0 + upset / smallest) / 4.5
    if not needed < 2 * SMALL:
        return [0.0 for _ in range(0)], [0.0 for _ in range(0)]
    points = int(needed) + 2
    step = (high - low) / (points - 1)
    level, above = np.ones((n, points)), np.ones(points)
    own = np.empty((n, points))
    for i in range(n):
        peak = int((means[i] - low) / step)
        own[i] = _density(means[i], scales[i], low, step, 0, points, peak)
        if i < n - 1:
            rest = _integral(own[i] * level[i])
            level[i + 1] = rest / rest[-1]
    first, second = [0.0 for _ in range(n)], [0.0 for _ in range(n)]
    for i in range(n - 1, -1, -1):
        center = int((means[i] - low) / step)
        level[i] *= above
        total, linear, square = sums(own[i], level[i], -center)
        linear, width = linear / total, step / scales[i]
        first[i] = (low + step * center - means[i]) / scales[i] + width * linear
        second[i] = width * width * (square / total - linear * linear)
        rest = _integral((own[i] * above)[::-1].copy())
        above = rest[::-1].copy() / rest[-1]
    return first, second


@register_jitable
def _density(mean, scale, origin, step, low, high, peak):
    values, width = np.empty(high - low), step / scale
    at = min(max(peak, low), high - 1)
    least, z = (origin + step * peak - mean) / scale, (origin + step * at - mean) / scale
    bend, top = math.exp(-width * width), math.exp(min(0.5 * (least * least - z * z), 600.0))
    # By recurrences outward from the peak, bounded as in plain Python.
    for side in (1, -1):
        value, grow = top, math.exp(-width * (side * z + 0.5 * width))
        for k in range(at - low, high - low if side > 0 else -1, side):
            values[k] = min(value, 3.7e260)
            value, grow = value * grow, grow * bend
    return values


@register_jitable
def _integral(values):
    padded, integral = np.zeros(len(values) + 2 * MARGIN), np.empty_like(values)
    total = 0.0
    for k in range(len(values)):
        padded[k + MARGIN] = values[k]
        total += values[k]
        integral[k] = total - 0.5 * values[k]
    for d in range(1, MARGIN + 1):
        weight, before, after = CORRECTIONS[d - 1], padded[MARGIN - d :], padded[MARGIN + d :]
        for k in range(len(values)):
            integral[k] += weight * (before[k] - after[k])
    return integral


def _sums(density, other, start):
    total = linear = square = 0.0
    for k in range(len(density)):
        chance, point = density[k] * other[k], float(start + k)
        total += chance
        linear += chance * point
        square += chance * point * point
    return total, linear, square


def _no_losses(rates, mass):
    return [0.0 for _ in rates], False


def _banded(means, variances, winners, losers, margins, rounds, tolerance):
    return jointly_banded(means, variances, winners, losers, margins, rounds, tolerance)


# Larger ties are left to plain Python.
overload(crowd_below)(lambda windows, g, level, start: _crowd_below)
overload(crowd_moments)(lambda windows, g, below, below_start, level, start, first, second: _crowd_moments)
overload(posterior_moments)(lambda means, scales, places: _moments)
overload(density)(lambda mean, scale, origin, step, low, high, peak: _density)
overload(running_integral)(lambda values: _integral)
overload(sums, jit_options={"fastmath": {"reassoc", "contract", "nsz"}})(lambda density, other, start: _sums)
overload(tied_losses)(lambda rates, mass: _no_losses)
overload(jointly)(lambda means, variances, winners, losers, margins, rounds, tolerance: _banded)


class RaceBlock(NamedTuple):
    """Races as arrays, one race after the other, as compiled code reads them; see `KernelRace`.

    Attributes:
        players: shape [entries]; the entrants' rows in the table of states.
        group, unfinished: shape [entries].
        bounds: shape [races + 1]; the first entry of each race, followed by the number of entries.
        worst_first: shape [finishers].
        finishers: shape [races + 1]; the first finisher of each race, followed by their number.
        last_group, clamped, day, by_team: shape [races]; `by_team` is True for races that are rated by team.
    """

    players: IntArray
    group: IntArray
    unfinished: BoolArray
    bounds: IntArray
    worst_first: IntArray
    finishers: IntArray
    last_group: IntArray
    clamped: IntArray
    day: FloatArray
    by_team: BoolArray

    @classmethod
    def of(cls, races: Sequence[PastRace]) -> RaceBlock:
        outcomes = [race.outcome for race in races]
        group = np.concatenate([outcome.group for outcome in outcomes])
        unfinished = np.concatenate([outcome.unfinished for outcome in outcomes])
        sizes = [len(race.players) for race in races]
        bounds = np.cumsum([0, *sizes])
        finished = np.flatnonzero(~unfinished)
        number = np.repeat(np.arange(len(races)), sizes)[finished]
        # By race, and in each race worst first.
        worst_first = finished[np.argsort(number * (group.max() + 1) - group[finished], kind="stable")]
        return cls(
            players=np.concatenate([race.players for race in races]),
            group=group,
            unfinished=unfinished,
            bounds=bounds,
            worst_first=worst_first - bounds[number],
            finishers=number.searchsorted(np.arange(len(races) + 1)),
            last_group=np.array([outcome.last_group for outcome in outcomes]),
            clamped=np.array([clamped_group(outcome) for outcome in outcomes]),
            day=np.array([outcome.day for outcome in outcomes]),
            by_team=np.array([outcome.team is not None for outcome in outcomes]),
        )


def _driver(update: Callable[..., bool], steps: int, version: str) -> Callable[..., None]:
    """Compile a function that rates races, from `at` on, with every candidate.

    It stops a candidate at a race that plain Python must rate, and at the end, and updates `at`. Numba's
    cache only notices changes of this file. `version` makes it notice changes of the kernels, too.
    """

    @njit(cache=True, nogil=True)
    def drive(table, settings, block, before, after, at):
        if version == "":
            return
        alone: Any = np.arange(np.diff(block.bounds).max())
        ones = np.ones_like(alone)
        for c in range(len(table)):
            for r in range(at[c], len(block.day)):
                a, b = block.bounds[r], block.bounds[r + 1]
                for i in range(a, b):
                    before[c, i] = table[c, block.players[i]]
                race = KernelRace(
                    block.group[a:b],
                    block.unfinished[a:b],
                    block.worst_first[block.finishers[r] : block.finishers[r + 1]],
                    block.day[r],
                    block.last_group[r],
                    block.clamped[r],
                    alone[: b - a],
                    ones[: b - a],
                )
                filled: Any = np.empty((steps, before.shape[-1], b - a))
                if not np.isfinite(before[c, a:b]).all():
                    filled[:] = np.nan
                elif block.by_team[r] or not update(before[c, a:b].T, race, settings[c], filled):
                    at[c] = r
                    break
                after[c, a:b] = filled[-1].T
                for i in range(a, b):
                    table[c, block.players[i]] = after[c, i]
                at[c] = r + 1

    return drive


@cache
def _drive(model: type[KernelModel]) -> Callable[..., None]:
    """Return the compiled function that replays a block of races with this model."""
    return _driver(model.kernel, len(model.step_names), _version())


def replay(
    model: KernelModel, races: Sequence[PastRace], table: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate races in order; see `racebot.ratings.fast.replay`."""
    drive = _drive(type(model))
    rows = table.reshape(-1, *table.shape[-2:])
    settings = np.array(np.broadcast_to(model.settings, (len(rows), model.settings.shape[-1])), order="C")
    # As records, whose numbers compiled code reads by name.
    names = model.kernel_settings._fields
    bends = settings.shape[-1] - len(names) + 1
    kinds = [(name, np.float64, (bends,)) if name == "bends" else (name, np.float64) for name in names]
    records = settings.view(np.dtype(kinds))[:, 0]
    for first in range(0, len(races), _BLOCK):
        part = races[first : first + _BLOCK]
        block = RaceBlock.of(part)
        before = np.empty((len(rows), len(block.players), rows.shape[-1]))
        after = np.empty_like(before)
        at = np.zeros(len(rows), dtype=np.int64)
        bounds = block.bounds.tolist()
        while (at < len(part)).any():
            if len(rows) < _MANY:
                drive(rows, records, block, before, after, at)
            else:
                shares = [slice(share, share + _PART) for share in range(0, len(rows), _PART)]
                calls = [(rows[i], records[i], block, before[i], after[i], at[i]) for i in shares]
                with ThreadPoolExecutor(get_num_threads()) as threads:
                    list(threads.map(lambda call: drive(*call), calls))
            for c in np.flatnonzero(at < len(part)).tolist():
                race, entrants = part[at[c]], slice(*bounds[at[c] : at[c] + 2])
                after[c, entrants] = model.rate_candidate(before[c, entrants], race.outcome, settings[c])
                rows[c, race.players] = after[c, entrants]
                at[c] += 1
        before, after = (states.reshape(*table.shape[:-2], *states.shape[1:]) for states in (before, after))
        for start, stop in pairwise(bounds):
            yield before[..., start:stop, :], after[..., start:stop, :]


def _version() -> str:
    """Return a digest of the source of all rating code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
