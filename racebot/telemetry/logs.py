"""Log formats: plain lines or JSON, each with the race it is about."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from racebot.text.safe import printable

_JSON = JsonFormatter(
    ["asctime", "levelname", "name", "message", "category", "race", "room"],
    rename_fields={"asctime": "time", "levelname": "level", "name": "logger", "exc_info": "error"},
    datefmt="%Y-%m-%dT%H:%M:%S%z",
)
_race: ContextVar[str | None] = ContextVar("race", default=None)


@contextmanager
def about(race: str) -> Generator[None]:
    """Attach a race, `category/slug`, to everything logged inside the block."""
    token = _race.set(race)
    try:
        yield
    finally:
        _race.reset(token)


def to_stderr(level: str, form: str = "text") -> None:
    """Send all logging to standard error, as `text` or as `json` with one object per line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_note_race)
    handler.setFormatter(_JSON if form == "json" else _Text("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # At debug level they log every header, including the token.
    for chatty in ("httpx", "httpcore", "websockets"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def for_programs() -> bool:
    """Return whether log lines are JSON objects."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


class _Text(logging.Formatter):
    """One line per record, with tracebacks below; control characters from the site are removed."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        race = getattr(record, "race", None)
        message = printable(record.message)
        record.message = message if race is None or race in message else f"{race}: {message}"
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(map(printable, super().formatException(ei).splitlines()))


def _note_race(record: logging.LogRecord) -> bool:
    """Add the race, its category and its room to a record; they are None outside a race."""
    record.race = race = _race.get()
    record.category, _, record.room = race.partition("/") if race else (None, None, None)
    return True
