"""Commands that read the ledger: leaderboards, players, races."""

from __future__ import annotations

from typing import Annotated

import typer

from racebot.cli import tables
from racebot.cli.common import (
    AsJson,
    Database,
    app,
    chosen_boards,
    console,
    load_settings,
    print_json,
)
from racebot.ledger.store import Ledger
from racebot.standings import queries


@app.command()
def leaderboard(
    name: Annotated[str | None, typer.Argument(help="One leaderboard; all of them if left out.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many players to show.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboards.

    Example: racebot leaderboard "Map Rando S4" --limit 20
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        boards = [(board, settings.listing(board)) for board in chosen_boards(ledger, name)]
        found = [queries.leaderboard(ledger, board, listing, limit=limit) for board, listing in boards]
        listed = [queries.listed_count(ledger, board, listing) for board, listing in boards]
    if as_json:
        print_json(found)
        return
    for report, count in zip(found, listed, strict=True):
        tables.leaderboard(console, report, count)


@app.command()
def player(
    name: Annotated[str, typer.Argument(help="A player's name, in any case, or id.")],
    limit: Annotated[int, typer.Option(min=1, help="How many races to show.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a player's standing and last races.

    Example: racebot player Alice
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        listings = {board.key: settings.listing(board) for board in ledger.leaderboards()}
        report = queries.player(ledger, name, listings, limit)
    if as_json:
        print_json(report)
    else:
        tables.player(console, report)


@app.command()
def race(
    name: Annotated[str, typer.Argument(help="A race's name, with or without its category.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show what a race did to each rating, and why.

    Example: racebot race smr/curious-midfast-0534
    """
    settings = load_settings(database=database)
    with Ledger.open(settings.database, create=False) as ledger:
        report = queries.race(ledger, name)
    if as_json:
        print_json(report)
    else:
        tables.race(console, report)
