"""Command that serves the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from racebot.cli.commands import app
from racebot.cli.common import cannot_listen, load_settings, tell
from racebot.cli.options import Database, need_web
from racebot.ledger.pictures import folder_beside
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings

if TYPE_CHECKING:
    from racebot.web.site.ledger_view import Publication


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
    from racebot.web.http import server  # noqa: PLC0415 - an extra of the package

    settings = load_settings(database=database)
    Ledger.open_to_read(settings.database).close()
    try:
        server.serve(
            settings.database,
            publication_of(settings),
            host,
            port,
            lambda address: tell(f"pages: {address}"),
        )
    except OSError as error:
        raise cannot_listen(port, error) from None


def publication_of(settings: Settings) -> Publication:
    from racebot.web.site.ledger_view import (  # noqa: PLC0415 - an extra of the package
        Look,
        Publication,
        theme_beside,
    )

    return Publication(
        listing=settings.listing,
        provisional_races=settings.provisional_races,
        site=settings.site,
        url=settings.pages_url or "",
        embed_on=settings.embed_on,
        export_cards=settings.pages_cards,
        look=Look(settings.pages_title, settings.pages_footer, theme_beside(settings.database)),
        pictures=folder_beside(settings.database),
        commands=settings.named_commands() if settings.commands else None,
    )
