"""Kernels compiled with Numba. Import this module only through `racebot.ratings.fast`.

`register_jitable` lets compiled code call a plain Python function. If Numba cannot compile a function,
`overload` provides a version that it can
(https://numba.readthedocs.io/en/stable/extending/overloading-guide.html).
"""

# mypy: allow-untyped-calls, allow-untyped-defs
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from inspect import isfunction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, njit
from numba.extending import overload, register_jitable

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import forfeit_floor, kernel as kernels
from racebot.ratings.kernel import Compilable, KernelRace, Replayable
from racebot.ratings.model import FloatArray
from racebot.ratings.models import (
    hurdle,
    plackett_luce,
    plackett_luce_hurdle,
    single,
    thurstone,
    thurstone_filter,
    thurstone_hurdle,
    trueskill,
)
from racebot.ratings.numerics import (
    expectation_propagation,
    order_quadrature,
    order_statistics,
    truncated_normal,
)

_BLOCK = 64
"""Number of races that compiled code rates at a time. Threads synchronize after each block."""
_MANY = 16
"""Fewest candidates to spread over several cores."""
_PART = 8
"""Candidates that a core takes at a time."""

_OVERLOADED = (
    expectation_propagation.jointly,
    order_quadrature.sums,
    order_statistics.posterior_moments,
    plackett_luce.tied_losses,
)
"""Functions that compiled code replaces below."""

for _module in (
    kernels,
    forfeit_floor,
    truncated_normal,
    order_statistics,
    order_quadrature,
    expectation_propagation,
    single,
    hurdle,
    plackett_luce,
    plackett_luce_hurdle,
    thurstone,
    thurstone_filter,
    thurstone_hurdle,
    trueskill,
):
    for _function in vars(_module).values():
        own = isfunction(_function) and _function.__module__ == _module.__name__
        if own and _function not in _OVERLOADED:
            register_jitable(_function)
# Sums in any order can use vector instructions.
register_jitable(fastmath={"reassoc", "contract", "nsz"})(order_quadrature.sums)


@overload(order_statistics.posterior_moments)
def _posterior_moments(means: Any, scales: Any, places: Any) -> Callable[..., Any]:
    """Overload `posterior_moments`: use the linear-time quadrature."""
    pair_moments, order_moments = order_statistics.pair_moments, order_quadrature.order_moments

    def moments(means: Any, scales: Any, places: Any) -> Any:
        if len(means) == 2:
            one, two = pair_moments(means, scales)
            return np.array(one), np.array(two), True
        none: Any = np.empty(0)
        first, second, _, sound = order_moments(means, scales, places, none, none)
        return first, second, sound

    return moments


@overload(plackett_luce.tied_losses)
def _tied_losses(rates: Any, mass: Any) -> Callable[..., Any]:
    """Overload `tied_losses`: leave ties to plain Python."""

    def losses(rates: Any, mass: Any) -> Any:
        return [0.0 for _ in rates], False

    return losses


@overload(expectation_propagation.jointly)
def _jointly(
    means: Any, variances: Any, winners: Any, losers: Any, margins: Any, rounds: Any, tolerance: Any
) -> Callable[..., Any]:
    """Overload `jointly`: leave cycles of comparisons to plain Python."""

    def nothing(
        means: Any, variances: Any, winners: Any, losers: Any, margins: Any, rounds: Any, tolerance: Any
    ) -> Any:
        return means, variances, False

    return nothing


class RaceBlock(NamedTuple):
    """Races as arrays, one race after the other, as compiled code reads them.

    Attributes:
        players: shape [entries]; the entrants' rows in the table of states.
        group, unfinished: shape [entries]; see `Outcome`.
        bounds: shape [races + 1]; the first entry of each race, followed by the number of entries.
        last_group, last_unfinished, day: shape [races]; see `Outcome`.
        by_team: shape [races]; True for races that are rated by team.
    """

    players: IntArray
    group: IntArray
    unfinished: BoolArray
    bounds: IntArray
    last_group: IntArray
    last_unfinished: BoolArray
    day: FloatArray
    by_team: BoolArray

    @classmethod
    def of(cls, races: Sequence[Replayable]) -> RaceBlock:
        outcomes = [race.outcome for race in races]
        return cls(
            players=np.concatenate([race.players for race in races]),
            group=np.concatenate([outcome.group for outcome in outcomes]),
            unfinished=np.concatenate([outcome.unfinished for outcome in outcomes]),
            bounds=np.cumsum([0, *(outcome.size for outcome in outcomes)]),
            last_group=np.array([outcome.last_group for outcome in outcomes]),
            last_unfinished=np.array([outcome.last_unfinished for outcome in outcomes]),
            day=np.array([outcome.day for outcome in outcomes]),
            by_team=np.array([outcome.team is not None for outcome in outcomes]),
        )


def _thurstone_hurdle(before, race, p, after):
    settings = thurstone_hurdle.HurdleParameters(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])
    finish: Any = np.empty(before.shape)
    place: Any = np.empty(before.shape)
    return thurstone_hurdle.update(before, race, settings, finish, place, after)


def _thurstone_filter(before, race, p, after):
    settings = thurstone_filter.FilterParameters(p[0], p[1], p[2], p[3], p[4], p[5], p[6])
    finish: Any = np.empty(before.shape)
    place: Any = np.empty(before.shape)
    return thurstone_filter.update(before, race, settings, finish, place, after)


def _plackett_luce_hurdle(before, race, p, after):
    settings = plackett_luce_hurdle.PlackettLuceHurdleParameters(p[0], p[1], p[2], p[3], p[4:])
    finish: Any = np.empty(before.shape)
    place: Any = np.empty(before.shape)
    return plackett_luce_hurdle.update(before, race, settings, finish, place, after)


def _plackett_luce(before, race, p, after):
    settings = plackett_luce.PlackettLuceParameters(p[0], p[1], p[2], p[3], p[4:])
    return plackett_luce.update(before, race, settings, after)


def _thurstone(before, race, p, after):
    settings = thurstone.ThurstoneParameters(p[0], p[1], p[2], p[3:])
    return thurstone.update(before, race, settings, after)


def _trueskill(before, race, p, after):
    settings = trueskill.TrueSkillParameters(p[0], p[1], p[2], p[3])
    return trueskill.update(before, race, settings, after)


_RATE: dict[str, Callable[..., Any]] = {
    "plackett-luce": _plackett_luce,
    "plackett-luce-hurdle": _plackett_luce_hurdle,
    "thurstone": _thurstone,
    "thurstone-filter": _thurstone_filter,
    "thurstone-hurdle": _thurstone_hurdle,
    "trueskill": _trueskill,
}
"""For each model, a function that rates one race with the settings p."""
for _function in _RATE.values():
    register_jitable(_function)


@register_jitable
def _arrange(block):
    """Return for each race the finishers, worst placed first, their number, and the entrants to clamp."""
    group = block.group
    order, counts = np.empty_like(group), np.zeros(len(block.day), dtype=np.int64)
    clamped = np.empty(len(group), dtype=np.bool_)
    for r in range(len(block.day)):
        first, stop = block.bounds[r], block.bounds[r + 1]
        for i in np.argsort(-group[first:stop], kind="mergesort"):
            clamped[first + i] = not block.last_unfinished[r] and group[first + i] == block.last_group[r]
            if not block.unfinished[first + i]:
                order[first + counts[r]] = i
                counts[r] += 1
    return order, counts, clamped


def _driver(rate: Callable[..., Any], version: str) -> Callable[..., None]:
    """Compile a function that rates races, from `at` on, with every candidate.

    It stops a candidate at a race that plain Python must rate, and at the end, and updates `at`. Numba's
    cache only notices changes of this file. `version` makes it notice changes of the kernels, too.
    """

    @njit(cache=True, nogil=True)
    def drive(table, p, block, before, after, at):
        if version == "":
            return
        order, counts, clamped = _arrange(block)
        nobody: Any = np.empty(0, dtype=np.int64)
        for c in range(len(table)):
            for r in range(at[c], len(block.day)):
                a, b = block.bounds[r], block.bounds[r + 1]
                finite = True
                for i in range(a, b):
                    before[c, i] = table[c, block.players[i]]
                    finite = finite and np.isfinite(before[c, i]).all()
                race = KernelRace(
                    block.group[a:b],
                    block.unfinished[a:b],
                    clamped[a:b],
                    order[a : a + counts[r]],
                    block.day[r],
                    block.last_group[r],
                    nobody,
                )
                if not finite:
                    after[c, a:b] = np.nan
                elif block.by_team[r] or not rate(before[c, a:b].T, race, p[c], after[c, a:b].T):
                    at[c] = r
                    break
                for i in range(a, b):
                    table[c, block.players[i]] = after[c, i]
                at[c] = r + 1

    return drive


@cache
def _drive(key: str) -> Callable[..., None]:
    """Return the compiled function that replays a block of races with this model."""
    return _driver(_RATE[key], _version())


def replay(
    model: Compilable, races: Sequence[Replayable], table: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate races in order; see `racebot.ratings.fast.replay`."""
    drive = _drive(model.key)
    remaining = iter(races)
    while block := list(islice(remaining, _BLOCK)):
        yield from _replay_block(model, drive, block, table)


def _replay_block(
    model: Compilable, drive: Callable[..., None], races: Sequence[Replayable], table: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    block = RaceBlock.of(races)
    bounds = block.bounds.tolist()
    rows = table.reshape(-1, *table.shape[-2:])
    settings = np.array(np.broadcast_to(model.settings, (len(rows), model.settings.shape[-1])))
    before = np.empty((len(rows), len(block.players), rows.shape[-1]))
    after = np.empty_like(before)
    at = np.zeros(len(rows), dtype=np.int64)
    while (at < len(races)).any():
        if len(rows) < _MANY:
            drive(rows, settings, block, before, after, at)
        else:
            parts = [slice(first, first + _PART) for first in range(0, len(rows), _PART)]
            calls = [(rows[i], settings[i], block, before[i], after[i], at[i]) for i in parts]
            with ThreadPoolExecutor(get_num_threads()) as threads:
                list(threads.map(lambda call: drive(*call), calls))
        for c in np.flatnonzero(at < len(races)).tolist():
            race = races[at[c]]
            part = slice(bounds[at[c]], bounds[at[c] + 1])
            after[c, part] = model.rate_candidate(before[c, part], race.outcome, settings[c].tolist())
            rows[c, race.players] = after[c, part]
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
