"""Simulate Windows on any system: no POSIX modules, no signal handlers, no file modes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from worker_support import PATIENCE

from racebot.bot import doctor
from racebot.cli import run

POSIX = ("curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
"""Modules that Python has on POSIX systems only: https://docs.python.org/3/py-modindex.html."""

IMPORT_EVERYTHING = f"""
import builtins, importlib, pkgutil
given = builtins.__import__

def refuse(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and name in {POSIX!r} and (globals or {{}}).get("__name__", "").startswith("racebot"):
        raise ModuleNotFoundError(name)
    return given(name, globals, locals, fromlist, level)

builtins.__import__ = refuse
import racebot
count = 0
for module in pkgutil.walk_packages(racebot.__path__, "racebot."):
    if module.name != "racebot.__main__":
        importlib.import_module(module.name)
        count += 1
print(count)
"""


def test_every_module_imports_without_posix_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    root = Path(__file__).parents[2] / "racebot"
    assert int(done.stdout) >= len([path for path in root.rglob("*.py") if path.name != "__main__.py"]) - 1


async def test_ctrl_c_stops_the_worker_if_the_loop_supports_no_signal_handlers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise NotImplementedError

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    stopped = asyncio.Event()
    monkeypatch.setattr(type(loop), "add_signal_handler", refuse)
    try:
        run.on_stop_signal(stopped.set)
        signal.raise_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_doctor_ignores_file_modes_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = tmp_path / ".env"
    env.touch(0o666)
    env.chmod(0o666)
    assert doctor.open_to_all(env)
    monkeypatch.setattr(sys, "platform", "win32")
    assert not doctor.open_to_all(env)
