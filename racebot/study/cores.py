"""Distribute independent calls over processor cores or machines with joblib (https://joblib.readthedocs.io/).

Work is divided the same way wherever it runs, so results do not depend on the number of cores.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import joblib

from racebot import __version__
from racebot.errors import MissingExtraError, SettingsError

T = TypeVar("T")
_CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The scheduler of a block.

    Attributes:
        futures: what stands for the data that it has, by the `id` of the data.
        data: the data by the `id` of what stands for it.
    """

    client: Any
    futures: dict[int, Any] = field(default_factory=dict)
    data: dict[int, Any] = field(default_factory=dict)


_cluster: ContextVar[_Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def cores(cluster: str | None = None) -> Iterator[None]:
    """Run all `spread` calls inside the block in a process per core, or in `LOKY_MAX_CPU_COUNT` processes.

    Args:
        cluster: the address of a Dask scheduler whose workers are to run the calls instead.

    Raises:
        MissingExtraError: Dask is not installed.
        SettingsError: the scheduler cannot be reached or has no workers, all of them were lost, or one has
            other versions of what computes the results.
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
        client = Client(cluster, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--cluster {cluster}: {error}: start `dask scheduler`, or correct it") from None
    with client, joblib.parallel_config(backend="dask", client=client):
        token = _cluster.set(_Cluster(client))
        try:
            _check(cluster, client.run(versions, on_error="return"))
            yield
        except (CancelledError, KilledWorker):
            problem = "its workers were lost: start them again, with more memory if they ended by themselves"
            raise SettingsError(f"--cluster {cluster}: {problem}") from None
        finally:
            _cluster.reset(token)


def send_once(*data: object) -> None:
    """Send these arguments of the following `spread` calls to each worker of a cluster once."""
    cluster = _cluster.get()
    if cluster is None:
        return
    for each in data:
        if each is not None and id(each) not in cluster.futures:
            # As the result of a task, unlike scattered data, it is made again if its worker is lost.
            future = cluster.futures[id(each)] = cluster.client.submit(_same, each)
            cluster.data[id(future)] = each


def spread(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Call a function with each tuple of arguments, and yield the results in order.

    Outside a `cores` block, the calls run one after another in this process.

    Args:
        function: a module-level function, so that other processes can import it.
        calls: the positional arguments of each call.
    """
    jobs = None if len(calls) > 1 else 1  # None: as many as the block has
    run = joblib.Parallel(n_jobs=jobs, return_as="generator")
    cluster = _cluster.get()
    if cluster is not None:
        calls = [(function, *(cluster.futures.get(id(arg), arg) for arg in call)) for call in calls]
        function = _called
    yield from run(joblib.delayed(function)(*call) for call in calls)


def _same(value: T) -> T:
    return value


def _called(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a worker, which has the data, or here, where joblib leaves calls to one core."""
    cluster = _cluster.get()
    return function(*(cluster.data.get(id(each), each) if cluster else each for each in arguments))


def versions() -> str:
    """Return the versions of what computes the results of a study."""
    libraries = [name for name in ("numpy", "scipy", "numba") if importlib.util.find_spec(name)]
    return ", ".join([f"racebot {__version__}", *(f"{name} {version(name)}" for name in libraries)])


def _check(cluster: str, found: dict[str, Any]) -> None:
    """Refuse a cluster without workers, or with one whose results might differ."""
    if not found:
        raise SettingsError(f"--cluster {cluster}: no workers: start some with `dask worker {cluster}`")
    for worker, has in found.items():
        if has != versions():
            raise SettingsError(f"--cluster {cluster}: {worker} has {has}: install {versions()} there")
