"""The end of setup: how to start the bot, and how to keep it running."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from racebot.cli import service
from racebot.cli.setup.questions import agree, say
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
    say("It joins every race room of the category. Ctrl-C stops it. docs/operating.md has the rest.")
    if not interactive or not service.systemd_runs():
        return
    say()
    say("A systemd service starts it with the server, and keeps it running after you log out.")
    if agree("Install one now?", default=False):
        _install_service()
    else:
        say(f"Later, `{_program()} service install` does it.")


def _program() -> str:
    """Return how to call racebot from this folder."""
    program = Path(sys.argv[0])
    if program.suffix == ".py":
        return f"{sys.executable} -m racebot"
    if shutil.which(program.name) == str(program):
        return program.name
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def _install_service() -> None:
    if os.geteuid() == 0:
        service.install(Path(), user=False)
    elif agree("Install it for your own account? Otherwise it needs root rights.", default=True):
        service.install(Path(), user=True)
    else:
        say(f"Run this: sudo {sys.argv[0]} service install")
