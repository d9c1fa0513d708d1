"""Command that exports the pages as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from racebot.cli.commands import app
from racebot.cli.common import console, load_settings
from racebot.cli.options import Database, need_web
from racebot.cli.web import publication_of
from racebot.ledger.store import Ledger


@app.command("export-site")
def export_site(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; created if it does not exist.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Render every page again, not only those whose data changed.")
    ] = False,
    database: Database = None,
) -> None:
    """Export the pages as files for a static host. Later runs render only what changed.

    Example: racebot export-site public
    """
    need_web()
    from racebot.web.export import export  # noqa: PLC0415 - an extra of the package

    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        done = export(ledger, publication_of(settings), folder, everything=everything)
    console.print(
        f"{folder}: {done.written} files written, {done.unchanged} unchanged, {done.removed} removed",
        markup=False,
        soft_wrap=True,
    )
