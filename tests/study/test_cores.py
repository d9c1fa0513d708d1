"""Studies give the same result to the last digit on one process and on several."""

import os
import signal
from collections.abc import Callable

import pytest

from racebot.errors import SettingsError
from racebot.study.cores import cores, spread
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.tuning import TOGETHER, Effort, Tuned, tune

ENTRIES = [Entry("multi", "multielo"), Entry("pairs", "pairwise-elo")]
"""Models without compiled kernels, which would take half a minute in each process."""


def tuned(season: History, after: Callable[[int, float], None] = lambda generation, best: None) -> Tuned:
    """Search more candidates than are replayed at once, and call a function after each generation."""
    part, _ = season.split(0.3)
    effort = Effort(2 * TOGETHER, 2)
    return tune(part, "pairwise-elo", search=["rates"], effort=effort, progress=after)


def evaluated(season: History) -> str:
    """Return every figure, with all its digits."""
    part, _ = season.split(0.3)
    report = evaluate([part], ENTRIES)[0]
    figures = [
        (each.views, each.complaints, [bins.tolist() for bins in each.reliability])
        for each in report.evaluations
    ]
    return repr((figures, report.comparisons))


@pytest.fixture(scope="session")
def alone(season: History) -> tuple[Tuned, str]:
    assert set(spread(os.getpid, [()] * 4)) == {os.getpid()}
    return tuned(season), evaluated(season)


def test_calls_outside_a_block_run_in_order_in_this_process() -> None:
    assert list(spread(divmod, [(7, 2), (9, 4)])) == [(3, 1), (2, 1)]


def test_two_processes_give_the_same_result(season: History, alone: tuple[Tuned, str], monkeypatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    with cores():
        assert os.getpid() not in spread(os.getpid, [()] * 4)
        assert tuned(season) == alone[0]
        assert evaluated(season) == alone[1]


@pytest.mark.long
def test_a_cluster_gives_the_same_result_though_a_worker_is_killed(season, alone: tuple[Tuned, str]) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        first = cluster.workers[0].pid
        with cores(cluster.scheduler_address):
            assert os.getpid() not in spread(os.getpid, [()] * 4)
            killed = tuned(
                season, lambda generation, _: os.kill(first, signal.SIGKILL) if generation == 1 else None
            )
            assert (killed, evaluated(season)) == alone
        with pytest.raises(SettingsError, match="workers were lost"), cores(cluster.scheduler_address):
            raise distributed.KilledWorker("call", cluster.scheduler_info["workers"], 3)


@pytest.mark.parametrize(
    ("address", "words"), [("nonsense", "missing port"), ("tcp://127.0.0.1:{}", "Timed out")]
)
def test_a_cluster_that_cannot_be_used_is_refused_in_one_line(
    address: str, words: str, unused_tcp_port: int, monkeypatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("racebot.study.cores.CONNECT_SECONDS", 0.2)
    with pytest.raises(SettingsError, match=words) as refused, cores(address.format(unused_tcp_port)):
        pass
    assert "\n" not in str(refused.value)
