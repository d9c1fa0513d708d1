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
from functools import cache, wraps
from inspect import isfunction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry  # noqa: F401 - loads all models
from racebot.ratings.kernel import KernelModel, KernelRace, PastRace, clamped_group
from racebot.ratings.model import FloatArray
from racebot.ratings.models.hurdle import after_order, after_race, after_race_of_units
from racebot.ratings.numerics.expectation_propagation import wins
from racebot.ratings.numerics.order import crowd_level, crowd_moments, on_windows, posterior_moments
from racebot.ratings.numerics.order_grid import (
    MARGIN,
    corrections,
    densities,
    integral,
    kernels,
    sums,
    tilted,
)
from racebot.ratings.numerics.truncated_normal import pair_moments, win

_BLOCK = 256  # number of races that compiled code rates at a time

_SUMS: Any = {"fastmath": {"reassoc", "contract", "nsz"}}  # lets Numba add in any order

_INLINED = (after_order, after_race_of_units)
"""Functions that are called once. Numba would optimize all that they call once more for each of them."""

_replaced: set[Callable[..., Any]] = set()


def _in_place_of(function, **options):
    """Decorate what compiled code runs in place of a function of the same arguments."""

    def register(replacement):
        @wraps(replacement)
        def chosen(*_types):
            return replacement

        _replaced.add(function)
        overload(function, **options)(chosen)

    return register


@_in_place_of(after_race, inline="always")
def _of_units(skills, race, hurdle, steps):
    return after_race_of_units(skills, race, hurdle, steps)


@_in_place_of(posterior_moments)
def _moments(means, scales, places):
    if len(means) == 2:
        return pair_moments(means, scales)
    arrays: Any = np.array(means), np.array(scales), np.array(places)
    first, second = on_windows(*arrays)
    return [x for x in first], [x for x in second]  # noqa: C416 - for Numba


@_in_place_of(crowd_level)
def _crowd_level(windows, a, b, level, start, side):
    return np.full_like(level, np.nan)


@_in_place_of(crowd_moments)
def _crowd_moments(windows, a, b, below, level, start, first, second):
    pass


@_in_place_of(densities)
def _densities(windows):
    found = [np.empty(0) for _ in range(0)]
    for row in tilted(windows):
        values, width = np.empty(row.size), windows.step / row.scale
        peak = row.peak / windows.step - row.low
        at = min(max(int(peak), 0), row.size - 1)
        z = width * (at - peak)
        bend, top = math.exp(-width * width), math.exp(row.height - 0.5 * z * z)
        # By recurrences outward from the peak.
        for side in (1, -1):
            value, grow = top, math.exp(-width * (side * z + 0.5 * width))
            for k in range(at, row.size if side > 0 else -1, side):
                values[k] = value
                value, grow = value * grow, grow * bend
        found.append(values)
    return found


@_in_place_of(kernels)
def _kernels(windows):
    """Return the nearest weights, followed by the decay per step."""
    rates = windows.step * np.array(windows.rates)
    nearest, decay = corrections(rates), np.exp(-rates).reshape(-1, 1)
    nearest[:, MARGIN] += 0.5
    return [row for row in np.concatenate((nearest, decay), axis=1)]  # noqa: C416 - for Numba


@_in_place_of(integral, jit_options=_SUMS)
def _integral(values, start, kernel, low, high, side):
    points, size = len(values), high - low
    first = low - start if side > 0 else start + points - high
    known, found = np.zeros(max(first + size, points) + 2 * MARGIN), np.zeros(size)
    for k in range(points):
        known[k + MARGIN] = values[k if side > 0 else points - 1 - k]
    far = 0.0
    for k in range(first + size):
        if k >= first:
            total = 0.0
            for d in range(2 * MARGIN + 1):
                total += kernel[d] * known[k + 2 * MARGIN - d]
            found[k - first if side > 0 else size - 1 - k + first] = far + total
        far = (far + known[k + MARGIN]) * kernel[2 * MARGIN + 1]
    return found


@_in_place_of(sums, jit_options=_SUMS)
def _sums(values):
    total = linear = square = 0.0
    for k in range(len(values)):
        total += values[k]
        linear += values[k] * float(k)
        square += values[k] * float(k) * float(k)
    return total, linear, square


@_in_place_of(wins)
def _wins(t, margin):
    found = np.empty((2, t.size))
    for k in range(t.size):
        found[0, k], found[1, k] = win(t[k], margin[k])
    return found


# Compiled code may call any other function of these modules.
for _module in [module for name, module in sys.modules.items() if name.startswith("racebot.ratings.")]:
    for _function in list(vars(_module).values()):
        own = isfunction(_function) and _function.__module__ == _module.__name__
        if own and _function not in _replaced:
            register_jitable(inline="always" if _function in _INLINED else "never")(_function)


class RaceBlock(NamedTuple):
    """Races as arrays, one race after the other, as compiled code reads them; see `KernelRace`.

    Attributes:
        players, group, unfinished: shape [entries]; `players` are rows in the table of states.
        worst_first: shape [finishers].
        bounds, finishers: shape [races + 1]; where the entries and the finishers of each race begin.
        last_group, clamped, day, by_team: shape [races].
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


@cache
def _drive(model: type[KernelModel]) -> Callable[..., None]:
    """Compile a function that rates races, from `at` on, with every candidate.

    It stops a candidate at a race that plain Python must rate. Numba's cache only notices changes of this
    file, and `version` those of the kernels.
    """
    update, steps, version = model.kernel, len(model.step_names), _version()

    @njit(cache=True)
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
            drive(rows, records, block, before, after, at)
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
