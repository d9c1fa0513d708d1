"""Consoles, options, settings and output that the commands share."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from racebot.errors import NoSuchEntryError, SettingsError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.settings import sources
from racebot.settings.model import Settings
from racebot.telemetry import logs
from racebot.text.format import to_json
from racebot.text.safe import printable

console = Console(emoji=False, highlight=False)
notices = Console(stderr=True, emoji=False, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def load_settings(**overrides: Any) -> Settings:
    """Load the settings and set up logging to standard error."""
    settings = sources.load(**overrides)
    logs.to_stderr(settings.log_level, settings.log_format)
    return settings


@contextmanager
def open_ledger(database: Path | None) -> Generator[tuple[Settings, Ledger]]:
    """Load the settings and open their existing ledger, or the one of `--database`."""
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        yield settings, ledger


def chosen_boards(ledger: Ledger, name: str | None) -> list[Leaderboard]:
    """Return the leaderboards with a name, ignoring case, or all of them for None.

    Raises:
        NoSuchEntryError: no leaderboard has that name.
    """
    boards = ledger.leaderboards()
    if name is None:
        return boards
    chosen = [board for board in boards if board.name.lower() == name.lower()]
    if not chosen:
        names = ", ".join(board.name for board in boards) or "none yet"
        raise NoSuchEntryError(f"no leaderboard {name!r} in the ledger. It has: {names}")
    return chosen


def cannot_listen(port: int, error: OSError) -> SettingsError:
    """Return an error that says why a server cannot use a port."""
    taken = error.errno == errno.EADDRINUSE
    reason = "another program uses it" if taken else error.strerror
    return SettingsError(f"port {port}: {reason}: choose another with --port")


def tell(text: str, *, to: Console | None = None) -> None:
    """Print a line without interpreting markup, and without terminal control characters."""
    (to or console).print(printable(text), markup=False, soft_wrap=True)


def print_json(document: Any) -> None:
    """Print a value as JSON, with invisible characters escaped."""
    text = to_json(document, indent=2)
    seen = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write("".join(seen) + "\n")
    sys.stdout.flush()  # an error is reported here, not when Python ends


def utc(moment: datetime | None) -> datetime | None:
    """Return a moment with UTC as its time zone, unless it has one."""
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)
