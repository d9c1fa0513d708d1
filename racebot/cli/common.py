"""The Typer application with its consoles, shared options and error output."""

from __future__ import annotations

import io
import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import stamina.instrumentation
import typer
from rich.console import Console

from racebot import __version__
from racebot.errors import (
    CredentialsError,
    MissingExtraError,
    NoSuchEntryError,
    NotFoundError,
    RacebotError,
    SettingsError,
    SiteError,
)
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.observe import logs
from racebot.observe.installation import install_command
from racebot.settings import sources
from racebot.settings.model import Settings
from racebot.text.format import to_json
from racebot.text.safe import printable

log = logging.getLogger(__name__)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Rate the races of a racetime.gg category, and explain each change to the racers in chat.",
)
console = Console(emoji=False)
notices = Console(stderr=True, emoji=False)

Database = Annotated[
    Path | None,
    typer.Option(help="The SQLite file of the ledger. Overrides RACEBOT_DATABASE.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"racebot {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the `racebot` command. Exit with 2 for bad input and 1 for a failure that may be temporary."""
    stamina.instrumentation.set_on_retry_hooks([])
    if sys.platform == "win32":  # a pipe there has an encoding that lacks many names and arrows
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")
    try:
        app(prog_name="racebot")
    except RacebotError as error:
        for line in _lines(error):
            if logs.for_programs():
                log.critical("%s", line)  # keep the JSON log complete for programs that parse it
            else:
                tell(f"racebot: {line}", to=notices)
        wrong_setting = isinstance(error, (CredentialsError, NotFoundError))
        sys.exit(1 if isinstance(error, SiteError) and not wrong_setting else 2)
    except KeyboardInterrupt:
        sys.exit(130)


def _lines(error: RacebotError) -> tuple[str, ...]:
    if isinstance(error, SettingsError):
        return error.problems
    if isinstance(error, MissingExtraError):
        return (f"{error}: install it with: {install_command(error.extra)}",)
    return (str(error),)


def load_settings(**overrides: Any) -> Settings:
    """Load the settings and set up logging to standard error."""
    settings = sources.load(**overrides)
    logs.to_stderr(settings.log_level, settings.log_format)
    return settings


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


def tell(text: str, *, to: Console | None = None) -> None:
    """Print a line without interpreting markup, and without terminal control characters."""
    (to or console).print(printable(text), markup=False, highlight=False, soft_wrap=True)


def print_json(document: Any) -> None:
    """Print a value as JSON, with invisible characters escaped."""
    text = to_json(document, indent=2)
    seen = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write("".join(seen) + "\n")


def utc(moment: datetime | None) -> datetime | None:
    """Return a moment with UTC as its time zone, unless it has one."""
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)
