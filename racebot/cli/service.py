"""`racebot service`: keep the bot running with systemd."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from dotenv import dotenv_values

from racebot.cli import accounts
from racebot.cli.commands import app
from racebot.cli.common import console, load_settings, tell
from racebot.cli.units import Place, unit
from racebot.errors import SettingsError
from racebot.settings.model import PREFIX, Settings
from racebot.settings.write import replace_file, write_env

SECRET = "client-secret"  # noqa: S105 - a file's name
SYSTEM_UNITS = Path("/etc/systemd/system")
BOOTED = Path("/run/systemd/system")
"""Exists while systemd runs: https://www.freedesktop.org/software/systemd/man/sd_booted.html."""


class ServiceAction(StrEnum):
    """The actions of `racebot service`."""

    INSTALL = "install"
    UNINSTALL = "uninstall"
    STATUS = "status"


@app.command()
def service(
    action: Annotated[ServiceAction, typer.Argument(help="What to do.")],
    user: Annotated[bool, typer.Option("--user", help="Use your own account; needs no root rights.")] = False,
    account: Annotated[
        str | None,
        typer.Option(
            help="The account that a system service runs as. Default: the folder's owner; if that is root, "
            "a new account `racebot`.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="The service's name.")] = "racebot",
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what would be done, and do nothing.")
    ] = False,
) -> None:
    """Start the bot with the server, and again if it fails: install a systemd unit for this folder.

    The unit gets the client secret as a systemd credential, and may write into the bot's own folders only.

    Example: racebot service install
    """
    _need_systemd()
    _check_name(name)
    if action is ServiceAction.INSTALL:
        install(Path(), name, user=user, account=account, print_only=print_only)
    elif action is ServiceAction.UNINSTALL:
        _uninstall(name, user=user, print_only=print_only)
    else:
        done = _systemctl("status", "--no-pager", name, user=user, check=False)
        raise typer.Exit(done)


def install(
    folder: Path, name: str = "racebot", *, user: bool, account: str | None = None, print_only: bool = False
) -> None:
    """Install and start a systemd service for the bot in a folder.

    Raises:
        SettingsError: the settings are incomplete, a right is missing, or systemd refuses.
    """
    folder = folder.absolute()
    settings = _settings_in(folder)
    if not user and not print_only and os.geteuid() != 0:
        raise SettingsError(
            f"a system service needs root rights: run `sudo {sys.argv[0]} service install`, or install one "
            "for your account with `racebot service install --user`"
        )
    account = "" if user else account or accounts.owner_for_service(folder)
    place = place_of(folder, settings, account)
    unit_file = _unit_file(name, user=user)
    do = _Steps(print_only)
    if account and not accounts.exists(account):
        do(f"create the system account {account}", lambda: accounts.create_account(account, folder))
    if place.secret is not None and settings_have_secret(folder):
        do(f"move the client secret from .env to {place.secret}", lambda: move_secret(folder, settings))
    for path in place.writable:
        do(
            f"create {path}" + (f" for {account}" if account else ""),
            partial(accounts.give, path, account, public=path != folder / settings.database.parent),
        )
    if account:
        read = [path for path in (folder / ".env", settings.config.absolute()) if path.exists()]
        for path in [*read, *([place.secret] if place.secret else [])]:
            do(f"let {account} read {path}", partial(accounts.let_read, path, account))
        do(
            f"check that {account} can run {place.program[0]}",
            lambda: accounts.check_reachable(Path(place.program[0]), account),
        )
    do(f"write {unit_file}", lambda: _write(unit_file, unit(place)))
    if print_only:
        console.print()
        console.print(unit(place), markup=False, soft_wrap=True, end="")
        console.print()
    do("let systemd read it", lambda: _systemctl("daemon-reload", user=user))
    do(f"start {name} now and with the server", lambda: _systemctl("enable", "--now", name, user=user))
    if user:
        do("keep it running after you log out", _linger)
    if not print_only:
        log = f"journalctl {'--user ' if user else ''}--unit {name} --follow"
        tell(f"The bot is running. Its log: {log}")
        if account and account != accounts.me():
            tell(f"Run other commands as its account: sudo -u {account} {place.program[0]} status")


def _settings_in(folder: Path) -> Settings:
    """Return the settings of a folder, complete for `racebot run`.

    Raises:
        SettingsError: they are incomplete, or not in files of this folder.
    """
    settings = load_settings()
    settings.required_categories()
    if not (folder / ".env").exists() and not settings.config.exists():
        raise SettingsError(f"{folder} has neither .env nor racebot.toml: run this in the bot's folder")
    return settings


def place_of(folder: Path, settings: Settings, account: str) -> Place:
    """Return where the bot lives that these settings describe."""
    program = Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()
    words = (sys.executable, "-m", "racebot") if program.suffix == ".py" else (str(program),)
    writable = [folder / settings.database.parent]
    if settings.pages_dir is not None:
        writable.append(folder / settings.pages_dir)
    homes = any(
        path.is_relative_to(home)
        for path in (folder, Path(words[0]), Path(words[0]).resolve())
        for home in (Path("/home"), Path("/root"))
    )
    kept = None if settings.categories else _secret_file(folder)
    outermost = [p for p in writable if not any(p != o and p.is_relative_to(o) for o in writable)]
    return Place(folder, words, tuple(dict.fromkeys(outermost)), account, kept, homes)


def settings_have_secret(folder: Path) -> bool:
    """Return whether `.env` has the secret itself, not the path of a separate file."""
    return bool(_in_env(folder).get(f"{PREFIX}CLIENT_SECRET"))


def move_secret(folder: Path, settings: Settings) -> None:
    """Move the client secret from `.env` into a separate file, which `.env` then names."""
    assert settings.client_secret is not None  # noqa: S101 - checked by `required_categories`
    _write(folder / SECRET, settings.client_secret.get_secret_value() + "\n", 0o600)
    write_env(folder / ".env", {f"{PREFIX}CLIENT_SECRET": None, f"{PREFIX}CLIENT_SECRET_FILE": SECRET})


def _secret_file(folder: Path) -> Path | None:
    """Return the file that holds the secret, or will hold it. None if `.env` has no secret."""
    values = _in_env(folder)
    if kept := values.get(f"{PREFIX}CLIENT_SECRET_FILE"):
        return folder / kept
    return folder / SECRET if values.get(f"{PREFIX}CLIENT_SECRET") else None


def _in_env(folder: Path) -> dict[str, str | None]:
    return dotenv_values(folder / ".env", encoding="utf-8")


def _uninstall(name: str, *, user: bool, print_only: bool) -> None:
    unit_file = _unit_file(name, user=user)
    if not unit_file.exists():
        raise SettingsError(f"{unit_file}: no such service: nothing to uninstall")
    do = _Steps(print_only)
    do(f"stop {name}, and do not start it again", lambda: _systemctl("disable", "--now", name, user=user))
    do(f"delete {unit_file}", unit_file.unlink)
    do("let systemd forget it", lambda: _systemctl("daemon-reload", user=user))
    tell("Settings and ratings are kept.")


class _Steps:
    """Prints each step, and then takes it, unless it should only print."""

    def __init__(self, print_only: bool) -> None:
        self._print_only = print_only

    def __call__(self, what: str, do: Callable[[], object]) -> None:
        tell(f"- {what}")
        if not self._print_only:
            try:
                do()
            except OSError as error:
                raise SettingsError(f"cannot {what}: {error.strerror}") from None


def _unit_file(name: str, *, user: bool) -> Path:
    if not user:
        return SYSTEM_UNITS / f"{name}.service"
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / f"{name}.service"


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)
    path.chmod(mode)


def _systemctl(*words: str, user: bool, check: bool = True) -> int:
    return _call(["systemctl", *(["--user"] if user else []), *words], check=check)


def _linger() -> None:
    if _call(["loginctl", "enable-linger", getpass.getuser()], check=False):
        tell(f"  It stops when you log out. To change that: sudo loginctl enable-linger {getpass.getuser()}")


def _call(command: Sequence[str], *, check: bool = True) -> int:
    done = subprocess.run(command, check=False)  # noqa: S603 - no shell, and no text from users
    if check and done.returncode:
        raise SettingsError(f"`{' '.join(command)}` failed with exit code {done.returncode}: see above")
    return done.returncode


def systemd_runs() -> bool:
    """Return whether systemd runs on this system. In a container, it may be installed without running."""
    return sys.platform == "linux" and BOOTED.is_dir() and shutil.which("systemctl") is not None


def _need_systemd() -> None:
    if not systemd_runs():
        raise SettingsError(
            "systemd does not run on this system: start `racebot run` with the system's own tool, such as "
            "Task Scheduler on Windows, launchd on macOS, or a container's command"
        )


def _check_name(name: str) -> None:
    if not name or not all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in name):
        raise SettingsError(f"--name {name}: use letters, digits, - and _ only")
