"""Replay a history with compiled kernels, for studies. Needs the extra `fast`.

Without Numba, everything here runs in plain Python. Compiled results may differ in the last digits, so a
ledger is always rated with `RatingModel.rate`. The first use of a model compiles its kernel, which takes
half a minute. Numba caches the machine code on disk
(https://numba.readthedocs.io/en/stable/developer/caching.html).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence

import numpy as np

from racebot.errors import ModelError
from racebot.ratings.kernel import KernelModel, PastRace
from racebot.ratings.model import FloatArray, RatingModel

AVAILABLE = importlib.util.find_spec("numba") is not None
"""True if Numba is installed."""
LEAST_STARTS = 400_000
"""Starts from which one model is compiled, in half a minute. The default takes .1 ms a start without that."""


def replay(
    model: RatingModel, races: Sequence[PastRace], table: FloatArray, like: Sequence[PastRace] | None = None
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate races in order, and yield the states before and after each.

    Args:
        model: a model with single parameters, or with arrays of shape [candidates].
        races: the races, in the order to rate them.
        table: states of all players, shape [..., players, k]; updated in place, up to a block ahead.
        like: other races, if these are to be compiled just when a replay of the others is.
    """
    starts = sum(len(race.players) for race in like or races)
    enough = (table.ndim > 2 or starts >= LEAST_STARTS) and table.flags.c_contiguous
    if isinstance(model, KernelModel) and enough and AVAILABLE:
        from racebot.ratings import compiled  # noqa: PLC0415 - needs Numba

        yield from compiled.replay(model, races, table)
        return
    for race in races:
        before = table[..., race.players, :]
        after = model.rate(before, race.outcome)
        if np.shape(after) != before.shape:
            problem = (
                f"{model.key}: rate() returned shape {np.shape(after)} for states of shape {before.shape}"
            )
            raise ModelError(f"{problem}: return a row for each entrant")
        table[..., race.players, :] = after
        yield before, after
