"""The command line. Commands are thin wrappers, and expected errors print a single line."""

import os

# numpy reads this on import. The arrays of a race are too small to gain from threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from racebot.cli import operate, orders, read, refit, sandbox, study, tune, web
from racebot.cli.common import app, main

__all__ = ["app", "main", "operate", "orders", "read", "refit", "sandbox", "study", "tune", "web"]
