"""The end of setup: how to start the bot, and how to keep it running."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from racebot.cli import service
from racebot.cli.setup.questions import agree, ask, listed, numbers, say
from racebot.ledger.lock import running
from racebot.settings.model import Settings


def show(settings: Settings, *, interactive: bool) -> None:
    """Say how to start the bot, and offer to keep it running.

    Args:
        settings: the settings that setup saved.
        interactive: whether to ask.
    """
    say()
    if running(settings.database):
        say("The bot is running. Restart it to use the new settings.", style="bold")
        return
    say("Everything is set up. Start the bot with", style="bold")
    say()
    say(f"    {_program()} run")
    say()
    say("It joins every race room of the category. Ctrl-C stops it.")
    if not interactive:
        return
    ways = {"Not now": _later}
    if sys.platform == "linux" and shutil.which("systemctl"):
        ways["As a systemd service"] = _systemd
    if shutil.which("docker"):
        ways["In Docker, with a Compose file"] = _compose
    if len(ways) == 1:
        return
    say()
    say("Should it keep running after you log out, and start with the server?")
    listed(list(ways))
    chosen = ask("Number", lambda answer: numbers(answer, len(ways))[:1], default="1")
    list(ways.values())[chosen[0] - 1]()


def _program() -> str:
    """Return how to call racebot from this folder."""
    program = Path(sys.argv[0])
    if program.suffix == ".py":
        return f"{sys.executable} -m racebot"
    if shutil.which(program.name) == str(program):
        return program.name
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def _later() -> None:
    say(f"Later, `{_program()} service install` does it.")


def _systemd() -> None:
    if os.geteuid() == 0:
        service.install(Path(), user=False)
    elif agree("Install it for your own account? Otherwise it needs root rights.", default=True):
        service.install(Path(), user=True)
    else:
        say(f"Run this: sudo {sys.argv[0]} service install")


def _compose() -> None:
    service.write_compose(Path())
