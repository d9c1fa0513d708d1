"""Replay a history with compiled kernels, for studies. Needs the extra `racebot[fast]`.

Without Numba, everything here runs in plain Python. Compiled results may differ in the last digits, so a
ledger is always rated with `RatingModel.rate`. The first use of a model compiles its kernel, which takes
seconds. Numba caches the machine code on disk
(https://numba.readthedocs.io/en/stable/developer/caching.html).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray, RatingModel

AVAILABLE = importlib.util.find_spec("numba") is not None
"""True if Numba is installed."""
FEWEST_RACES = 5_000
"""With fewer races, one model is replayed in plain Python, since compiling could take longer."""
_BLOCK = 64
"""Number of races that compiled code rates at a time. Threads synchronize after each block."""

Kernel = Callable[..., None]


class Replayable(Protocol):
    """A race of a history."""

    @property
    def players(self) -> IntArray:
        """Return the entrants' rows in the table of states: shape [n]."""
        ...

    @property
    def outcome(self) -> Outcome:
        """Return the outcome, which is always `rateable`."""
        ...


class RaceBlock(NamedTuple):
    """Races as arrays, one race after the other, as compiled code reads them.

    Attributes:
        players: shape [entries]; the entrants' rows in the table of states.
        group: shape [entries]; see `Outcome`.
        unfinished: shape [entries]; see `Outcome`.
        bounds: shape [races + 1]; the first entry of each race, followed by the number of entries.
        last_group: shape [races]; see `Outcome`.
        last_unfinished: shape [races]; see `Outcome`.
        day: shape [races]; see `Outcome`.
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
        """Collect races."""
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


@runtime_checkable
class Compilable(Protocol):
    """A model with a kernel that can be compiled."""

    @property
    def compilable(self) -> bool:
        """Return True if the compiled kernel covers the model's options."""
        ...

    @property
    def settings(self) -> FloatArray:
        """Return the kernel's parameters: shape [p], or [candidates, p] in a sweep."""
        ...

    def rate_candidate(self, states: FloatArray, outcome: Outcome, settings: Sequence[float]) -> FloatArray:
        """Rate one race with one candidate, in plain Python. Return NaN if its ratings diverge."""
        ...


def replay(
    model: RatingModel, races: Sequence[Replayable], table: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate races in order, and yield the states before and after each.

    Args:
        model: a model with single parameters, or with arrays of shape [candidates].
        races: the races, in the order to rate them.
        table: states of all players, shape [..., players, k]; updated in place, up to a block ahead.
    """
    worthwhile = table.ndim > 2 or len(races) >= FEWEST_RACES
    kernel = _kernel(model) if worthwhile and table.flags.c_contiguous else None
    if kernel is None or not isinstance(model, Compilable):
        for race in races:
            before = table[..., race.players, :]
            after = model.rate(before, race.outcome)
            table[..., race.players, :] = after
            yield before, after
        return
    remaining = iter(races)
    while block := list(islice(remaining, _BLOCK)):
        yield from _replay_block(model, kernel, block, table)


def compiles(model: RatingModel) -> bool:
    """Return True if replays of this model are compiled."""
    return _kernel(model) is not None


def _kernel(model: RatingModel) -> Kernel | None:
    if not AVAILABLE or not isinstance(model, Compilable) or not model.compilable:
        return None
    # Importing Numba takes half a second.
    kernel: Kernel | None = importlib.import_module("racebot.ratings.compiled").kernel(model.key)
    return kernel


def _replay_block(
    model: Compilable, kernel: Kernel, races: Sequence[Replayable], table: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    block = RaceBlock.of(races)
    bounds = block.bounds.tolist()
    rows = table.reshape(-1, *table.shape[-2:])
    settings = np.array(np.broadcast_to(model.settings, (len(rows), model.settings.shape[-1])))
    before = np.empty((len(rows), len(block.players), rows.shape[-1]))
    after = np.empty_like(before)
    at = np.zeros(len(rows), dtype=np.int64)
    while (at < len(races)).any():
        kernel(rows, settings, block, before, after, at)
        for c in np.flatnonzero(at < len(races)).tolist():
            race = races[at[c]]
            part = slice(bounds[at[c]], bounds[at[c] + 1])
            after[c, part] = model.rate_candidate(before[c, part], race.outcome, settings[c].tolist())
            rows[c, race.players] = after[c, part]
            at[c] += 1
    before, after = (states.reshape(*table.shape[:-2], *states.shape[1:]) for states in (before, after))
    for start, stop in pairwise(bounds):
        yield before[..., start:stop, :], after[..., start:stop, :]
