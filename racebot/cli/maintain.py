"""Commands that verify, rebuild and back up the database."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from racebot.bot.heartbeat import utc_now
from racebot.cli.commands import app
from racebot.cli.common import (
    chosen_boards,
    console,
    notices,
    open_ledger,
    tell,
)
from racebot.cli.options import Database
from racebot.cli.progress import progress_bars
from racebot.cli.tables import NO_BOARDS
from racebot.ledger import backup
from racebot.ledger.rows import RESTORE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import listed_count
from racebot.queries.listing import Listing
from racebot.standings import verify as verification
from racebot.standings.carry_over import sources_first
from racebot.standings.follow_settings import apply_checked_plans
from racebot.standings.prepare import Preparer
from racebot.standings.settle import Settler
from racebot.standings.verify import Problem
from racebot.text.format import counted


@app.command()
def verify(database: Database = None) -> None:
    """Check the database file, and compare the stored ratings bit for bit with a replay.

    Example: racebot verify
    """
    problems: list[Problem] = []
    with open_ledger(database) as (_, ledger), ThreadPoolExecutor(max_workers=1) as thread:
        # SQLite reads the whole file, so it does that while other processes replay the races.
        check = thread.submit(ledger.check)
        for board in ledger.leaderboards():
            with _progress(ledger, board) as advance:
                found = verification.verify(ledger, board, advance)
            problems += [replace(problem, text=f"{board.name}: {problem}") for problem in found]
            players = listed_count(ledger, board, Listing())
            tell(f"{board.name}: {counted(ledger.rated_count(board), 'race')}, {counted(players, 'player')}")
        problems = [Problem(text, RESTORE) for text in check.result()] + problems
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
    name: Annotated[str | None, typer.Argument(help="One leaderboard. Default: all.")] = None,
    database: Database = None,
) -> None:
    """Rate the stored results again, with the current model and settings.

    Example: racebot rebuild
    """
    with open_ledger(database) as (settings, ledger):
        settler = Settler(ledger, settings.plans())
        settler.run_prepared(partial(apply_checked_plans, settler))
        boards = chosen_boards(ledger, name)
        if not boards:
            console.print(NO_BOARDS)
        for board in sources_first(boards):
            with _progress(ledger, board) as advance:
                races = settler.run_prepared(
                    partial(settler.rebuild, board, advance), Preparer(ledger.path, progress=advance)
                )
            tell(f"{board.name}: {counted(races, 'race')} rated again")


@app.command("backup")
def back_up(
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder for the copy. Default: backups/ beside the database.",
            show_default=False,
        ),
    ] = None,
    database: Database = None,
) -> None:
    """Copy the database. Safe while the bot runs.

    Example: racebot backup
    """
    with open_ledger(database) as (settings, ledger):
        where = folder or backup.folder_of(settings.database)
        made = backup.back_up(ledger, where, keep=max(settings.backups, 1), now=utc_now())
    tell(str(made))


@contextmanager
def _progress(ledger: Ledger, board: Leaderboard) -> Generator[Callable[[int], None]]:
    """Show a progress bar for a leaderboard's races, and yield a function that takes the number done."""
    total = ledger.rated_count(board)
    with progress_bars(transient=True) as advance:
        advance(board.name, 0, total)
        yield lambda done: advance(board.name, done, total)
