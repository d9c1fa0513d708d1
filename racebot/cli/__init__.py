"""The command line. Commands are thin wrappers around the other packages.

Invariant: an expected error prints a line for each problem and sets the exit code.
"""

import errno
import gc
import io
import os
import sys

import typer

from racebot import errors
from racebot.cli.commands import app
from racebot.text.safe import printable

MAY_PASS = 75  # exit code of a failure that may be temporary: EX_TEMPFAIL of sysexits.h


def main() -> None:
    """Run the `racebot` command.

    Exit with 2 if a person must change something, and with `MAY_PASS` for a failure that may be temporary.
    """
    # numpy reads this when a command loads it. The arrays of a race are too small to gain from threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(10_000)  # ledgers, files and pages are many objects without cycles
    if sys.platform == "win32":  # a pipe there has an encoding that lacks many names and arrows
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")
    try:
        app(prog_name="racebot")
    except errors.RacebotError as error:
        for line in error.problems:
            typer.echo(printable(f"racebot: {line}"), err=True)
        must_change = isinstance(error, (errors.CredentialsError, errors.NotFoundError))
        may_pass = isinstance(error, (errors.SiteError, errors.LedgerUnavailable)) and not must_change
        sys.exit(MAY_PASS if may_pass else 2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("racebot"):
            raise
        # Usually the code was updated without its packages.
        hint = errors.install_hint("web")
        typer.echo(f"racebot: the package {error.name} is missing: {hint}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"racebot: {error.filename or 'the output'}: {error.strerror}: free space there", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the rest at its end
        sys.exit(MAY_PASS)
    except KeyboardInterrupt:
        sys.exit(130)
