"""Fixtures for all tests."""

import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from builders import Clock
from hypothesis import HealthCheck, settings
from worker_support import Sandbox, open_sandbox

from racebot.ledger.store import Ledger
from racebot.ratings import fast

if sys.dont_write_bytecode:  # the tests start many programs, which need not compile every library each time
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
for name in [name for name in os.environ if name.upper().startswith("RACEBOT_")]:
    del os.environ[name]  # a bot's settings must not reach the tests
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own there
runs = MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC  # some tests write programs
if runs and shutil.disk_usage(MEMORY).free > 2**30:
    # A small ledger takes 20 times longer on a disk. Only pytest's folders: Chromium's belong on a disk.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# A script's background job ignores SIGINT, and the programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
gc.set_threshold(100_000, 50, 50)  # looking for garbage takes a twentieth of the time
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # the studies of a test are too short to start processes for
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # and its matrices too small for a second thread
# Kernels take minutes to compile. tests/ratings/test_kernel.py compiles them.
fast.AVAILABLE = False
settings.register_profile(
    "tests",
    settings(),
    derandomize=True,  # the same examples in every run
    deadline=None,  # the machine may be busy
    suppress_health_check=[
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)
settings.register_profile("other-examples", settings.get_profile("tests"), derandomize=False)
settings.load_profile("tests")


def pytest_xdist_auto_num_workers() -> int:
    """Run one test more at a time than there are cores, since many wait for another process."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


LONG_FILES = ("test_every_page.py", "test_pages.py")
WAITING = ("faults", "cli", "project", "bot")  # folders with tests that wait for other programs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, and with those that wait, so that no core is idle meanwhile."""
    items.sort(key=lambda item: (item.path.name not in LONG_FILES, item.path.parent.name not in WAITING))


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Undo what a command that runs in this process does to logging."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger to copy, which takes a fifth of the time of making one."""
    path = tmp_path_factory.mktemp("empty") / "ledger.db"
    Ledger.open(path).close()
    return path


@pytest.fixture
def ledger(tmp_path: Path, empty_ledger: Path) -> Iterator[Ledger]:
    shutil.copyfile(empty_ledger, tmp_path / "ledger.db")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        yield ledger


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with open_sandbox(tmp_path) as made:
        yield made
