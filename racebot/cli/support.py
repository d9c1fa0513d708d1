"""What `racebot doctor --json` prints, to attach to an issue: no secret is in it."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from racebot import __version__
from racebot.bot.doctor import Finding
from racebot.errors import SettingsError
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import secret_files
from racebot.telemetry.redact import Redactor

LOG_LINES = 500
"""Most lines of the log."""
LONGEST_LOG_LINE = 2_000
"""Characters of a log line that are kept."""


def document(settings: Settings | None, findings: Sequence[Finding], log: Path | None) -> dict[str, Any]:
    """Return versions, settings, findings and the end of a log, `-` being standard input, without secrets."""
    redact = Redactor(_secrets(Path()))
    hidden: Any = dict.fromkeys(("client_id", "client_secret"), True)
    found: dict[str, Any] = {
        "versions": {
            "racebot": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "sqlite": sqlite3.sqlite_version,
            "packages": {each.name: each.version for each in distributions()},
        },
        "settings": settings
        and settings.model_dump(
            mode="json", exclude_unset=True, exclude={**hidden, "categories": {"__all__": hidden}}
        ),
        "findings": [{"good": each.good, "text": each.text} for each in findings],
    }
    if log is not None:
        lines = [redact(line)[:LONGEST_LOG_LINE] for line in _read(log).splitlines()[-LOG_LINES:]]
        found["log"] = lines
    return {name: part if name == "versions" else _redacted(part, redact) for name, part in found.items()}


def _read(log: Path) -> str:
    if str(log) == "-":
        return sys.stdin.read()
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SettingsError(f"--log {log}: {error.strerror}: correct the path") from None


def _redacted(value: Any, redact: Redactor) -> Any:
    """Return a JSON value with all its texts redacted."""
    if isinstance(value, dict):
        return {name: _redacted(each, redact) for name, each in value.items()}
    if isinstance(value, list):
        return [_redacted(each, redact) for each in value]
    return redact(value) if isinstance(value, str) else value


def _secrets(folder: Path) -> Iterator[str]:
    """Yield every secret of the settings, even if they cannot be loaded."""
    texts = [text for name, text in os.environ.items() if name.startswith(PREFIX)]
    for path in (folder / ".env", folder / (os.environ.get(f"{PREFIX}CONFIG") or "racebot.toml")):
        with suppress(OSError):
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
    with suppress(SettingsError, ValueError):  # `.env` is damaged
        variables = {**dotenv_values(folder / ".env", encoding="utf-8"), **os.environ}
        yield variables.get(f"{PREFIX}CLIENT_SECRET") or ""
        for path in secret_files(folder):
            with suppress(OSError):
                yield path.read_text(encoding="utf-8", errors="replace").strip()
    for text in texts:  # tables of racebot.toml, and the same as JSON
        for found in re.finditer(r"""client_secret["']?\s*[=:]\s*(["'])(.*?)(?<!\\)\1""", text):
            yield found[2]
