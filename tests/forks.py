"""Starts racebot as a process of its own, forked from a server that has loaded the libraries.

Loading them takes longer than most of these processes run.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import reduction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Windows has none
    from multiprocessing.context import ForkServerContext, ForkServerProcess

LOADED = (
    "anyio.lowlevel",
    "anyio.streams.tls",
    "apscheduler.executors.asyncio",
    "httpcore",
    "racebot.bot.doctor",
    "racebot.bot.worker",
    "racebot.ratings.models.thurstone_hurdle",
    "racebot.sandbox.server",
    "racebot.standings.backfill",
    "racebot.web.export",
    "rich.console",
    "typer",
)
"""Modules that the server loads. None of `racebot.cli`, which looks at the environment and the terminal."""


def fork(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    output: int,
    errors: int,
    script: Path | None = None,
) -> ForkServerProcess:
    """Start `racebot` with arguments.

    Args:
        arguments: the command and its options.
        environment: all environment variables.
        folder: the current folder.
        output: the file descriptor of standard output. If it is a terminal, the process runs in that
            terminal and reads from it; otherwise, standard input is empty.
        errors: the file descriptor of standard error.
        script: a Python file to run in place of racebot.
    """
    streams = reduction.DupFd(output), reduction.DupFd(errors)
    process = _server().Process(target=_run, args=(arguments, dict(environment), folder, streams, script))
    process.start()
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
    streams: tuple[Any, Any],
    script: Path | None,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream.detach(), number)
    if os.isatty(1):
        os.setsid()
        os.dup2(os.open(os.ttyname(1), os.O_RDWR), 0)  # makes it the controlling terminal
    else:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the rest of the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.argv[1:] = arguments
    if script is None:
        runpy.run_module("racebot", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(str(script), run_name="__main__")
