"""Starts the processes that help to render a large export.

A process takes half a second to import the program. A first export therefore starts its processes before it
imports the program itself, and this module imports little.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path

MANIFEST = ".racebot-pages"
"""Manifest of the last export: one line per group of files, with their paths and token."""


@contextmanager
def started_early(folder: Path, *, everything: bool) -> Generator[ProcessPoolExecutor | None]:
    """Start processes if an export to a folder will render every page. They end with the block."""
    others = (os.cpu_count() or 1) - 1
    if others and (everything or not (folder / MANIFEST).exists()):
        with started(others) as pool:
            yield pool
    else:
        yield None


def started(count: int) -> ProcessPoolExecutor:
    """Start processes that can run the functions of `racebot.web.export`."""
    # A fork server would make the first task wait until the server has imported that module.
    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin)
    for _ in range(count):
        pool.submit(int)  # the pool starts a process when a task finds none idle
    return pool


def _begin() -> None:
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    # When the work is done, end at once: freeing all objects one by one would take a tenth of a second.
    atexit.register(os._exit, 0)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    import_module("racebot.web.export")


def _exit_with_parent() -> None:
    """End this process when its parent dies, so that a killed export leaves no process behind."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
