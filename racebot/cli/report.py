"""`racebot report`: a bundle without secrets to attach to an issue."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer
from dotenv import dotenv_values

from racebot import __version__
from racebot.bot import doctor as examination
from racebot.bot.heartbeat import utc_now
from racebot.bot.status import status
from racebot.cli.commands import app
from racebot.cli.common import tell
from racebot.errors import RacebotError, SettingsError
from racebot.ledger.store import Ledger
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import load
from racebot.telemetry import logs
from racebot.telemetry.installation import NAME, origin
from racebot.telemetry.redact import Redactor
from racebot.text.format import to_json
from racebot.text.safe import printable

LOG_LINES = 500
"""Most lines of the log."""
LONGEST_LOG_LINE = 2_000
"""Characters of a log line that are kept."""
TEXT_FILE = 1_000_000
"""Most bytes to read at the end of a log."""
SHOWN = {"client_id": "set", "client_secret": "set"}
"""Text in place of a value, by setting."""


@app.command()
def report(
    output: Annotated[
        Path | None,
        typer.Option(help="The file to write. Default: racebot-report-TIME.zip here.", show_default=False),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="A file with the bot's log; - reads standard input. Default: systemd's journal."),
    ] = None,
    unit: Annotated[str, typer.Option(help="The name of the systemd service.")] = "racebot",
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the site.")] = False,
) -> None:
    """Write a bundle to attach to an issue: versions, settings, health, log. Secrets are removed.

    Example: racebot report
    """
    logs.to_stderr("error")
    redact = Redactor(_secrets(Path()))
    settings, problems = _settings()
    parts: dict[str, Callable[[], str]] = {
        "versions.txt": _versions,
        "settings.txt": lambda: redact(_settings_text(settings, problems)),
        "log.txt": lambda: _log(log, unit, redact),
    }
    if settings is not None:
        parts["status.json"] = lambda: redact(_status(settings))
        parts["integrity.txt"] = lambda: redact(_integrity(settings))
        if not offline:
            parts["doctor.txt"] = lambda: redact(asyncio.run(_doctor(settings)))
    target = output or Path(f"racebot-report-{utc_now():%Y%m%dT%H%M%SZ}.zip")
    try:
        handle = os.open(target, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, make in parts.items():
                bundle.writestr(name, _attempt(make, redact))
    except OSError as error:
        raise SettingsError(f"{target}: {error.strerror}: choose another place with --output") from None
    tell(f"written: {target} ({', '.join(parts)})")
    tell("Secrets, account names and addresses' queries are removed. Look through it before you attach it.")


def _attempt(make: Callable[[], str], redact: Redactor) -> str:
    """Return a part of the bundle, or the error. People write reports when something is broken."""
    try:
        return make()
    except Exception as error:
        return redact(f"could not be made: {type(error).__name__}: {error}\n")


def _settings() -> tuple[Settings | None, tuple[str, ...]]:
    try:
        return load(), ()
    except SettingsError as error:
        return None, error.problems


def _secrets(folder: Path) -> Iterator[str]:
    """Yield every secret of the settings, even if they cannot be loaded."""
    env = folder / ".env"
    sources: list[dict[str, str | None]] = [dict(os.environ)]
    raw = [text for name, text in os.environ.items() if name.upper().startswith(PREFIX)]
    for path in (env, folder / (os.environ.get(f"{PREFIX}CONFIG") or "racebot.toml")):
        try:
            raw.append(path.read_text(encoding="utf-8", errors="replace"))
            if path == env:
                sources.append(dict(dotenv_values(path, encoding="utf-8")))
        except (OSError, ValueError):
            continue
    for source in sources:
        named = {name.upper(): text for name, text in source.items() if text}
        yield named.get(f"{PREFIX}CLIENT_SECRET", "")
        if kept := named.get(f"{PREFIX}CLIENT_SECRET_FILE"):
            yield _content(folder / kept)
    if credentials := os.environ.get("CREDENTIALS_DIRECTORY"):
        yield _content(Path(credentials) / "client_secret")
    for text in raw:  # tables of racebot.toml, and the same as JSON
        for found in re.finditer(r"""client_secret["']?\s*[=:]\s*(["'])(.*?)(?<!\\)\1""", text):
            yield found[2]


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _versions() -> str:
    source = origin()
    lines = [
        f"racebot {__version__}",
        f"commit {source.commit}" if source.commit else "",
        f"installed from {'a source folder' if source.folder else 'Git' if source.commit else 'a package'}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"SQLite {sqlite3.sqlite_version}",
        "",
    ]
    try:
        listed = [each for each in requires(NAME) or () if not re.search(r"extra == .dev.", each)]
        needed = {re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in listed}
    except PackageNotFoundError:
        needed = set()
    for name in sorted(needed):
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return "".join(f"{line}\n" for line in lines)


def _settings_text(settings: Settings | None, problems: tuple[str, ...]) -> str:
    if settings is None:
        return "".join(f"problem: {line}\n" for line in problems)
    lines = []
    for name in sorted(settings.model_fields_set):
        value = getattr(settings, name)
        if name == "categories":
            shown = "; ".join(f"{each.slug}: {', '.join(each.goals) or 'all goals'}" for each in value)
        else:
            shown = SHOWN.get(name) or to_json(settings.model_dump(mode="json", include={name})[name])
        lines.append(f"{name} = {printable(shown)}\n")
    return "".join(lines) or "all settings have their defaults\n"


async def _doctor(settings: Settings) -> str:
    return "".join(
        [
            f"{'ok   ' if finding.good else 'wrong'} {finding.text}\n"
            async for finding in examination.examine(settings)
        ]
    )


def _status(settings: Settings) -> str:
    with Ledger.open_to_read(settings.database) as ledger:
        found = status(
            ledger,
            settings.slugs(),
            rooms_every=settings.rooms_every,
            now=utc_now(),
            plans=settings.plans(),
        )
    return to_json(found, indent=2) + "\n"


def _integrity(settings: Settings) -> str:
    with Ledger.open_to_read(settings.database) as ledger:
        return "".join(f"{line}\n" for line in ledger.check()) or "SQLite finds no problem\n"


def _log(path: Path | None, unit: str, redact: Redactor) -> str:
    """Return the last lines of the log, without secrets.

    Raises:
        RacebotError: there is none.
    """
    if path is not None and str(path) != "-":
        with path.open("rb") as file:
            begin = max(0, path.stat().st_size - TEXT_FILE)
            file.seek(begin)
            if begin:
                file.readline()  # half of a line may hold half of a secret
            text = file.read().decode(errors="replace")
    elif path is not None:
        text = sys.stdin.read()
    elif journal := shutil.which("journalctl"):
        command = [journal, "--unit", unit, "--lines", str(LOG_LINES), "--no-pager", "--quiet"]
        done = subprocess.run(  # noqa: S603 - no shell, and no text from users
            command, capture_output=True, text=True, errors="replace", check=False, timeout=30
        )
        text = done.stdout or done.stderr
    else:
        raise RacebotError("no log: name its file with --log")
    lines = [redact(printable(line))[:LONGEST_LOG_LINE] for line in text.splitlines()[-LOG_LINES:]]
    return "".join(f"{line}\n" for line in lines) or "the log is empty\n"
