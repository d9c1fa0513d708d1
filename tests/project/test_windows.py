"""Simulate Windows on any system: no POSIX modules, no signal handlers."""

import asyncio
import re
import signal
from pathlib import Path
from unittest.mock import Mock

from worker_support import PATIENCE

from racebot.cli import run

POSIX = "curses|fcntl|grp|posix|pty|pwd|readline|resource|syslog|termios|tty"
"""Modules that Python has on POSIX systems only: https://docs.python.org/3/py-modindex.html."""


def test_no_module_imports_a_posix_module() -> None:
    for path in (Path(__file__).parents[2] / "racebot").rglob("*.py"):
        assert not re.search(rf"^(import|from) ({POSIX})\b", path.read_text("utf-8"), re.MULTILINE), path


async def test_ctrl_c_stops_the_worker_if_the_loop_supports_no_signal_handlers(monkeypatch) -> None:
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    stopped = asyncio.Event()
    monkeypatch.setattr(type(loop), "add_signal_handler", Mock(side_effect=NotImplementedError))
    try:
        run.on_stop_signal(stopped.set)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(stopped.wait(), PATIENCE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
