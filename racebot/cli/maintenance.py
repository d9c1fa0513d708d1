"""Commands that verify, rebuild, back up and improve the database."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from racebot.cli import common, tables
from racebot.cli.commands import loaded
from racebot.cli.common import Cluster, Database, Yes, console, notices, open_ledger, tell
from racebot.cli.tables import NO_BOARDS
from racebot.errors import ModelError, RacebotError
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import RESTORE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import board_totals
from racebot.queries.standings import Listing
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.settings.write import write_leaderboard
from racebot.standings import verify as verification
from racebot.standings.counting import MOVE_NO_RATING, rating_rules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.rebuild import sources_first
from racebot.standings.settle import Settler
from racebot.standings.verify import Problem
from racebot.text.format import counted

if TYPE_CHECKING:
    from racebot.study.fit import Fit

BoardName = Annotated[str | None, typer.Argument(help="One leaderboard. Default: all.")]


@loaded.command()
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
            problems += [replace(problem, text=f"{board.name}: {problem.text}") for problem in found]
            tell(f"{board.name}: {counted(totals.races, 'race')}, {counted(totals.listed, 'player')}")
    for problem in problems[:20]:
        tell(problem.text, to=notices)
    damage = [problem for problem in problems if problem.remedy is not None]
    if damage:
        remedies = ", then ".join(dict.fromkeys(str(problem.remedy) for problem in damage))
        notices.print(f"{counted(len(damage), 'problem')}: {remedies}")
        raise typer.Exit(1)
    console.print("everything agrees")


@loaded.command()
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
            tell(f"{board.name}: {counted(ledger.ratings.counting(board), 'race')} rated again")


def _end_with_worker() -> None:
    """End this process when the bot that started it ends, however it ends: that closes the pipe to it."""

    def wait() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock Python needs at its own end
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@loaded.command("backup")
def make_backup(
    folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to copy it. Default: backups/ beside the database."),
    ] = None,
    database: Database = None,
) -> None:
    """Copy the database. Safe while the bot runs.

    Example: racebot backup
    """
    with open_ledger(database) as (settings, ledger):
        tell(str(common.back_up(settings, ledger, folder)))


@loaded.command()
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


def fit_old_odds(settler: Settler) -> None:
    """Fit the odds of each leaderboard that has many more races than at its last fit, and say so."""
    from racebot.standings.improve import with_fitted_odds

    done, errors = [], []
    for board in settler.ledger.leaderboards.with_old_odds():
        try:
            fitted = with_fitted_odds(settler, board, utc_now())
            done.append(f"{board.name} ({counted(fitted.odds_races, 'race')})")
        except RacebotError as error:  # the other leaderboards' odds are fitted all the same
            errors.append(f"{board.name}: {error}")
    if errors:
        raise RacebotError("; ".join(errors))
    tell(", ".join(done))


def offer_fit(settings: Settings, ledger: Ledger, board: Leaderboard, *, yes: bool) -> None:
    """Fit a leaderboard's model, and use the fit if it is better and the operator agrees, or said `--yes`."""
    from racebot.standings.improve import effect_of, rated_history
    from racebot.study.cores import cores
    from racebot.study.fit import fit

    board = common.tell_fitted_odds(Settler(ledger, rating_rules(settings)), board)
    try:
        with common.progress_bars() as advance, cores(settings.cluster):
            progress = partial(advance, f"{board.name}, fits")
            found = fit(rated_history(ledger, board), board.model, board.parameters, progress=progress)
    except ModelError as error:
        tell(f"{board.name}: {error}", to=notices)
        return
    tell(f"{board.name}: {fit_in_words(found, board.model)}")
    if not found.kept:
        return
    new = replace(board, model=found.model, parameters=dict(found.parameters))
    tables.print_proposal(console, board, new, effect_of(ledger, new))
    races = counted(ledger.ratings.counting(board), "stored race")
    tell(
        f"This rates {races} of {board.name} again: everybody's points, and what each past race changed, "
        "become those of the new parameters. A backup comes first."
    )
    if not common.confirmed(settings, ledger, f"Rate {board.name} in this way?", yes=yes):
        return
    # Those at their defaults, too: the leaderboard may have begun with others, and would keep them.
    moving = {name: value for name, value in found.parameters.items() if name not in MOVE_NO_RATING}
    toml = settings.config
    write_leaderboard(toml, board.name, board.category, board.goals, found.model, moving)
    settler = Settler(ledger, rating_rules(load(database=settings.database)))
    apply_settings(settler)
    common.carry_out_rebuilds(ledger)
    common.tell_fitted_odds(settler, settler.current(board))
    tell(f"{board.name}: rated again; {toml} has its parameters. Restart the bot if it is running.")


def fit_in_words(found: Fit, model: str) -> str:
    """Describe the result of a fit in a few sentences, given the model in use."""
    if not found.kept:
        return f"the ratings stay. A fit to these {found.races} races does not predict clearly better."
    before, after = found.judged.start_misordered, found.judged.tuned_misordered
    pairs = f"predicts the winner of a pair in {1 - after:.1%} of cases instead of {1 - before:.1%}"
    better = pairs if after < before else "gives odds that fit the results better"
    name = "the model" if found.model == model else f"the model {found.model}"
    text = f"fitted to these {found.races} races, {name} {better} (on races that the fit did not see)."
    if found.model != model:
        text += " Its points also depend on the days between a player's races, which nobody sees in a result."
    return text
