"""Check the setup. As JSON, to attach to an issue: no secret is in it."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated, Any

import typer
from dotenv import dotenv_values

from racebot import __version__
from racebot.bot import doctor as examination
from racebot.bot.doctor import Finding
from racebot.cli.commands import app
from racebot.cli.common import console, load_settings, print_json, tell
from racebot.errors import SettingsError
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import secret_files
from racebot.telemetry.logs import Redactor

COLORS = {"ok": "green", "note": "yellow", "wrong": "red"}
LOG_LINES = 500
"""Most lines of the log."""


@app.command()
def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print versions and settings, too, as JSON to attach to an issue.")
    ] = False,
    log: Annotated[
        typer.FileText | None,
        typer.Option(
            encoding="utf-8",
            errors="replace",
            help="With --json: a file with the bot's log, to add its end; - reads standard input.",
        ),
    ] = None,
) -> None:
    """Check settings, credentials, category, goals and database, and say how to fix any problem.

    JSON has no secrets, account names or queries of addresses. Look through it before you attach it.

    Example: racebot doctor
    """
    settings: Settings | None = None
    findings: list[Finding] = []

    async def examine(settings: Settings) -> None:
        async for finding in examination.examine(settings):
            findings.append(finding)
            if not as_json:
                mark = "wrong" if not finding.good else "note" if finding.note else "ok"
                console.print(f"{mark:5}", style=COLORS[mark], end=" ")
                tell(finding.text)

    try:
        settings = load_settings()
    except SettingsError as error:
        if not as_json:
            raise
        findings += [Finding(False, problem) for problem in error.problems]
    else:
        asyncio.run(examine(settings))
    if as_json:
        print_json(
            {
                "versions": {
                    "racebot": __version__,
                    "python": platform.python_version(),
                    "system": platform.platform(),
                    "sqlite": sqlite3.sqlite_version,
                    "packages": {each.name: each.version for each in distributions()},
                },
                **_without_secrets(settings, findings, log),
            }
        )
    if not all(finding.good for finding in findings):
        raise typer.Exit(2)


def _without_secrets(
    settings: Settings | None, findings: list[Finding], log: typer.FileText | None
) -> dict[str, Any]:
    """Return settings, findings and the end of a log, redacted."""
    redact = Redactor(_secrets(Path()))
    hidden: Any = dict.fromkeys(("client_id", "client_secret"), True)
    excluded = {**hidden, "categories": {"__all__": hidden}}
    found: dict[str, Any] = {
        "settings": settings and settings.model_dump(mode="json", exclude_unset=True, exclude=excluded),
        "findings": [{"good": each.good, "text": each.text} for each in findings],
    }
    if log is not None:
        found["log"] = [redact(line) for line in log.read().splitlines()[-LOG_LINES:]]

    def redacted(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: redacted(each) for name, each in value.items()}
        if isinstance(value, list):
            return [redacted(each) for each in value]
        return redact(value) if isinstance(value, str) else value

    return {name: redacted(part) for name, part in found.items()}


def _secrets(folder: Path) -> Iterator[str]:
    """Yield every secret of the settings, even if they cannot be loaded."""
    texts = [text for name, text in os.environ.items() if name.startswith(PREFIX)]
    for path in (folder / ".env", folder / (os.environ.get(f"{PREFIX}CONFIG") or "racebot.toml")):
        with suppress(OSError):
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
    with suppress(SettingsError, ValueError):  # `.env` is damaged
        variables = {**dotenv_values(folder / ".env", encoding="utf-8"), **os.environ}
        for name in ("CLIENT_SECRET", "DISCORD_WEBHOOK"):
            yield variables.get(f"{PREFIX}{name}") or ""
        for path in secret_files(folder):
            with suppress(OSError):
                yield path.read_text(encoding="utf-8", errors="replace").strip()
    for text in texts:  # tables of racebot.toml, and the same as JSON
        for found in re.finditer(r"""(?:client_secret|discord)["']?\s*[=:]\s*(["'])(.*?)(?<!\\)\1""", text):
            yield found[2]
