"""Command that exports the pages as files.

It imports the program only after it has started the processes that will help.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli.commands import app
from racebot.cli.options import Database, need_web
from racebot.telemetry.collector import uncollected
from racebot.web.processes import started_early


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
    with uncollected(), started_early(folder, everything=everything) as pool:
        from racebot.cli.common import console, load_settings  # noqa: PLC0415 - slow to import
        from racebot.cli.web import publication_of  # noqa: PLC0415
        from racebot.ledger.store import Ledger  # noqa: PLC0415
        from racebot.web.export import export  # noqa: PLC0415

        settings = load_settings(database=database)
        with Ledger.open_to_read(settings.database) as ledger:
            done = export(ledger, publication_of(settings), folder, everything=everything, pool=pool)
        gc.freeze()  # Python would look for cycles among all objects before it ends, for a tenth of a second.
    console.print(
        f"{folder}: {done.written} files written, {done.unchanged} unchanged, {done.removed} removed",
        markup=False,
        soft_wrap=True,
    )
