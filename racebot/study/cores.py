"""Distribute independent calls over processor cores with joblib (https://joblib.readthedocs.io/).

Work is divided the same way wherever it runs, so results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import joblib

T = TypeVar("T")


def cores() -> AbstractContextManager[object]:
    """Run all `spread` calls inside the block in a process per core, or in `LOKY_MAX_CPU_COUNT` processes."""
    context: AbstractContextManager[object] = joblib.parallel_config(backend="loky", n_jobs=-1)
    return context


def spread(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Call a function with each tuple of arguments, and yield the results in order.

    Outside a `cores` block, the calls run one after another in this process.

    Args:
        function: a module-level function, so that other processes can import it.
        calls: the positional arguments of each call.
    """
    jobs = None if len(calls) > 1 else 1  # None: as many as the block has
    run = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from run(joblib.delayed(function)(*call) for call in calls)
