"""Commands that serve and export the pages."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from racebot.cli.commands import app
from racebot.cli.common import (
    Database,
    cannot_listen,
    console,
    load_settings,
    need_web,
    notices,
    planned_boards,
    tell,
)
from racebot.errors import RacebotError
from racebot.ledger.pictures import folder_beside
from racebot.ledger.store import Ledger
from racebot.queries.standings import listing_of
from racebot.settings.model import Settings
from racebot.text.format import counted

if TYPE_CHECKING:
    from racebot.web.site.ledger_view import Publication


DEMO_CATEGORY = "sandbox"
"""The category of a demo's races."""


@app.command()
def web(
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 means all addresses.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8080,
    database: Database = None,
) -> None:
    """Serve leaderboards, players and races as pages and JSON. The bot may run at the same time.

    Example: racebot web --port 8080
    """
    need_web()
    from racebot.web.http import server

    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        publication = publication_of(settings, ledger)
    try:
        server.serve(settings.database, publication, host, port, lambda address: tell(f"pages: {address}"))
    except OSError as error:
        raise cannot_listen(port, error) from None


@app.command("export-site")
def export_site(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; created if it does not exist.")],
    database: Database = None,
) -> None:
    """Export the pages as files for a static host. Later runs render only what changed.

    Example: racebot export-site public
    """
    need_web()
    from racebot.web.export import export

    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        done = export(ledger, publication_of(settings, ledger), folder)
    console.print(
        f"{folder}: {done.written} files written, {done.unchanged} unchanged, {done.removed} removed",
        markup=False,
        soft_wrap=True,
    )
    for each in done.failed[1:]:
        tell(f"racebot: {each}", to=notices)
    if done.failed:
        count = counted(len(done.failed), "part")
        raise RacebotError(f"{count} of the site could not be made: {done.failed[0]}")


def publication_of(settings: Settings, ledger: Ledger) -> Publication:
    """Return what the pages show, as the settings say. A demo's rooms and players are on no site."""
    from racebot.web.site.ledger_view import Publication, theme_beside

    is_default = settings.site == type(settings).model_fields["site"].default
    of_demo = is_default and any(each.category == DEMO_CATEGORY for each in ledger.leaderboards.all())
    return Publication(
        listing=partial(listing_of, settings),
        provisional_races=settings.provisional_races,
        site="" if of_demo else settings.site,
        url=settings.pages_url or "",
        export_cards=settings.pages_cards,
        title=settings.pages_title,
        footer=settings.pages_footer,
        theme=theme_beside(settings.database),
        pictures=folder_beside(settings.database),
        command_prefix=settings.command_prefix if settings.commands else None,
        planned=planned_boards(settings),
    )
