"""Distribute independent calls over processor cores or a Dask cluster, with joblib (https://joblib.readthedocs.io/).

Work is divided the same way wherever it runs, so results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from racebot.errors import MissingExtraError, SettingsError

T = TypeVar("T")


@contextmanager
def cores(jobs: int = -1, dask: str | None = None) -> Iterator[None]:
    """Run all `spread` calls inside the block on several cores, or on a cluster.

    Args:
        jobs: number of processes; -1 for one per core.
        dask: address of a Dask scheduler such as `tcp://10.0.0.1:8786`; overrides `jobs`.

    Raises:
        SettingsError: Dask is not installed, or the scheduler does not answer.
    """
    import joblib  # noqa: PLC0415 - takes 90 ms, and the worker does not need it

    if dask is None:
        with joblib.parallel_config(backend="loky", n_jobs=jobs):
            yield
        return
    try:
        import distributed  # noqa: PLC0415 - an extra of the package
    except ImportError:
        raise MissingExtraError("dask", "--dask needs Dask") from None
    try:
        connect: Any = distributed.Client  # it has no annotations
        client = connect(dask, timeout=10, set_as_default=True)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--dask {dask}: no scheduler answers ({error}): correct the address") from None
    with client, joblib.parallel_config(backend="dask", n_jobs=-1):
        yield


def in_parallel() -> bool:
    """Return True if `spread` uses other processes in this context."""
    import joblib  # noqa: PLC0415 - takes 90 ms, and the worker does not need it

    return bool(joblib.effective_n_jobs(joblib.Parallel().n_jobs) != 1)


def spread(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Call a function with each tuple of arguments, and yield the results in order.

    Outside a `cores` block, the calls run one after another in this process.

    Args:
        function: a module-level function, so that other processes can import it.
        calls: the positional arguments of each call.
    """
    if in_parallel() and len(calls) > 1:
        import joblib  # noqa: PLC0415

        yield from joblib.Parallel(return_as="generator")(joblib.delayed(function)(*call) for call in calls)
    else:
        yield from (function(*call) for call in calls)
