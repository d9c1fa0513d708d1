"""The command line. Commands are thin; an error that racebot raises on purpose becomes one line."""

import os

# Read when numpy is first imported. The arrays of a race are small: threads cost more than they give.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from racebot.cli import operate, orders, read, refit, sandbox, study, tune, web
from racebot.cli.common import app, main

__all__ = ["app", "main", "operate", "orders", "read", "refit", "sandbox", "study", "tune", "web"]
