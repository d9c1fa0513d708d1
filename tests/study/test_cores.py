"""Studies give the same result to the last digit on one process, on several, and on a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from racebot.errors import SettingsError
from racebot.study.cores import cores, in_parallel, spread
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.search import TOGETHER, Effort
from racebot.study.tuning import Tuned, tune

ENTRIES = [Entry("multi", "multielo"), Entry("pairs", "pairwise-elo")]
"""Models without compiled kernels, which would take half a minute in each process."""


def tuned(season: History) -> Tuned:
    """Search more candidates than are replayed at once."""
    part, _ = season.split(0.3)
    return tune(part, "pairwise-elo", search=["rates"], effort=Effort(2 * TOGETHER, 1))


def evaluated(season: History) -> str:
    """Return every figure, with all its digits."""
    part, _ = season.split(0.3)
    report = evaluate(part, ENTRIES)
    figures = [
        (each.views, each.known, each.complaints, [bins.tolist() for bins in each.reliability])
        for each in report.evaluations
    ]
    return repr((figures, report.comparisons))


@pytest.fixture(scope="session")
def alone(season: History) -> tuple[Tuned, str]:
    assert not in_parallel()
    return tuned(season), evaluated(season)


def test_calls_outside_a_block_run_in_order_in_this_process() -> None:
    assert list(spread(divmod, [(7, 2), (9, 4)])) == [(3, 1), (2, 1)]


def test_two_processes_give_the_same_result(
    season: History, alone: tuple[Tuned, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    with cores(2):
        assert in_parallel()
        assert tuned(season) == alone[0]
        assert evaluated(season) == alone[1]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Start a cluster of two workers in threads of this process, and return its address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("default")
def test_a_cluster_gives_the_same_result(season: History, alone: tuple[Tuned, str], scheduler: str) -> None:
    with cores(dask=scheduler):
        assert in_parallel()
        assert tuned(season) == alone[0]
        assert evaluated(season) == alone[1]


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_an_address_without_a_scheduler_is_refused() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="no scheduler answers"), cores(dask="tcp://127.0.0.1:9"):
        pass
