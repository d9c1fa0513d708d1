"""Fit a leaderboard's model to its races, and use the fit if it predicts clearly better."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import typer

from racebot.cli import tables
from racebot.cli.common import carry_out_jobs, confirmed, console, notices, progress_bars, tell
from racebot.errors import ModelError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.parameters import defaults
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.settings.write import write_leaderboard
from racebot.standings.follow_settings import apply_plans
from racebot.standings.proposals import Proposal, effect_of
from racebot.standings.settle import Settler
from racebot.study.cores import cores
from racebot.study.fit import ODDS_FROM, Fit, fit as fit_to
from racebot.study.history import History


def offer_fits(settings: Settings, ledger: Ledger, boards: Iterable[Leaderboard]) -> None:
    """Offer to fit each leaderboard that has enough races; without a terminal, print the command to run."""
    for board in boards:
        if ledger.ratings.count(board) < ODDS_FROM:
            continue
        if not sys.stdin.isatty():
            command = f"racebot fit {_quoted(board.name)}"
            tell(f"{board.name}: to fit the model to its races, run: {command}")
        elif typer.confirm(f"{board.name}: fit the model to its races? It takes about a minute."):
            fit_board(settings, ledger, board, yes=False)


def fit_board(settings: Settings, ledger: Ledger, board: Leaderboard, *, yes: bool) -> None:
    """Fit a leaderboard's model, and use the fit if it is better and the operator agrees, or said `--yes`."""
    settler = Settler(ledger, settings.plans())
    try:
        found = _search(settler, board)
    except ModelError as error:
        tell(f"{board.name}: {error}", to=notices)
        return
    tell(fit_in_words(board.name, found))
    if not found.kept:
        return
    usual = defaults(registry.MODELS[board.model])
    differing = {name: value for name, value in found.parameters.items() if value != usual[name]}
    proposal = Proposal(board, replace(board, parameters=dict(found.parameters)))
    tables.print_proposal(console, proposal, effect_of(settler.ledger, proposal))
    if not confirmed(settings, ledger, f"Rate {board.name} in this way?", yes=yes):
        return
    path = write_leaderboard(settings.config, board.name, board.category, board.goals, board.model, differing)
    fitted = Settler(ledger, load(database=settings.database).plans())
    apply_plans(fitted)
    carry_out_jobs(ledger)
    tell(f"{path}: parameters of {board.name} written; restart the bot if it is running")


def fit_in_words(name: str, found: Fit) -> str:
    """Describe the result of a fit in one or two sentences."""
    before, after = found.judged.start_pairs, found.judged.tuned_pairs
    if not found.kept:
        return (
            f"{name}: the parameters in use stay. A fit to these {found.races} races does not predict "
            "clearly better."
        )
    gains = []
    if after.misordered < before.misordered:
        gains.append(
            f"predicts the winner of a pair in {1 - after.misordered:.1%} of cases instead of "
            f"{1 - before.misordered:.1%}"
        )
    off_before, off_after = found.calibration
    if off_after < off_before:
        gains.append(f"gives odds that are off by {off_after:.1%} on average instead of {off_before:.1%}")
    if not gains:
        gains.append("gives odds that fit the results better")
    return (
        f"{name}: fitted to these {found.races} races, the model {', and '.join(gains)} "
        "(on races that the fit did not see)."
    )


def _search(settler: Settler, board: Leaderboard) -> Fit:
    races = (stored.result for stored in settler.ledger.races.of(board))
    history = History.of(races, TeamPolicy(board.teams))
    with progress_bars() as advance, cores():
        return fit_to(
            history,
            board.model,
            board.parameters,
            progress=lambda part, now: advance(f"{board.name}, {part}", now.generation, now.generations),
        )


def _quoted(name: str) -> str:
    return f'"{name}"' if any(not c.isalnum() for c in name) else name
