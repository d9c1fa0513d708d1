"""Print `racebot.service` for the bot in the current folder: the systemd unit that keeps it running."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from racebot.cli.commands import app
from racebot.cli.common import load_settings
from racebot.errors import SettingsError
from racebot.settings.model import Settings
from racebot.settings.sources import secret_files

TEMPLATE = Path(__file__).with_name("racebot.service")
SYSTEM_ONLY = (
    *("User=", "Wants=", "After=", "# It needs", "ReadWritePaths=", "Protect", "Private"),
    *("Capability", "Ambient", "ProcSubset=", "RemoveIPC="),
)
"""Beginnings of the lines that only a system service can have: a user's cannot mount or await the network."""


@app.command()
def service(
    user: Annotated[bool, typer.Option("--user", help="Use your own account; needs no root rights.")] = False,
    account: Annotated[
        str | None,
        typer.Option(
            help="The account that a system service runs as. Default: the folder's owner; if that is root, "
            "`racebot`."
        ),
    ] = None,
) -> None:
    """Print a systemd unit that keeps the bot of this folder running, and the two commands that install it.

    The unit may write into the bot's own folders only.

    Example: racebot service
    """
    if sys.platform != "linux":
        raise SettingsError("only Linux has systemd: use launchd on macOS, or Task Scheduler on Windows")
    settings = load_settings()
    settings.required_categories()
    folder = Path.cwd()
    if not (folder / ".env").exists() and not settings.config.exists():
        raise SettingsError(f"{folder} has neither .env nor racebot.toml: run this in the bot's folder")
    owner = folder.owner()
    sys.stdout.write(_unit(settings, None if user else account or ("racebot" if owner == "root" else owner)))


def program() -> tuple[str, ...]:
    """Return the words that start racebot, with an absolute path."""
    path = Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()
    return (sys.executable, "-m", "racebot") if path.suffix == ".py" else (str(path),)


def _unit(settings: Settings, account: str | None) -> str:
    """Return the unit of a system service for an account, or of the user's own systemd for None."""
    folder, words = Path.cwd(), program()
    secrets = secret_files(folder)
    writable = [settings.database.parent, *([settings.pages_dir] if settings.pages_dir else [])]
    homes = any(str(path).startswith(("/home/", "/root")) for path in (folder, Path(words[0]).resolve()))
    lines = TEMPLATE.read_text(encoding="utf-8").splitlines(keepends=True)
    left_out = (*(() if account else SYSTEM_ONLY), *(() if secrets else ("LoadCredential=",)))
    return Template("".join(line for line in lines if not line.startswith(left_out))).substitute(
        account=account,
        folder=_escaped(str(folder)),
        command=shlex.join(words),
        program=" ".join(map(_word, words)),
        secret=_escaped(str(secrets[0])) if secrets else "",
        writable=" ".join(_word(str(folder / path)) for path in writable),
        home="read-only" if homes else "yes",
        target="multi-user.target" if account else "default.target",
        options="" if account else " --user",
        install="sudo tee /etc/systemd/system/racebot.service"
        if account
        else "install -D /dev/stdin ~/.config/systemd/user/racebot.service",
        enable=f"{'sudo systemctl' if account else 'systemctl --user'} enable --now racebot",
    )


def _escaped(text: str) -> str:
    """Escape systemd's specifiers. https://www.freedesktop.org/software/systemd/man/systemd.unit.html."""
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Quote a word of a list, such as a command line."""
    text = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"' if any(sign in text for sign in " \t\"'\\$;") else text
