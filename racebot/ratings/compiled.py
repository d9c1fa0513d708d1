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
from numba import get_num_threads, njit
from numba.extending import overload, register_jitable

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry  # noqa: F401 - loads all models
from racebot.ratings.kernel import KernelModel, KernelRace, PastRace, clamped_group
from racebot.ratings.model import FloatArray
from racebot.ratings.models.hurdle import after_order, after_race, after_race_of_units
from racebot.ratings.models.plackett_luce import tied_losses
from racebot.ratings.numerics.expectation_propagation import jointly, jointly_banded
from racebot.ratings.numerics.order import crowd_below, crowd_moments, on_windows, posterior_moments
from racebot.ratings.numerics.order_grid import CORRECTIONS, MARGIN, densities, integral, sums
from racebot.ratings.numerics.truncated_normal import pair_moments

_BLOCK = 256
"""Number of races that compiled code rates at a time. Threads synchronize after each block."""
_MANY = 16
"""Fewest candidates to spread over several cores."""
_PART = 8
"""Candidates that a core takes at a time."""

_REPLACED = (
    after_race,
    crowd_below,
    crowd_moments,
    densities,
    integral,
    jointly,
    posterior_moments,
    sums,
    tied_losses,
)
"""Functions that compiled code replaces below."""

_INLINED = (after_order, after_race_of_units)
"""Functions that are called once. Numba would optimize all that they call once more for each of them."""

# Compiled code may call any other function of these modules.
for _module in [module for name, module in sys.modules.items() if name.startswith("racebot.ratings.")]:
    for _function in list(vars(_module).values()):
        own = isfunction(_function) and _function.__module__ == _module.__name__
        if own and _function not in _REPLACED:
            register_jitable(inline="always" if _function in _INLINED else "never")(_function)


def _of_units(skills, race, hurdle, steps):
    return after_race_of_units(skills, race, hurdle, steps)


def _moments(means, scales, places):
    if len(means) == 2:
        return pair_moments(means, scales)
    arrays: Any = np.array(means), np.array(scales), np.array(places)
    first, second = on_windows(*arrays)
    return [x for x in first], [x for x in second]  # noqa: C416 - for Numba


def _crowd_below(windows, a, b, level, start):
    return np.full_like(level, np.nan)


def _crowd_moments(windows, a, b, below, level, start, first, second):
    return np.full_like(level, np.nan)


def _densities(windows, a, b):
    origin, step, found = windows.origin, windows.step, [np.empty(0) for _ in range(0)]
    for i in range(a, b):
        low, high, peak = windows.low[i], windows.high[i], windows.peak[i]
        values, width = np.empty(high - low), step / windows.s[i]
        at = min(max(peak, low), high - 1)
        least = (origin + step * peak - windows.m[i]) / windows.s[i]
        z = (origin + step * at - windows.m[i]) / windows.s[i]
        bend, top = math.exp(-width * width), math.exp(min(0.5 * (least * least - z * z), 600.0))
        # By recurrences outward from the peak, bounded as in plain Python.
        for side in (1, -1):
            value, grow = top, math.exp(-width * (side * z + 0.5 * width))
            for k in range(at - low, high - low if side > 0 else -1, side):
                values[k] = min(value, 3.7e260)
                value, grow = value * grow, grow * bend
        found.append(values)
    return found


def _integral(values, start, low, high, side):
    points, running, total = len(values), np.zeros(len(values) + 2 * MARGIN), 0.0
    padded, found = np.zeros(len(values) + 2 * MARGIN), np.empty(high - low)
    begin = start if side > 0 else -start - points
    for k in range(points):
        padded[k + MARGIN] = value = values[k if side > 0 else points - 1 - k]
        total += value
        running[k] = total - 0.5 * value
    for d in range(1, MARGIN + 1):
        weight, before, after = CORRECTIONS[d - 1], padded[MARGIN - d :], padded[MARGIN + d :]
        for k in range(points):
            running[k] += weight * (before[k] - after[k])
    for k in range(high - low):
        at = (low + k if side > 0 else -low - k - 1) - begin
        found[k] = running[min(at, points - 1)] if at >= 0 else 0.0
    return found


def _sums(density, other):
    total = linear = square = 0.0
    for k in range(len(density)):
        chance, point = density[k] * other[k], float(k)
        total += chance
        linear += chance * point
        square += chance * point * point
    return total, linear, square


def _no_losses(rates, mass):
    return [0.0 for _ in rates], False


def _banded(means, variances, winners, losers, margins, rounds, tolerance):
    return jointly_banded(means, variances, winners, losers, margins, rounds, tolerance)


# Larger ties are left to plain Python, and so are teams.
overload(after_race, inline="always")(lambda skills, race, hurdle, steps: _of_units)
overload(crowd_below)(lambda windows, a, b, level, start: _crowd_below)
overload(crowd_moments)(lambda windows, a, b, below, level, start, first, second: _crowd_moments)
overload(posterior_moments)(lambda means, scales, places: _moments)
overload(densities)(lambda windows, a, b: _densities)
overload(integral)(lambda values, start, low, high, side: _integral)
overload(sums, jit_options={"fastmath": {"reassoc", "contract", "nsz"}})(lambda density, other: _sums)
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
