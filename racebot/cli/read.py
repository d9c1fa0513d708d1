"""Commands that show leaderboards, players and races."""

from __future__ import annotations

from typing import Annotated

import typer

from racebot.cli import tables
from racebot.cli.commands import app
from racebot.cli.common import (
    AsJson,
    chosen_boards,
    console,
    open_ledger,
    print_json,
)
from racebot.cli.options import Database
from racebot.queries.leaderboard import leaderboard_report, listed_count
from racebot.queries.player import player_report
from racebot.queries.race import race_report


@app.command("leaderboard")
def show_leaderboards(
    name: Annotated[str | None, typer.Argument(help="A leaderboard's name. Default: all.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of players to show.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboards.

    Example: racebot leaderboard "Map Rando S4" --limit 20
    """
    with open_ledger(database) as (settings, ledger):
        boards = [(board, settings.listing(board)) for board in chosen_boards(ledger, name)]
        reports = [
            leaderboard_report(
                ledger, board, listing, provisional_races=settings.provisional_races, limit=limit
            )
            for board, listing in boards
        ]
        listed = [listed_count(ledger, board, listing) for board, listing in boards]
    if as_json:
        print_json(reports)
        return
    if not reports:
        console.print(tables.NO_BOARDS)
    for report, count in zip(reports, listed, strict=True):
        tables.print_leaderboard(console, report, count)


@app.command("player")
def show_player(
    name: Annotated[str, typer.Argument(help="A player's name, in any case, or id.")],
    limit: Annotated[int, typer.Option(min=1, help="Number of races to show.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a player's standing and last races.

    Example: racebot player Alice
    """
    with open_ledger(database) as (settings, ledger):
        report = player_report(
            ledger, name, settings.listing, provisional_races=settings.provisional_races, limit=limit
        )
    if as_json:
        print_json(report)
    else:
        tables.print_player(console, report)


@app.command("race")
def show_race(
    name: Annotated[
        str, typer.Argument(help="A race's name, as in its address; the category may be left out.")
    ],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show how a race changed each rating, and why.

    Example: racebot race smr/curious-midfast-0534
    """
    with open_ledger(database) as (_, ledger):
        report = race_report(ledger, name)
    if as_json:
        print_json(report)
    else:
        tables.print_race(console, report)
