"""Studies give the same result to the last digit on one process and on several."""

import os

import pytest

from racebot.study.cores import cores, spread
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.tuning import TOGETHER, Effort, Tuned, tune

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
