"""Commands that verify, rebuild, back up and improve the database."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import common
from racebot.cli.commands import app
from racebot.cli.common import Cluster, Database, Yes, console, notices, open_ledger, tell
from racebot.cli.tables import NO_BOARDS
from racebot.ledger.rows import RESTORE
from racebot.queries.leaderboard import board_totals
from racebot.queries.standings import Listing
from racebot.standings import verify as verification
from racebot.standings.carry_over import sources_first
from racebot.standings.counting import rating_rules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import Settler
from racebot.standings.verify import Problem
from racebot.text.format import counted

BoardName = Annotated[str | None, typer.Argument(help="One leaderboard. Default: all.")]


@app.command()
def verify(database: Database = None) -> None:
    """Check the database file, and compare the stored ratings bit for bit with a replay.

    Example: racebot verify
    """
    with open_ledger(database) as (_, ledger):
        problems = [Problem(text, RESTORE) for text in ledger.check()]
        for board in ledger.leaderboards.all():
            totals = board_totals(ledger, board, Listing())
            with common.progress_bars(transient=True) as advance:
                found = verification.verify(ledger, board, partial(advance, board.name, total=totals.races))
            problems += [replace(problem, text=f"{board.name}: {problem}") for problem in found]
            tell(f"{board.name}: {counted(totals.races, 'race')}, {counted(totals.listed, 'player')}")
    for problem in problems[:20]:
        tell(str(problem), to=notices)
    damage = [problem for problem in problems if problem.remedy is not None]
    if damage:
        remedies = ", then ".join(dict.fromkeys(str(problem.remedy) for problem in damage))
        notices.print(f"{counted(len(damage), 'problem')}: {remedies}")
        raise typer.Exit(1)
    console.print("everything agrees")


@app.command()
def rebuild(
    name: BoardName = None,
    database: Database = None,
    for_worker: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Rate the stored results again, with the current model and settings.

    Example: racebot rebuild
    """
    with open_ledger(database) as (settings, ledger):
        if for_worker:  # the bot has stored what to do
            _end_with_worker()
            common.carry_out_rebuilds(ledger)
            return
        settler = Settler(ledger, rating_rules(settings))
        apply_settings(settler, ())
        boards = sources_first(common.chosen_boards(ledger.leaderboards.all(), name))
        if not boards:
            console.print(NO_BOARDS)
        for board in boards:
            settler.rebuild(board)
        common.carry_out_rebuilds(ledger)
        for board in boards:
            races = ledger.ratings.count(board)
            tell(f"{board.name}: {counted(races, 'race')} rated again")


def _end_with_worker() -> None:
    """End this process when the bot that started it ends, however it ends: that closes the pipe to it."""

    def wait() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock Python needs at its own end
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@app.command("backup")
def make_backup(
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The folder for the copy. Default: backups/ beside the database."
        ),
    ] = None,
    database: Database = None,
) -> None:
    """Copy the database. Safe while the bot runs.

    Example: racebot backup
    """
    with open_ledger(database) as (settings, ledger):
        tell(str(common.back_up(settings, ledger, folder)))


@app.command()
def improve(
    name: BoardName = None,
    yes: Yes = False,
    for_worker: Annotated[bool, typer.Option(hidden=True)] = False,
    cluster: Cluster = None,
    database: Database = None,
) -> None:
    """Find better parameters for a leaderboard, and use them after a preview, a confirmation and a backup.

    It fits the model to the leaderboard's own races, which takes about a minute, and offers the fit, to be
    kept in racebot.toml, if it predicts clearly better. The stored races are then rated again, so everybody's
    points change. Until you agree, nothing does.

    Example: racebot improve "Map Rando S4"
    """
    from racebot.cli.past_races import fit_old_odds, offer_fit

    with open_ledger(database, cluster=cluster) as (settings, ledger):
        if for_worker:  # only what moves no rating
            _end_with_worker()
            fit_old_odds(Settler(ledger, rating_rules(settings)))
            return
        boards = common.chosen_boards(ledger.leaderboards.all(), name)
        if not boards:
            console.print(NO_BOARDS)
        for board in boards:
            offer_fit(settings, ledger, board, yes=yes)
