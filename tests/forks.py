"""Starts racebot as a process of its own, forked from a server that has loaded the libraries.

Loading them takes longer than most of these processes run.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Windows has none
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerContext, ForkServerProcess

LOADED = (
    "anyio._backends._asyncio",
    "anyio.lowlevel",
    "anyio.streams.tls",
    "apscheduler.executors.asyncio",
    "httpcore",
    "racebot.bot.worker",
    "racebot.ratings.models.thurstone_hurdle",
    "racebot.sandbox.server",
    "racebot.standings.backfill",
    "racebot.standings.improve",
    "racebot.web.export",
    "rich.console",
    "typer",
)
"""Modules that the server loads. None of `racebot.cli`, which looks at the environment and the terminal."""
PACE = 10
"""How many times as fast as the site a sandbox forgets the answers that it caches, and workers follow it."""
PAUSES = {
    "racebot.bot.live_writer": ("JOIN_WITHIN", "WRITE_EVERY"),
    "racebot.bot.failures": ("FIRST_PAUSE",),
    "racebot.bot.room.case": (
        "CERTAIN_AFTER",
        "READ_AFTER",
        "READ_PAUSE",
        "RETRY_PAUSE",
        "SITE_CACHE",
    ),
    "racebot.bot.room.connection": ("REFRESH_MISSED",),
    "racebot.bot.worker": ("REBUILDS_EVERY", "PAGES_EVERY", "PAGES_REST", "SEND_EVERY"),
}
"""The pauses of the worker that this shortens."""


def fork(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    output: Path,
    errors: Path,
    script: Path | None = None,
) -> ForkServerProcess:
    """Start `racebot` with arguments, and return once it has opened its output.

    Args:
        arguments: the command and its options.
        environment: all environment variables.
        folder: the current folder.
        output: the file that standard output is added to. If it is a terminal, the process runs in that
            terminal and reads from it; otherwise, standard input is empty.
        errors: the file that standard error is added to.
        script: a Python file to run in place of racebot.
    """
    waiting, given = multiprocessing.Pipe(duplex=False)
    target = (arguments, dict(environment), folder, (output, errors), script, given)
    process = _server().Process(target=_run, args=target)
    process.start()
    given.close()
    with waiting, suppress(EOFError):
        waiting.recv()  # the process only closes its end
    return process


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    return context


def _run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    streams: tuple[Path, Path],
    script: Path | None,
    waiting: Connection,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.setsid()  # the first terminal that it opens becomes its controlling terminal
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), number)
    os.dup2(1 if os.isatty(1) else os.open(os.devnull, os.O_RDONLY), 0)
    waiting.close()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the rest of the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.argv[1:] = arguments
    for module, names in PAUSES.items():
        for name in names:
            setattr(sys.modules[module], name, getattr(sys.modules[module], name) / PACE)
    if script is None:
        runpy.run_module("racebot", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(str(script), run_name="__main__")
