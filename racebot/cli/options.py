"""An option and a check that commands share, in a module that imports little."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from racebot.errors import SettingsError
from racebot.web import missing

Database = Annotated[
    Path | None,
    typer.Option(help="The SQLite file of the ledger. Overrides RACEBOT_DATABASE.", show_default=False),
]


def need_web() -> None:
    """Check that the extra `web` is installed.

    Raises:
        SettingsError: it is not; says how to install it.
    """
    problem = missing()
    if problem is not None:
        raise SettingsError(problem)
