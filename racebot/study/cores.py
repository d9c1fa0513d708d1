"""Distribute independent calls over processor cores with joblib, or over machines with Dask.

Work is divided the same way wherever it runs, so results do not depend on the number of cores.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import cache
from typing import Any, TypeVar

import joblib

from racebot.errors import MissingExtraError, SettingsError
from racebot.study.history import Earlier, History

T = TypeVar("T")
CONNECT_SECONDS = 10
COMPUTES = ["racebot", "numpy", "scipy", "numba"]
"""Packages whose versions can change the last bits of a result."""
_submit: ContextVar[Callable[..., Any] | None] = ContextVar("submit", default=None)


@contextmanager
def cores(cluster: str | None = None) -> Iterator[None]:
    """Run `spread` calls inside the block in a process per core, or on the Dask scheduler of this address.

    Raise a SettingsError if it cannot be reached, has lost its workers, or has one with other versions.
    """
    if cluster is None:
        with joblib.parallel_config(backend="loky", n_jobs=-1):
            yield
        return
    try:
        from distributed import Client, KilledWorker  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        raise MissingExtraError("cluster", "a cluster needs Dask") from None
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        client.get_versions(check=True, packages=COMPUTES)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--cluster {cluster}: {error}") from None

    @cache
    def sent(races: History | Earlier) -> Any:
        # As the result of a task, unlike scattered data, it is made again if a worker is lost.
        return client.submit(copy, races)

    def submit(function: Callable[..., T], *call: Any) -> Any:
        given = (sent(each) if isinstance(each, History | Earlier) else each for each in call)
        return client.submit(function, *given, pure=False)

    token = _submit.set(submit)
    try:
        with client:
            yield
    except (CancelledError, KilledWorker):
        raise SettingsError(f"--cluster {cluster}: its workers were lost: start them again") from None
    finally:
        _submit.reset(token)


def spread(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Call a function of a module with each tuple of arguments, and yield the results in order.

    Outside a `cores` block, the calls run one after another in this process. Races go to a worker once.
    """
    submit = _submit.get()
    if submit is not None:
        futures = [submit(function, *call) for call in calls]
        yield from (future.result() for future in futures)
        return
    jobs = None if len(calls) > 1 else 1  # None: as many as the block has
    run = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from run(joblib.delayed(function)(*call) for call in calls)
