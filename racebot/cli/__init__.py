"""The command line. Commands are thin; an error that racebot raises on purpose becomes one line."""

from racebot.cli import operate, read, sandbox, study
from racebot.cli.common import app, main

__all__ = ["app", "main", "operate", "read", "sandbox", "study"]
