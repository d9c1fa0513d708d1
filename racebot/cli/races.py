"""Commands that rate past races, and show leaderboards, players and races."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import common, tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, Database, console, load_settings, open_ledger, print_json
from racebot.errors import PayloadError, SettingsError
from racebot.ledger.store import Ledger
from racebot.queries.export_races import counted_results, csv_text, json_text
from racebot.queries.leaderboard import leaderboard_report, listed_count, races_without_changes
from racebot.queries.player import player_report
from racebot.queries.race import race_report
from racebot.text.format import counted


@app.command()
def backfill(
    goal: Annotated[
        list[str] | None,
        typer.Option(metavar="GOAL", help="Rate this goal only. Repeat the option for several goals."),
    ] = None,
    since: Annotated[
        datetime | None, common.date_option("Rate races that ended that day (UTC) or later.")
    ] = None,
    until: Annotated[
        datetime | None, common.date_option("Rate races that ended before this day (UTC).")
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="The category's slug. Overrides RACEBOT_CATEGORY.")
    ] = None,
    database: Database = None,
) -> None:
    """Fetch the category's past races and rate them. Safe to stop, resume and repeat.

    Example: racebot backfill --goal "Map Rando S4" --since 2026-01-01
    """
    from racebot.cli.past_races import offer_fits, rate_from_site
    from racebot.standings.backfill import Selection

    settings = load_settings(database=database)
    slugs = [category] if category else settings.slugs()
    if not slugs:
        raise SettingsError("RACEBOT_CATEGORY is not set: run `racebot setup`, or pass --category")
    common.create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        rate_from_site(settings, ledger, slugs, Selection(goal or (), since, until))
        offer_fits(settings, ledger, ledger.leaderboards.all())


@app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="An archive, JSON saved from the site, or a table (.csv, .xlsx, .parquet).")
    ],
    goal: Annotated[
        str | None,
        typer.Option(
            help="The goal of an archive's races (default: the file's name). For JSON saved from the site, "
            "the one goal to import (default: all)."
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="The category's slug. Overrides RACEBOT_CATEGORY.")
    ] = None,
    columns: common.Columns = None,
    database: Database = None,
) -> None:
    """Rate the races of a file. Safe to repeat.

    Example: racebot import season-1.json --goal "Season 1"
    """
    from racebot.cli.past_races import offer_fits, rate_results

    settings = load_settings(database=database)
    if category is None and len(settings.categories) > 1:
        raise SettingsError(
            f"the settings have several categories: pass one of them with --category: "
            f"{', '.join(settings.slugs())}"
        )
    results = common.read_file(file, columns, category=category or "".join(settings.slugs()), goal=goal)
    common.create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        offer_fits(settings, ledger, rate_results(settings, ledger, results))


@app.command("export-races")
def export_races(
    name: Annotated[str, typer.Argument(help="A leaderboard's name.")],
    file: Annotated[Path, typer.Argument(help="File to write: .json in the site's format, or .csv.")],
    with_hidden: Annotated[
        bool, typer.Option("--with-hidden", help="Name hidden and forgotten players, too.")
    ] = False,
    database: Database = None,
) -> None:
    """Write all results that count on a leaderboard to a file that `import` and `evaluate` read.

    Example: racebot export-races "SGL 2026" sgl-2026.json
    """
    writers = {".json": json_text, ".csv": csv_text}
    if (write := writers.get(file.suffix.lower())) is None:
        raise SettingsError(f"{file}: name a file that ends in {' or '.join(writers)}")
    with open_ledger(database, only_reads=True) as (_, ledger):
        board = common.one_board(ledger, name)
        results = list(counted_results(ledger, board, with_hidden=with_hidden))
    try:
        file.write_text(write(results), encoding="utf-8", newline="\n")
    except OSError as error:
        raise PayloadError(f"{file}: {error.strerror}") from None
    common.tell(f"{file}: {counted(len(results), 'race')}")


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
    with open_ledger(database, only_reads=True) as (settings, ledger):
        boards = [(board, settings.listing(board)) for board in common.chosen_boards(ledger, name)]
        reports = [
            leaderboard_report(
                ledger, board, listing, provisional_races=settings.provisional_races, limit=limit
            )
            for board, listing in boards
        ]
        if as_json:
            print_json(reports)
            return
        if not reports:
            console.print(tables.NO_BOARDS)
        for (board, listing), report in zip(boards, reports, strict=True):
            unrated = sum(races_without_changes(ledger, board).values())
            tables.print_leaderboard(console, report, listed_count(ledger, board, listing), unrated)


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
    with open_ledger(database, only_reads=True) as (settings, ledger):
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
    with open_ledger(database, only_reads=True) as (_, ledger):
        report = race_report(ledger, name)
    if as_json:
        print_json(report)
    else:
        tables.print_race(console, report)
